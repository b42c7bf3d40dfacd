//! The worker as seen from the page.

use leptos::prelude::*;
use wasm_bindgen::JsCast;
use wasm_bindgen::prelude::Closure;
use web_sys::{ErrorEvent, MessageEvent, Worker};

use super::state::{Answer, Asked, CellKey, Done, Engine, Live, Loading, Look, Running, State};
use crate::BUILD;
use crate::protocol::{BackendChoice, Comparison, MethodName, Question, Reply, Request};

thread_local! {
    static WORKER: std::cell::RefCell<Option<Worker>> = const { std::cell::RefCell::new(None) };
}

/// Trials of a cell that is run in the tab.
pub const TRIALS: usize = 50;

/// Starts the worker and lets it choose a backend.
pub fn connect(state: State) {
    state.engine.set(Engine::Loading);
    match spawn(state) {
        Ok(worker) => {
            WORKER.replace(Some(worker));
            let base = document().base_uri().ok().flatten().unwrap_or_default();
            send(&Request::Start { backend: state.backend_choice.get_untracked(), base });
        }
        Err(_) => {
            state.error.set(Some("This browser starts no web workers, in which the models run; try another.".into()));
        }
    }
}

fn spawn(state: State) -> Result<Worker, wasm_bindgen::JsValue> {
    // The worker's own script is made here, since its parts need the build's name against stale caches.
    let base = document().base_uri()?.unwrap_or_default();
    let at = |file: &str| web_sys::Url::new_with_base(&format!("{file}?v={BUILD}"), &base).map(|url| url.href());
    // Messages that arrive before the wasm does wait; a failure to load it must reach `onerror`, which rejections do not.
    let script = format!(
        "const held = [], hold = (event) => held.push(event.data);\
         self.addEventListener('message', hold);\
         importScripts('{}');\
         wasm_bindgen({{ module_or_path: '{}' }}).then(() => {{\
           self.removeEventListener('message', hold);\
           held.forEach((data) => self.onmessage({{ data }}));\
         }}).catch((error) => setTimeout(() => {{ throw error; }}));",
        at("worker.js")?,
        at("worker_bg.wasm")?
    );
    let parts = js_sys::Array::of1(&script.into());
    let options = web_sys::BlobPropertyBag::new();
    options.set_type("text/javascript");
    let blob = web_sys::Blob::new_with_str_sequence_and_options(&parts, &options)?;
    let worker = Worker::new(&web_sys::Url::create_object_url_with_blob(&blob)?)?;
    let on_message = Closure::<dyn Fn(MessageEvent)>::new(move |event: MessageEvent| {
        let reply = event.data().as_string().and_then(|text| serde_json::from_str(&text).ok());
        if let Some(reply) = reply {
            take(state, reply);
        }
    });
    worker.set_onmessage(Some(on_message.as_ref().unchecked_ref()));
    on_message.forget();
    let on_error = Closure::<dyn Fn(ErrorEvent)>::new(move |event: ErrorEvent| {
        // What is left of it answers nothing more; the next run starts another.
        if let Some(worker) = WORKER.take() {
            worker.terminate();
        }
        state.backend_choice.set(BackendChoice::Cpu);
        state.engine.set(Engine::Stopped);
        fail(state, format!("The worker stopped ({}). Press Run to start it anew, on the CPU.", event.message()));
    });
    worker.set_onerror(Some(on_error.as_ref().unchecked_ref()));
    on_error.forget();
    Ok(worker)
}

fn send(request: &Request) {
    let Ok(text) = serde_json::to_string(request) else { return };
    WORKER.with_borrow(|worker| {
        if let Some(worker) = worker {
            // Fails only for values that cannot be copied, which text can.
            let _ = worker.post_message(&text.into());
        }
    });
}

/// Asks both methods.
pub fn ask(state: State) {
    let run = begin(state, Running::Answer);
    // On a phone they lie below the form.
    if let Ok(Some(answers)) = document().query_selector(".answers") {
        let options = web_sys::ScrollIntoViewOptions::new();
        options.set_block(web_sys::ScrollLogicalPosition::Nearest);
        answers.scroll_into_view_with_scroll_into_view_options(&options);
    }
    state.asked.set(None);
    for answer in state.answers {
        answer.set(Answer::default());
    }
    send(&Request::Answer(comparison(state, run)));
}

