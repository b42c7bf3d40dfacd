//! The workers as seen from the page: tells `connection` what happens to them, and does what follows from that.

use std::cell::RefCell;
use std::time::Duration;

use drope_protocol::Request;
use js_sys::Array;
use leptos::prelude::*;
use leptos::task::spawn_local;
use wasm_bindgen::JsValue;
use web_sys::Worker;

use crate::link::connection::{Connection, Effect, Event, GRACE_SECONDS, Page};
use crate::link::replies::{fail, take};
use crate::link::script::{Program, end, has_adapter, post, post_with_files, start_request, start_worker};
use crate::link::threads::allowed;
use crate::state::State;
use crate::state::engine::Backend;

/// The workers that run, and what is known of them.
#[derive(Default)]
struct Link {
    connection: Connection,
    cpu: Option<Worker>,
    webgpu: Option<Worker>,
}

thread_local! {
    static LINK: RefCell<Link> = RefCell::default();
}

impl Link {
    fn worker(&mut self, backend: Backend) -> &mut Option<Worker> {
        match backend {
            Backend::Cpu => &mut self.cpu,
            Backend::Webgpu => &mut self.webgpu,
        }
    }
}

/// Starts a worker, unless one computes already. The user may press Run before the page is complete.
pub fn connect_once(state: State) {
    tell(state, Event::Wanted);
}

/// Sends a request that begins a run.
pub fn send(state: State, request: Request) {
    tell(state, Event::Asked(request));
}

/// Sends a request that begins a run with files. A worker that is started anew is not sent them again.
pub fn send_with_files(state: State, request: Request, files: &Array) {
    tell_with_files(state, Event::AskedWithFiles(request), files);
}

/// Asks the worker to stop a run, and replaces the worker if it has not confirmed that after some time.
pub fn stop(state: State, run: u32) {
    tell(state, Event::Stopped(run));
}

fn tell(state: State, event: Event) {
    tell_with_files(state, event, &Array::new());
}

fn tell_with_files(state: State, event: Event, files: &Array) {
    let page = Page {
        choice: state.backend_choice.get_untracked(),
        threads: allowed(state.threads),
        run: state.running.with_untracked(Option::is_some).then(|| state.run.get_untracked()),
    };
    let effects = LINK.with_borrow_mut(|link| link.connection.handle(event, page));
    for effect in effects {
        carry_out(state, effect, files);
    }
}

fn carry_out(state: State, effect: Effect, files: &Array) {
    let with_worker = |backend: Backend, act: &dyn Fn(&Worker)| {
        LINK.with_borrow_mut(|link| link.worker(backend).iter().for_each(act));
    };
    match effect {
        Effect::Start { backend, is_shared, must_be_fast, threads } => match spawn(state, backend, is_shared) {
            Ok(worker) => {
                post(&worker, &start_request(must_be_fast, threads, first_models(state)));
                LINK.with_borrow_mut(|link| *link.worker(backend) = Some(worker));
            }
            Err(_) => tell(state, Event::NotStarted(backend)),
        },
        Effect::End(backend) => {
            LINK.with_borrow_mut(|link| link.worker(backend).take()).iter().for_each(end);
        }
        Effect::Post(backend, request) => with_worker(backend, &|worker| post(worker, &request)),
        Effect::PostFiles(backend, request) => {
            with_worker(backend, &|worker| post_with_files(worker, &request, files));
        }
        // WebGPU's program is by far the largest file of the page.
        Effect::FindAdapter if saves_data() => tell(state, Event::NotTried("WebGPU is not tried, to save data")),
        Effect::FindAdapter => spawn_local(async move {
            let is_there = has_adapter().await;
            tell(
                state,
                if is_there { Event::Adapter } else { Event::NotTried("WebGPU has no adapter in this browser") },
            );
        }),
        Effect::AwaitEnd(run) => {
            set_timeout(move || tell(state, Event::GraceOver(run)), Duration::from_secs(GRACE_SECONDS));
        }
        Effect::Show(engine) => state.engine.set(engine),
        Effect::ClearLoading => state.loading.set(None),
        Effect::Say(sentence) => state.error.set(Some(sentence)),
        Effect::Fail(sentence) => fail(state, sentence),
        Effect::Take(reply) => take(state, reply),
    }
}

/// The models of the first screen, where it is shown and the reader does not want to save data.
fn first_models(state: State) -> Vec<String> {
    if state.is_embedded || saves_data() { Vec::new() } else { untrack(|| state.story.models()) }
}

/// Whether the reader wants to load no more than is asked for.
pub fn saves_data() -> bool {
    js_sys::Reflect::get(&window().navigator(), &"connection".into())
        .and_then(|connection| js_sys::Reflect::get(&connection, &"saveData".into()))
        .is_ok_and(|saves| saves.is_truthy())
}

fn spawn(state: State, backend: Backend, is_shared: bool) -> Result<Worker, JsValue> {
    let program = if is_shared { Program::Shares } else { Program::Computes(backend) };
    let on_reply = move |reply, _| tell(state, Event::Heard(backend, reply));
    let on_error = move |message| tell(state, Event::Broke(backend, message));
    start_worker(program, on_reply, on_error)
}
