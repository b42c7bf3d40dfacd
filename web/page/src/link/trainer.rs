//! The worker of the recalibration: one of its own, so that the page answers meanwhile.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use drope_protocol::{ChatFormat, Recalibration, RecalibrationState, Reply, Request, StoredModel};
use leptos::prelude::*;
use web_sys::{Blob, Worker};

use crate::link::replies::take_stored;
use crate::link::script::{Program, end, post, start_request, start_worker};
use crate::parts::blob::save_blob;
use crate::state::State;
use crate::state::running::Download;
use crate::state::training::{DropCost, Phase, name_of};

thread_local! {
    static WORKER: RefCell<Option<Worker>> = const { RefCell::new(None) };
    /// Whether it has made an update.
    static HAS_UPDATED: Cell<bool> = const { Cell::new(false) };
}

/// Drops the positions of the page's nano-rope, says what that costs and how long an update takes here.
pub fn try_drop(state: State) {
    state.training.cost.set(None);
    begin(state, Phase::Trying, String::new(), Request::Drop);
}

/// Begins to recalibrate, or goes on with what the browser keeps.
pub fn recalibrate(state: State) {
    let training = state.training;
    let settings = training.settings.get_untracked();
    let name = untrack(|| state.stored.with(|stored| name_of(&settings, stored.as_deref().unwrap_or_default())));
    let kept = untrack(|| state.stored_model(&name)).and_then(|model| model.recalibration);
    let fresh = RecalibrationState { settings, step: 0, losses: Vec::new(), scores: Vec::new() };
    training.progress.set(Some(kept.unwrap_or(fresh)));
    training.name.set(Some(name.clone()));
    begin(state, Phase::Running, name, Request::Recalibrate);
}

/// Saves a model that the browser keeps as a zip; `error` is shown where the button is.
pub fn export_model(state: State, name: String, error: RwSignal<Option<String>>) {
    error.set(None);
    state.is_exporting.set(true);
    let on_reply = move |reply, blob: Option<Blob>| {
        if let Reply::Exported { name, .. } = reply {
            blob.iter().for_each(|blob| save_blob(&format!("{name}.zip"), blob));
        }
    };
    let done = move || state.is_exporting.set(false);
    carry_out(error, &Request::Export { run: 1, name }, "The zip could not be made", on_reply, done);
}

/// Renders the chat templates of models that the browser keeps, each once.
pub fn render_templates(state: State) {
    Effect::new(move |rendering: Option<Vec<String>>| {
        let rendering = rendering.unwrap_or_default();
        let is_waiting = |model: &&StoredModel| model.chat == ChatFormat::Template;
        let name = |model: &StoredModel| model.name.clone();
        let waiting: Vec<String> =
            state.stored.with(|models| models.iter().flatten().filter(is_waiting).map(name).collect());
        waiting.iter().filter(|name| !rendering.contains(name)).for_each(|name| render_template(state, name.clone()));
        waiting
    });
}

fn render_template(state: State, name: String) {
    let on_reply = move |reply, _| {
        if let Reply::Stored { models } = reply {
            take_stored(state, models);
        }
    };
    let request = Request::Template { run: 1, name };
    carry_out(state.model_error, &request, "The chat template could not be read", on_reply, || {});
}

/// Starts a worker for one request, so that neither answers nor training wait; it ends with it, and then `done` is called.
fn carry_out(
    error: RwSignal<Option<String>>,
    request: &Request,
    failed: &'static str,
    hear: impl Fn(Reply, Option<Blob>) + 'static,
    done: impl Fn() + Copy + 'static,
) {
    let worker: Rc<RefCell<Option<Worker>>> = Rc::default();
    let own = worker.clone();
    let on_reply = move |reply, blob| {
        let is_over = matches!(reply, Reply::Failed { .. } | Reply::Finished { .. });
        match reply {
            Reply::Failed { message, .. } => error.set(Some(message)),
            reply => hear(reply, blob),
        }
        if is_over {
            own.take().iter().for_each(end);
            done();
        }
    };
    let fail = move |reason: &str| {
        error.set(Some(format!("{failed} ({reason}).")));
        done();
    };
    let broken = worker.clone();
    let on_error = move |message: String| {
        broken.take().iter().for_each(end);
        fail(&message);
    };
    match start_worker(Program::Trains, on_reply, on_error) {
        Ok(started) => {
            post(&started, &start_request(false, 1, Vec::new()));
            post(&started, request);
            worker.replace(Some(started));
        }
        Err(_) => fail("this browser starts no web workers"),
    }
}

/// Lets the worker keep what it has and stop. Before its first update there is nothing that is not kept already, and a worker whose
/// program is still on its way would not answer.
pub fn pause(state: State) {
    if !HAS_UPDATED.get() {
        return end_worker(state);
    }
    state.training.phase.set(Phase::Pausing);
    WORKER.with_borrow(|worker| worker.iter().for_each(|worker| post(worker, &Request::Stop)));
}

/// Starts a worker for one request; it ends with its run.
fn begin(state: State, phase: Phase, name: String, request: impl Fn(Recalibration) -> Request) {
    let training = state.training;
    training.error.set(None);
    let on_reply = move |reply, _| hear(state, reply);
    let on_error = move |message: String| {
        end_worker(state);
        training
            .error
            .set(Some(format!("The worker stopped ({message}); press the button to go on from what is kept.")));
    };
    let Ok(worker) = start_worker(Program::Trains, on_reply, on_error) else {
        training.error.set(Some("This browser starts no web workers, in which models train; try another.".into()));
        return;
    };
    training.phase.set(phase);
    HAS_UPDATED.set(false);
    post(&worker, &start_request(false, 1, Vec::new()));
    let settings = training.settings.get_untracked();
    post(&worker, &request(Recalibration { run: 1, name, settings }));
    WORKER.set(Some(worker));
}

/// Ends the worker at once, with what it has not kept.
pub fn end_worker(state: State) {
    state.training.phase.set(Phase::Idle);
    state.training.loading.set(None);
    WORKER.take().iter().for_each(end);
}

fn hear(state: State, reply: Reply) {
    let training = state.training;
    match reply {
        Reply::Loading { model, received, total, .. } => {
            let is_done = total > 0.0 && received >= total;
            training.loading.set((!is_done).then_some(Download { model, received, total }));
        }
        Reply::Dropped { before, after, seconds, .. } => {
            training.seconds.set(seconds);
            training.cost.set(Some(DropCost { before, after }));
        }
        Reply::Updated { step, loss, seconds, .. } => {
            HAS_UPDATED.set(true);
            training.progress.update(|progress| {
                if let Some(progress) = progress {
                    progress.step = step;
                    progress.losses.push(loss);
                }
            });
            // Updates differ in length; the first compiles nothing here, so that it counts like others.
            training.seconds.update(|mean| *mean = if *mean == 0.0 { seconds } else { 0.9 * *mean + 0.1 * seconds });
        }
        Reply::Scored { score, .. } => training.progress.update(|progress| {
            if let Some(progress) = progress {
                progress.scores.push(score);
            }
        }),
        Reply::Stored { models } => take_stored(state, models),
        Reply::Failed { message, .. } => {
            end_worker(state);
            training.error.set(Some(message));
        }
        Reply::Finished { .. } => end_worker(state),
        _ => {}
    }
}
