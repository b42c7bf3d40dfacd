//! What the buttons begin and stop.

use std::collections::VecDeque;

use drope_protocol::{Comparison, Length, Origin, Prompt, Question, Request};
use leptos::prelude::*;

use crate::link::worker::{send, send_with_files, stop as stop_worker};
use crate::parts::focus::scroll_to;
use crate::state::State;
use crate::state::column::Column;
use crate::state::running::{CellKey, Counted, Running};

/// Trials of a cell that is measured in the tab.
pub const TRIALS: usize = 50;
/// Trials of a cell of the heatmap: fewer, because it has many cells.
pub const TRIALS_AT_DEPTH: usize = 10;

/// Asks all columns.
pub fn ask(state: State) {
    let run = begin_alone(state, Running::Answer);
    // On a phone the answers are below the form.
    scroll_to(".answers", web_sys::ScrollLogicalPosition::Nearest);
    state.asked.set(None);
    for column in state.columns.get_untracked() {
        column.clear();
    }
    send(state, Request::Answer(comparison(state, run)));
}

/// Asks the rows of the first screen; what the page has answers to is shown at once.
pub fn tell_story(state: State) {
    let story = state.story;
    story.forget();
    if story.is_first() {
        if state.running.get_untracked() == Some(Running::Story) {
            stop(state);
        }
        return story.show_first();
    }
    let run = begin_alone(state, Running::Story);
    let readings = untrack(|| story.rows().into_iter().map(Column::reading).collect());
    let depth = f64::from(story.depth.get_untracked()) / 100.0;
    send(state, Request::Answer(Comparison { run, prompt: story.prompt(), depth, readings }));
}

/// Asks the models beside the dial.
pub fn ask_dial(state: State) {
    let run = begin_alone(state, Running::Dial);
    state.dial.columns().iter().for_each(|column| column.clear());
    let comparison = of_dial(state, run);
    state.dial.comparison.set_value(Some(comparison.clone()));
    send(state, Request::Answer(comparison));
}

/// Looks at the heads of the models beside the dial, as soon as all of these have answered.
pub fn probe_answered_dial(state: State) {
    Effect::new(move |before: Option<Option<Running>>| {
        let running = state.running.get();
        let is_over = running.is_none() && before.flatten() == Some(Running::Dial);
        let has_answered = |column: &Column| column.answer.with_untracked(|answer| answer.finished.is_some());
        if is_over && state.dial.columns().iter().all(has_answered) {
            probe_dial(state);
        }
        running
    });
}

/// Measures what attention does in the heads of the models beside the dial.
fn probe_dial(state: State) {
    let Some(answered) = state.dial.comparison.get_value() else { return };
    let run = begin_alone(state, Running::DialProbe);
    send(state, Request::Probe(Comparison { run, ..answered }));
}

/// The question of the first screen.
fn of_dial(state: State, run: u32) -> Comparison {
    let readings = untrack(|| state.dial.columns().map(Column::reading).to_vec());
    let depth = f64::from(state.story.depth.get_untracked()) / 100.0;
    Comparison { run, prompt: state.story.prompt(), depth, readings }
}

/// Measures what attention does in the heads of all columns' models.
pub fn probe(state: State) {
    let run = begin_alone(state, Running::Probe);
    for column in state.columns.get_untracked() {
        column.probe.set(None);
        column.answer.update(|answer| (answer.read, answer.began) = (0, None));
    }
    send(state, Request::Probe(comparison(state, run)));
}

/// Measures how well all columns predict the text.
pub fn predict(state: State) {
    let run = begin_alone(state, Running::Predict);
    for column in state.columns.get_untracked() {
        column.predicted.set(None);
        column.answer.update(|answer| (answer.read, answer.began) = (0, None));
    }
    send(state, Request::Predict(comparison(state, run)));
}

/// Keeps a model of the reader's; `files` are those of a folder, or a zip.
pub fn import(state: State, name: String, origin: Origin, files: &js_sys::Array) {
    let run = begin_alone(state, Running::Import);
    let request = Request::Import { run, name, origin };
    // A worker that is started anew is asked again, but has not got the files.
    if files.length() == 0 { send(state, request) } else { send_with_files(state, request, files) }
}

/// Deletes a model that the browser keeps.
pub fn remove_model(state: State, name: String) {
    let run = begin_alone(state, Running::Kept);
    send(state, Request::Remove { run, name });
}

/// Chooses whether a model gets its prompts as messages.
pub fn choose_chat(state: State, name: String, is_used: bool) {
    let run = begin_alone(state, Running::Kept);
    // Answers to the previous form of the prompt are deleted.
    let columns = state.columns.get_untracked();
    columns
        .iter()
        .filter(|column| column.model.get_untracked().as_ref() == Some(&name))
        .for_each(|column| column.clear());
    send(state, Request::Chat { run, name, is_used });
}

