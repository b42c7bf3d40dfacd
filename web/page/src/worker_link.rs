//! The workers as seen from the page: starting them, sending to the one that computes, and ending it when it does not stop.
//!
//! The CPU's worker is small and answers first. WebGPU's is tried beside it where the browser has an adapter, and takes over with
//! the next run if it is fit.

use std::cell::RefCell;
use std::time::Duration;

use drope_protocol::{Reply, Request};
use js_sys::Array;
use leptos::prelude::*;
use leptos::task::spawn_local;
use wasm_bindgen::JsValue;
use web_sys::Worker;

use super::engine::{Backend, BackendChoice, Engine};
use super::replies::{fail, take};
use super::state::State;
use super::threads::allowed;
use super::worker_script::{Program, end, has_adapter, post, post_with_files, start_request, start_worker};

/// How long a worker may take to stop a run. A worker that takes longer hangs in a computation and is replaced.
const GRACE: Duration = Duration::from_secs(2);

/// The workers and what was sent to the one that computes.
#[derive(Default)]
struct Link {
    active: Option<(Backend, Worker)>,
    /// WebGPU's worker, while it is tried beside the CPU's; with the reason for using it, once it was found fit.
    candidate: Option<(Worker, Option<String>)>,
    /// Why the CPU computes, as the end of a sentence.
    why_cpu: Option<String>,
    /// Whether the one that computes runs its program.
    is_awake: bool,
    /// Whether the program with several threads could not be started, for example because memory cannot be shared.
    is_alone: bool,
    /// The last request that began a run.
    last: Option<Request>,
    /// The run whose end the worker has not confirmed since Stop.
    stopping: Option<u32>,
}

thread_local! {
    static LINK: RefCell<Link> = RefCell::default();
}

/// Starts the worker of the backend that the user chose.
pub fn connect(state: State) {
    let choice = state.backend_choice.get_untracked();
    let backend = if choice == BackendChoice::Webgpu { Backend::Webgpu } else { Backend::Cpu };
    activate(state, backend);
    if choice == BackendChoice::Auto {
        spawn_local(try_webgpu(state));
    }
}

/// Like [`connect`], unless a worker computes already. The user may press Run before the page is complete.
pub fn connect_once(state: State) {
    if LINK.with_borrow(|link| link.active.is_none()) {
        connect(state);
    }
}

/// Starts a worker that is to compute.
fn activate(state: State, backend: Backend) {
    state.engine.set(Engine::Loading);
    match spawn(state, backend) {
        Ok(worker) => {
            post(&worker, &start_request(false, threads(state)));
            LINK.with_borrow_mut(|link| {
                link.active = Some((backend, worker));
                link.is_awake = false;
            });
        }
        Err(_) => {
            state.engine.set(Engine::Stopped);
            state.running.set(None);
            state.error.set(Some("This browser starts no web workers, in which the models run; try another.".into()));
        }
    }
}

/// Threads of the CPU's worker.
fn threads(state: State) -> usize {
    if LINK.with_borrow(|link| link.is_alone) { 1 } else { allowed(state.threads) }
}

/// Starts WebGPU's worker beside the CPU's, if the browser has an adapter for it.
async fn try_webgpu(state: State) {
    if !has_adapter().await {
        note_on_cpu(state, "WebGPU has no adapter in this browser");
        return;
    }
    // The user's choice and the workers may have changed meanwhile.
    let is_auto = state.backend_choice.get_untracked() == BackendChoice::Auto;
    let is_alone = is_auto && computes(Backend::Cpu) && LINK.with_borrow(|link| link.candidate.is_none());
    if let Some(worker) = is_alone.then(|| spawn(state, Backend::Webgpu).ok()).flatten() {
        post(&worker, &start_request(true, 1));
        LINK.with_borrow_mut(|link| link.candidate = Some((worker, None)));
    }
}

/// Keeps why the CPU computes, and says it where it does.
fn note_on_cpu(state: State, note: &str) {
    LINK.with_borrow_mut(|link| link.why_cpu = Some(note.to_owned()));
    state.engine.update(|engine| {
        if let Engine::Open { backend: Backend::Cpu, note: known, .. } = engine {
            note.clone_into(known);
        }
    });
}

/// Sends a request that begins a run. WebGPU takes over if it was found fit meanwhile.
pub fn send(state: State, request: Request) {
    take_over(state);
    LINK.with_borrow_mut(|link| {
        if let Some((_, worker)) = &link.active {
            post(worker, &request);
        }
        link.last = Some(request);
    });
}

/// Sends a request with files. A worker that is started anew is not sent them again.
pub fn send_with_files(state: State, request: &Request, files: &Array) {
    take_over(state);
    LINK.with_borrow_mut(|link| {
        if let Some((_, worker)) = &link.active {
            post_with_files(worker, request, files);
        }
        link.last = None;
    });
}

/// Lets a candidate that was found fit compute from now on.
fn take_over(state: State) {
    connect_once(state);
    let candidate = LINK.with_borrow_mut(|link| link.candidate.take_if(|(_, fit)| fit.is_some()));
    let Some((worker, Some(note))) = candidate else { return };
    let cpu = LINK.with_borrow_mut(|link| {
        // The run that the CPU's worker was to stop ends with that worker.
        link.stopping = None;
        link.active.replace((Backend::Webgpu, worker))
    });
    if let Some((_, cpu)) = cpu {
        end(&cpu);
    }
    state.engine.set(Engine::Open { backend: Backend::Webgpu, threads: 1, note });
}