/// Looks at the heads of both models.
pub fn look(state: State) {
    let run = begin(state, Running::Look);
    for column in 0..2 {
        state.looks[column].set(None);
        state.answers[column].update(|answer| answer.read = 0);
    }
    send(&Request::Look(comparison(state, run)));
}

fn comparison(state: State, run: u32) -> Comparison {
    Comparison {
        run,
        question: state.question(),
        depth: f64::from(state.depth.get_untracked()) / 100.0,
        methods: state.methods.map(|method| MethodName(method.get_untracked())),
    }
}

/// Measures a cell of the grid.
pub fn measure(state: State, cell: CellKey) {
    let run = begin(state, Running::Cell(cell));
    state.live.update(|live| {
        live.insert(cell, Live::default());
    });
    let question = Question {
        task: cell.task,
        values: cell.values,
        extension: cell.extension,
        seed: state.seed.get_untracked() << 20,
    };
    send(&Request::Measure { run, question, method: MethodName(cell.method), trials: TRIALS });
}

/// Stops what runs; its late messages are ignored.
pub fn stop(state: State) {
    state.run.update(|run| *run += 1);
    state.running.set(None);
    state.loading.set(None);
    send(&Request::Stop);
}

fn begin(state: State, what: Running) -> u32 {
    state.run.update(|run| *run += 1);
    state.running.set(Some(what));
    state.error.set(None);
    if state.engine.get_untracked() == Engine::Stopped {
        connect(state);
    }
    state.run.get_untracked()
}

fn fail(state: State, message: String) {
    state.error.set(Some(message));
    state.running.set(None);
    state.loading.set(None);
}

/// Takes in a message of the worker.
fn take(state: State, reply: Reply) {
    let is_current = |run| run == state.run.get_untracked();
    match reply {
        Reply::Awake => state.engine.set(Engine::Choosing),
        Reply::Ready { backend, note } => {
            state.loading.set(None);
            state.engine.set(Engine::Chosen { backend, note });
        }
        Reply::Loading { model, received, total } => {
            let is_done = total > 0.0 && received >= total;
            state.loading.set((!is_done).then_some(Loading { model, received, total }));
        }
        Reply::Asked { run, haystack, question, references, ordered, tokens, context } if is_current(run) => {
            state.loading.set(None);
            let asked = Some(Asked { haystack, question, references, ordered, tokens, context });
            // What was seen with another question does not stay beside this one.
            if state.asked.get_untracked() != asked {
                for column in 0..2 {
                    state.answers[column].set(Answer::default());
                    state.looks[column].set(None);
                }
                state.asked.set(asked);
            }
        }
        Reply::Read { run, column, tokens } if is_current(run) => {
            state.loading.set(None);
            state.answers[column].update(|answer| answer.read = tokens);
        }
        Reply::Text { run, column, text } if is_current(run) => {
            state.answers[column].update(|answer| answer.text = text);
        }
        Reply::Answered { run, column, exact, prefill, decode } if is_current(run) => {
            state.answers[column].update(|answer| answer.done = Some(Done { exact, prefill, decode }));
        }
        Reply::Looked { run, column, method, extension, heads } if is_current(run) => {
            state.looks[column].set(Some(Look { method: method.0, extension, heads }));
        }
        Reply::Trial { run, correct, done } if is_current(run) => {
            state.loading.set(None);
            if let Some(Running::Cell(cell)) = state.running.get_untracked() {
                state.live.update(|live| {
                    live.insert(cell, Live { correct, done });
                });
            }
        }
        Reply::Finished { run } if is_current(run) => {
            state.running.set(None);
            state.loading.set(None);
        }
        Reply::Failed { run, message } if run.is_none_or(is_current) => fail(state, message),
        // Of a run that was stopped.
        _ => {}
    }
}
