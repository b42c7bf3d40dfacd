//! What the buttons begin and stop.

use drope_protocol::{Comparison, Question, Request};
use leptos::prelude::*;

use super::state::{Answer, CellKey, Counted, Engine, Running, State};
use super::worker_link::{connect, send, stop as stop_worker};

/// Trials of a cell that is measured in the tab.
pub const TRIALS: usize = 50;

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
    send(Request::Answer(comparison(state, run)));
}

/// Measures what attention does in the heads of both models.
pub fn probe(state: State) {
    let run = begin(state, Running::Probe);
    for column in 0..2 {
        state.probes[column].set(None);
        state.answers[column].update(|answer| answer.read = 0);
    }
    send(Request::Probe(comparison(state, run)));
}

fn comparison(state: State, run: u32) -> Comparison {
    Comparison {
        run,
        question: state.question(),
        depth: f64::from(state.depth.get_untracked()) / 100.0,
        methods: state.methods.map(|method| method.get_untracked()),
    }
}

/// Measures a cell of the grid.
pub fn measure(state: State, cell: CellKey) {
    let run = begin(state, Running::Cell(cell));
    state.counted.update(|counted| {
        counted.insert(cell, Counted::default());
    });
    let CellKey { method, task, values, extension } = cell;
    let question = Question { task, values, extension, seed: state.seed.get_untracked() << 20 };
    send(Request::Measure { run, question, method, trials: TRIALS });
}

/// Stops what runs; its late messages are ignored.
pub fn stop(state: State) {
    let stopped = state.run.get_untracked();
    let was_running = state.running.get_untracked().is_some();
    state.run.update(|run| *run += 1);
    state.running.set(None);
    state.loading.set(None);
    if was_running {
        stop_worker(state, stopped);
    }
}

fn begin(state: State, what: Running) -> u32 {
    state.run.update(|run| *run += 1);
    state.running.set(Some(what));
    state.loading.set(None);
    state.error.set(None);
    if state.engine.get_untracked() == Engine::Stopped {
        connect(state);
    }
    state.run.get_untracked()
}