/// Asks the worker to stop a run, and replaces the worker if it has not confirmed that after [`GRACE`].
pub fn stop(state: State, run: u32) {
    LINK.with_borrow_mut(|link| {
        if let Some((_, worker)) = &link.active {
            post(worker, &Request::Stop);
        }
        link.stopping = Some(run);
    });
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

/// Ends all workers; nothing that they sent arrives any more.
fn terminate() {
    LINK.with_borrow_mut(|link| {
        link.stopping = None;
        let active = link.active.take().map(|(_, worker)| worker);
        let candidate = link.candidate.take().map(|(worker, _)| worker);
        active.iter().chain(&candidate).for_each(end);
    });
}

/// Replaces a worker that does not stop. What was asked since then is asked again.
fn restart(state: State) {
    let on_the_cpu = match state.engine.get_untracked() {
        // A program that is still on its way does not hang; it will find that the run was stopped.
        Engine::Loading | Engine::Stopped => return,
        Engine::Open { backend: Backend::Cpu, .. } => "",
        Engine::Opening | Engine::Open { backend: Backend::Webgpu, .. } => ", on the CPU",
    };
    terminate();
    if !on_the_cpu.is_empty() {
        give_up_webgpu(state, "WebGPU did not stop");
    }
    state.loading.set(None);
    let grace = GRACE.as_secs();
    state.error.set(Some(format!("The worker did not stop within {grace} seconds and was started anew{on_the_cpu}.")));
    connect(state);
    send_again(state);
}

/// Sends what is being waited for to a worker that was started anew.
fn send_again(state: State) {
    let current = state.running.with_untracked(Option::is_some).then(|| state.run.get_untracked());
    let last = LINK.with_borrow(|link| link.last.clone());
    if let Some(request) = last.filter(|request| current.is_some() && request.run() == current) {
        send(state, request);
    }
}

/// Computes on the CPU from now on, and says why.
fn give_up_webgpu(state: State, why: &str) {
    state.backend_choice.set(BackendChoice::Cpu);
    note_on_cpu(state, why);
}

fn spawn(state: State, backend: Backend) -> Result<Worker, JsValue> {
    let is_shared = backend == Backend::Cpu && threads(state) > 1;
    let on_reply = move |reply, _| {
        if computes(backend) {
            hear(state, backend, reply);
        } else {
            hear_candidate(state, reply);
        }
    };
    let on_error = move |message: String| {
        if is_shared && !LINK.with_borrow(|link| link.is_awake) {
            LINK.with_borrow_mut(|link| link.is_alone = true);
            terminate();
            connect(state);
            send_again(state);
        } else if computes(backend) {
            // The failed worker answers no more requests; the next run starts another worker.
            terminate();
            state.engine.set(Engine::Stopped);
            let on_the_cpu = if backend == Backend::Webgpu { ", on the CPU" } else { "" };
            if backend == Backend::Webgpu {
                give_up_webgpu(state, "WebGPU's program stopped");
            }
            fail(state, format!("The worker stopped ({message}). Press Run to start it anew{on_the_cpu}."));
        } else {
            dismiss(state, &format!("WebGPU's program stopped ({message})"));
        }
    };
    let program = if is_shared { Program::Shares } else { Program::Computes(backend) };
    start_worker(program, on_reply, on_error)
}

/// Whether this backend's worker is the one that computes.
fn computes(backend: Backend) -> bool {
    LINK.with_borrow(|link| link.active.as_ref().is_some_and(|(active, _)| *active == backend))
}

/// Handles a message from the worker that computes.
fn hear(state: State, backend: Backend, reply: Reply) {
    match (reply, backend) {
        (Reply::Ready { note, threads }, Backend::Webgpu) => {
            state.loading.set(None);
            state.engine.set(Engine::Open { backend, threads, note });
        }
        (Reply::Ready { threads, .. }, Backend::Cpu) => {
            let is_asked = state.backend_choice.get_untracked() == BackendChoice::Cpu;
            let otherwise = if is_asked { "as you asked" } else { "WebGPU is being tried beside it" };
            let note = LINK.with_borrow(|link| link.why_cpu.clone()).unwrap_or_else(|| otherwise.to_owned());
            state.engine.set(Engine::Open { backend, threads, note });
        }
        // WebGPU was asked for.
        (Reply::Unfit { note }, _) => {
            terminate();
            state.loading.set(None);
            note_on_cpu(state, &note);
            activate(state, Backend::Cpu);
            send_again(state);
        }
        (Reply::Awake, Backend::Webgpu) => state.engine.set(Engine::Opening),
        (Reply::Awake, Backend::Cpu) => LINK.with_borrow_mut(|link| link.is_awake = true),
        (reply, _) => take(state, reply),
    }
}

/// Handles a message from WebGPU's worker while it is tried.
fn hear_candidate(state: State, reply: Reply) {
    match reply {
        Reply::Ready { note, .. } => {
            LINK.with_borrow_mut(|link| {
                if let Some((_, fit)) = &mut link.candidate {
                    *fit = Some(note);
                }
            });
            if state.running.with_untracked(Option::is_none) {
                take_over(state);
            }
        }
        Reply::Unfit { note } => dismiss(state, &note),
        // The page does not show what this worker downloads.
        _ => {}
    }
}

/// Ends the candidate; the CPU goes on.
fn dismiss(state: State, note: &str) {
    if let Some((worker, _)) = LINK.with_borrow_mut(|link| link.candidate.take()) {
        end(&worker);
    }
    note_on_cpu(state, note);
}