fn comparison(state: State, run: u32) -> Comparison {
    let prompt = untrack(|| state.prompt());
    state.asks_own.set(matches!(prompt, Prompt::Own(_)));
    Comparison {
        run,
        prompt,
        depth: f64::from(state.depth.get_untracked()) / 100.0,
        readings: untrack(|| state.readings()),
    }
}

/// Measures cells of the tables, one after another, in place of what runs now.
pub fn measure_all(state: State, cells: impl IntoIterator<Item = CellKey>) {
    let cells: VecDeque<CellKey> = cells.into_iter().collect();
    if cells.is_empty() {
        return;
    }
    say_what_is_cut_off(state);
    state.queue.set(cells);
    measure_next(state);
}

/// Measures the cells that wait, each when nothing else runs any more.
pub fn measure_waiting(state: State) {
    Effect::new(move || {
        if state.running.with(Option::is_none) {
            measure_next(state);
        }
    });
}

/// Measures the next cell, if one waits.
fn measure_next(state: State) {
    let Some(cell) = state.queue.try_update(|queue| next_shown(state, queue)).flatten() else { return };
    let run = begin(state, Running::Cell(cell.clone()));
    state.count(cell.clone(), Counted::default());
    let CellKey { reading, kind, extension, depth } = cell;
    let question = Question { kind, length: Length::Contexts(extension), seed: state.seed.get_untracked() << 20 };
    let trials = if depth.is_some() { TRIALS_AT_DEPTH } else { TRIALS };
    let depth = depth.map(|percent| f64::from(percent) / 100.0);
    send(state, Request::Measure { run, question, depth, reading, trials });
}

/// The next of the waiting cells that the page still shows.
fn next_shown(state: State, queue: &mut VecDeque<CellKey>) -> Option<CellKey> {
    let readings = untrack(|| state.readings());
    let shown = untrack(|| state.kind());
    let is_shown = |cell: &CellKey| cell.kind == shown && readings.contains(&cell.reading);
    while let Some(cell) = queue.pop_front() {
        // The table of all methods has no columns that could go.
        if cell.depth.is_none() || is_shown(&cell) {
            return Some(cell);
        }
    }
    None
}

/// Stops a running answer, probe or prediction, because the columns have changed and no longer ask for it.
pub fn stop_answers(state: State) {
    if matches!(state.running.get_untracked(), Some(Running::Answer | Running::Probe | Running::Predict)) {
        stop(state);
    }
}

/// Stops what is read with a model that was replaced meanwhile: its answer would be of the weights before. Cells of other models wait on.
pub fn stop_replaced(state: State) {
    Effect::new(move || {
        let replaced = state.replaced.get();
        let is_of = |model: &Option<String>| model.as_ref().is_some_and(|name| replaced.contains(name));
        let is_in_column = || state.columns.get_untracked().iter().any(|column| column.model.with_untracked(is_of));
        match state.running.get_untracked() {
            Some(Running::Cell(cell)) if is_of(&cell.reading.model) => {
                let waiting = state.queue.get_untracked();
                stop(state);
                state.queue.set(waiting.into_iter().filter(|cell| !is_of(&cell.reading.model)).collect());
                measure_next(state);
            }
            Some(Running::Answer | Running::Probe | Running::Predict) if is_in_column() => stop(state),
            _ => {}
        }
    });
}

/// Stops what runs; its late messages are ignored.
pub fn stop(state: State) {
    let stopped = state.run.get_untracked();
    let was_running = state.running.get_untracked().is_some();
    state.run.update(|run| *run += 1);
    state.running.set(None);
    state.queue.update(VecDeque::clear);
    state.loading.set(None);
    if was_running {
        stop_worker(state, stopped);
    }
}

/// Begins a run after which no waiting cell is measured.
fn begin_alone(state: State, what: Running) -> u32 {
    say_what_is_cut_off(state);
    state.queue.update(VecDeque::clear);
    begin(state, what)
}

/// Where a model is being taken in, the next run ends that, which is said where the reader is and beside the models.
fn say_what_is_cut_off(state: State) {
    let is_importing = state.running.with_untracked(|running| *running == Some(Running::Import));
    let sentence = is_importing.then(|| CUT_OFF.to_owned());
    state.error.set(sentence.clone());
    state.model_error.set(sentence);
}

/// What is said of a model that another run has kept from being taken in.
const CUT_OFF: &str = "The model was not taken in, because something else was asked meanwhile; add it again.";

fn begin(state: State, what: Running) -> u32 {
    state.asks_own.set(false);
    state.run.update(|run| *run += 1);
    state.running.set(Some(what));
    state.loading.set(None);
    state.run.get_untracked()
}
