//! The worker as seen from the page: starting it, sending to it, and ending it when it does not stop.

use std::cell::RefCell;
use std::time::Duration;

use drope_protocol::{BUILD, BackendChoice, Request};
use leptos::prelude::*;
use wasm_bindgen::prelude::Closure;
use wasm_bindgen::{JsCast, JsValue};
use web_sys::{ErrorEvent, MessageEvent, Worker};

use super::replies::{fail, take};
use super::state::{Engine, State};

/// How long a worker may take to stop a run. Then it hangs in a computation and is started anew.
const GRACE: Duration = Duration::from_secs(2);

/// The running worker and what was sent to it.
#[derive(Default)]
struct Link {
    worker: Option<Worker>,
    /// The last request that began a run.
    last: Option<Request>,
    /// The run whose end the worker has not confirmed since Stop.
    stopping: Option<u32>,
}

thread_local! {
    static LINK: RefCell<Link> = RefCell::default();
}

/// Starts the worker and lets it choose a backend.
pub fn connect(state: State) {
    state.engine.set(Engine::Loading);
    match spawn(state) {
        Ok(worker) => {
            LINK.with_borrow_mut(|link| link.worker = Some(worker));
            let base = document().base_uri().ok().flatten().unwrap_or_default();
            post(&Request::Start { backend: state.backend_choice.get_untracked(), base });
        }
        Err(_) => {
            state.engine.set(Engine::Stopped);
            state.running.set(None);
            state.error.set(Some("This browser starts no web workers, in which the models run; try another.".into()));
        }
    }
}

/// Sends a request that begins a run.
pub fn send(request: Request) {
    post(&request);
    LINK.with_borrow_mut(|link| link.last = Some(request));
}

/// Asks the worker to stop a run, and replaces the worker if it has not confirmed that after [`GRACE`].
pub fn stop(state: State, run: u32) {
    post(&Request::Stop);
    LINK.with_borrow_mut(|link| link.stopping = Some(run));
    set_timeout(
        move || {
            if LINK.with_borrow(|link| link.stopping) == Some(run) {
                restart(state);
            }
        },
        GRACE,
    );
}

/// Takes in that a run has ended.
pub fn confirm_end(run: u32) {
    LINK.with_borrow_mut(|link| link.stopping = link.stopping.filter(|&stopping| stopping != run));
}

/// Ends the worker; nothing that it sent arrives any more.
fn terminate() {
    LINK.with_borrow_mut(|link| {
        link.stopping = None;
        if let Some(worker) = link.worker.take() {
            worker.set_onmessage(None);
            worker.set_onerror(None);
            worker.terminate();
        }
    });
}

/// Replaces a worker that does not stop. What was asked since then is asked again.
fn restart(state: State) {
    let on_the_cpu = match state.engine.get_untracked() {
        // A program that is still on its way does not hang; it will find that the run was stopped.
        Engine::Loading | Engine::Stopped => return,
        Engine::Chosen { backend, .. } if backend == "CPU" => "",
        Engine::Choosing | Engine::Chosen { .. } => ", on the CPU",
    };
    terminate();
    if !on_the_cpu.is_empty() {
        state.backend_choice.set(BackendChoice::Cpu);
    }
    state.loading.set(None);
    let grace = GRACE.as_secs();
    state.error.set(Some(format!("The worker did not stop within {grace} seconds and was started anew{on_the_cpu}.")));
    connect(state);
    let current = state.running.get_untracked().map(|_| state.run.get_untracked());
    let last = LINK.with_borrow(|link| link.last.clone());
    if let Some(request) = last.filter(|request| current.is_some() && request.run() == current) {
        post(&request);
    }
}

fn post(request: &Request) {
    let Ok(text) = serde_json::to_string(request) else { return };
    LINK.with_borrow(|link| {
        if let Some(worker) = &link.worker {
            // Fails only for values that cannot be copied, which text can.
            let _ = worker.post_message(&text.into());
        }
    });
}

fn spawn(state: State) -> Result<Worker, JsValue> {
    let worker = Worker::new(&script_address()?)?;
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
        terminate();
        state.backend_choice.set(BackendChoice::Cpu);
        state.engine.set(Engine::Stopped);
        fail(state, format!("The worker stopped ({}). Press Run to start it anew, on the CPU.", event.message()));
    });
    worker.set_onerror(Some(on_error.as_ref().unchecked_ref()));
    on_error.forget();
    Ok(worker)
}

/// Address of the worker's own script. It is made here, since the files that it loads need the build's name against stale
/// caches.
fn script_address() -> Result<String, JsValue> {
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
    let options = web_sys::BlobPropertyBag::new();
    options.set_type("text/javascript");
    let parts = js_sys::Array::of1(&script.into());
    web_sys::Url::create_object_url_with_blob(&web_sys::Blob::new_with_str_sequence_and_options(&parts, &options)?)
}
