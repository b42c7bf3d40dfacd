//! What the worker's messages change on the page.

use std::collections::VecDeque;

use drope_protocol::{ChatFormat, Reply, StoredModel, StudyModel};
use leptos::prelude::*;

use crate::state::State;
use crate::state::asked::Asked;
use crate::state::column::{Answer, Finished, Predicted, ProbedHeads};
use crate::state::running::{Counted, Download, Running};

/// Takes in a message of the worker; those of a run that was stopped change nothing.
pub fn take(state: State, reply: Reply) {
    let is_current = |run| run == state.run.get_untracked();
    let is_running = || state.running.with_untracked(Option::is_some);
    match reply {
        // After a run's end the worker loads what the first screen needs; nobody waits for that.
        Reply::Loading { run, model, received, total } if is_current(run) && is_running() => {
            let is_done = total > 0.0 && received >= total;
            state.loading.set((!is_done).then_some(Download { model, received, total }));
        }
        Reply::Asked { run, haystack, question, references, ordered, ends, context } if is_current(run) => {
            state.loading.set(None);
            let is_own = state.asks_own.get_untracked();
            set_question(state, Asked { haystack, question, references, ordered, is_own, ends, context });
        }
        Reply::Read { run, column, tokens, total } if is_current(run) => {
            state.loading.set(None);
            update(state, column, |answer| {
                (answer.read, answer.total) = (tokens, total);
                answer.began = answer.began.or(Some((tokens, js_sys::Date::now())));
            });
        }
        Reply::Generated { run, column, text } if is_current(run) => {
            update(state, column, |answer| answer.text = text);
        }
        Reply::Answered { run, column, is_right, prefill, decode } if is_current(run) => {
            update(state, column, |answer| answer.finished = Some(Finished { is_right, prefill, decode }));
        }
        Reply::Probed { run, column, extension, heads, ends } if is_current(run) => {
            if let Some(column) = state.column(column) {
                let reading = untrack(|| column.reading());
                column.probe.set(Some(ProbedHeads { reading, extension, heads, ends }));
            }
        }
        Reply::Predicted { run, column, losses, cropped } if is_current(run) => {
            if let Some(column) = state.column(column) {
                let reading = untrack(|| column.reading());
                column.predicted.set(Some(Predicted { reading, losses, cropped }));
            }
        }
        Reply::Stored { models } => take_stored(state, models),
        Reply::Trial { run, correct, done } if is_current(run) => {
            state.loading.set(None);
            if let Some(Running::Cell(cell)) = state.running.get_untracked() {
                state.count(cell, Counted { correct, done });
            }
        }
        Reply::Finished { run } if is_current(run) => {
            state.running.set(None);
            state.loading.set(None);
        }
        Reply::Failed { run, message } if is_current(run) => fail(state, message),
        // The message belongs to a run that was stopped.
        _ => {}
    }
}

/// Takes in which models the browser keeps. A column whose model is gone reads with the page's.
pub fn take_stored(state: State, models: Option<Vec<StoredModel>>) {
    let before = state.stored.get_untracked().unwrap_or_default();
    // Those that are gone, and those that are others under the same name.
    let is_kept = |model: &StoredModel| models.iter().flatten().any(|now| answers_alike(model, now));
    let changed: Vec<String> = before.into_iter().filter(|model| !is_kept(model)).map(|model| model.name).collect();
    state.stored.set(models);
    forget(state, &changed);
    for column in state.columns.get_untracked() {
        let is_gone =
            |name: &String| StudyModel::named(name).is_none() && untrack(|| state.stored_model(name)).is_none();
        if let Some(name) = column.model.get_untracked().filter(is_gone) {
            let text = format!("This browser does not keep {name}; its column reads with the page's own model.");
            state.error.set(Some(text));
            column.model.set(None);
            column.clear();
        }
    }
}

/// Whether a model answers as before. That it has a form for messages becomes known only after it was taken in, and changes no answer
/// before that form is used.
fn answers_alike(before: &StoredModel, now: &StoredModel) -> bool {
    let used = |model: &StoredModel| match &model.chat {
        chat @ ChatFormat::Around { is_used: true, .. } => Some(chat.clone()),
        _ => None,
    };
    used(before) == used(now) && *before == StoredModel { chat: before.chat.clone(), ..now.clone() }
}

/// Deletes what models have answered that have other weights, or are asked in another form, under the same name.
fn forget(state: State, changed: &[String]) {
    let is_of = |model: &Option<String>| model.as_ref().is_some_and(|name| changed.contains(name));
    for column in state.columns.get_untracked().into_iter().filter(|column| column.model.with_untracked(is_of)) {
        column.clear();
    }
    if !changed.is_empty() {
        state.replaced.set(changed.to_vec());
        state.counted.update(|counted| counted.retain(|(cell, _)| !is_of(&cell.reading.model)));
    }
}

fn update(state: State, column: usize, change: impl FnOnce(&mut Answer)) {
    if let Some(column) = state.column(column) {
        column.answer.update(change);
    }
}

/// Shows what went wrong, beside what began it; nothing runs any more.
pub fn fail(state: State, message: String) {
    let is_of_model = state.running.with_untracked(|running| running.as_ref().is_some_and(Running::is_of_models));
    let error = if is_of_model { state.model_error } else { state.error };
    error.set(Some(message));
    state.running.set(None);
    state.queue.update(VecDeque::clear);
    state.loading.set(None);
}

/// Shows a question, and deletes the results of a different one.
fn set_question(state: State, asked: Asked) {
    match state.running.get_untracked() {
        Some(Running::Story) => return state.story.asked.set(Some(asked)),
        Some(Running::Dial | Running::DialProbe) => return state.dial.asked.set(Some(asked)),
        _ => {}
    }
    if state.asked.get_untracked().as_ref() != Some(&asked) {
        for column in state.columns.get_untracked() {
            column.clear();
        }
        state.asked.set(Some(asked));
    }
}

#[cfg(test)]
mod tests {
    use drope_core::positions::Method;
    use drope_protocol::{ChatFormat, StoredModel};

    use super::answers_alike;

    #[test]
    fn a_form_of_messages_that_is_not_used_changes_no_answer() {
        let model = |chat, bytes| StoredModel {
            name: "mine".to_owned(),
            weights: vec!["model.gguf".to_owned()],
            bytes,
            context: 256,
            parameters: 1e6,
            method: Method::Rope,
            chat,
            recalibration: None,
        };
        let around = |is_used| ChatFormat::Around { before: "<".to_owned(), behind: ">".to_owned(), is_used };
        let taken_in = model(ChatFormat::Template, 1.0);
        assert!(answers_alike(&taken_in, &model(around(false), 1.0)));
        assert!(!answers_alike(&taken_in, &model(around(true), 1.0)));
        assert!(!answers_alike(&model(around(true), 1.0), &model(around(false), 1.0)));
        assert!(!answers_alike(&taken_in, &model(ChatFormat::Template, 2.0)), "other weights");
    }
}
