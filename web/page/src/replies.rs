//! What the worker's messages change on the page.

use std::collections::VecDeque;

use drope_protocol::Reply;
use leptos::prelude::*;

use super::column::{Answer, Finished, ProbedHeads};
use super::runs::measure_next;
use super::state::{Asked, Counted, Download, Running, State};
use super::worker_link::confirm_end;

/// Takes in a message of the worker; those of a run that was stopped change nothing.
pub fn take(state: State, reply: Reply) {
    let is_current = |run| run == state.run.get_untracked();
    match reply {
        Reply::Loading { run, model, received, total } if run.is_none_or(is_current) => {
            let is_done = total > 0.0 && received >= total;
            state.loading.set((!is_done).then_some(Download { model, received, total }));
        }
        Reply::Asked { run, haystack, question, references, ordered, tokens, context } if is_current(run) => {
            state.loading.set(None);
            set_question(state, Asked { haystack, question, references, ordered, tokens, context });
        }
        Reply::Read { run, column, tokens } if is_current(run) => {
            state.loading.set(None);
            update(state, column, |answer| answer.read = tokens);
        }
        Reply::Generated { run, column, text } if is_current(run) => {
            update(state, column, |answer| answer.text = text);
        }
        Reply::Answered { run, column, exact, prefill, decode } if is_current(run) => {
            update(state, column, |answer| answer.finished = Some(Finished { exact, prefill, decode }));
        }
        Reply::Probed { run, column, extension, heads } if is_current(run) => {
            if let Some(column) = state.column(column) {
                let reading = untrack(|| column.reading());
                column.probe.set(Some(ProbedHeads { reading, extension, heads }));
            }
        }
        Reply::Trial { run, correct, done } if is_current(run) => {
            state.loading.set(None);
            if let Some(Running::Cell(cell)) = state.running.get_untracked() {
                state.count(cell, Counted { correct, done });
            }
        }
        Reply::Finished { run } => {
            confirm_end(run);
            if is_current(run) {
                state.running.set(None);
                state.loading.set(None);
                measure_next(state);
            }
        }
        Reply::Failed { run, message } => {
            confirm_end(run);
            if is_current(run) {
                fail(state, message);
            }
        }
        // Of a run that was stopped.
        _ => {}
    }
}

fn update(state: State, column: usize, change: impl FnOnce(&mut Answer)) {
    if let Some(column) = state.column(column) {
        column.answer.update(change);
    }
}

/// Shows what went wrong; nothing runs any more.
pub fn fail(state: State, message: String) {
    state.error.set(Some(message));
    state.running.set(None);
    state.queue.update(VecDeque::clear);
    state.loading.set(None);
}

/// What was seen with another question does not stay beside this one.
fn set_question(state: State, asked: Asked) {
    if state.asked.get_untracked().as_ref() != Some(&asked) {
        for column in state.columns.get_untracked() {
            column.clear();
        }
        state.asked.set(Some(asked));
    }
}
