//! How long reading takes on this device, before and while it happens.

use leptos::prelude::*;

use crate::state::State;
use crate::state::column::{Answer, Column};
use crate::state::engine::Engine;

/// Tokens at which attention, whose work grows with the text, takes as long as all the rest of a token: about right for the page's
/// models and for SmolLM2.
const EVEN: f64 = 2048.0;

/// What a thread of the CPU computes in a second, roughly, until something was read here: operations on weights.
const OPERATIONS: f64 = 1e10;

/// Numbers in the weights of the page's own models.
const OWN_PARAMETERS: f64 = 8.5e5;

/// The work of reading a text, in tokens of a short one.
fn work(tokens: usize) -> f64 {
    let tokens = tokens as f64;
    tokens * (1.0 + tokens / EVEN)
}

/// Of a text of so many tokens, those that a column reads: a method that crops gives its model the last ones alone.
fn tokens_read(state: State, column: Column, tokens: usize) -> usize {
    if column.method.get().info().crops { tokens.min(state.context_of(column)) } else { tokens }
}

/// Seconds that a column may take for a text of so many tokens: by the speed of its last answer, or by the size of its model.
pub fn seconds(state: State, column: Column, tokens: usize) -> f64 {
    let tokens = tokens_read(state, column, tokens);
    let last = column.answer.with(|answer| Some((answer.read, answer.finished?.prefill)));
    if let Some((read, speed)) = last.filter(|&(read, speed)| read > 0 && speed > 0.0) {
        return read as f64 / speed * work(tokens) / work(read);
    }
    let parameters = state.kept_of(column).map_or(OWN_PARAMETERS, |model| model.parameters);
    let threads = state.engine.with(|engine| match engine {
        Engine::Open { threads, .. } => *threads,
        _ => 1,
    });
    work(tokens) * 2.0 * parameters / (OPERATIONS * threads.max(1) as f64)
}

/// How long several columns may take, one after another, in words.
pub fn time_of_all(state: State, columns: Vec<Column>, tokens: usize) -> String {
    duration(columns.into_iter().map(|column| seconds(state, column, tokens)).sum())
}

/// `3,072 of 16,384 tokens read, about 4 min left`, once that can be said.
pub fn left(answer: &Answer, now: f64) -> Option<String> {
    /// Milliseconds before which nothing is said: the first piece says little, and most texts are read by then.
    const SOON: f64 = 3_000.0;
    let ((first, began), total) = (answer.began?, answer.total);
    let elapsed = now - began;
    if answer.finished.is_some() || elapsed < SOON || answer.read == first || answer.read >= total {
        return None;
    }
    let done = work(answer.read) - work(first);
    let left = elapsed / 1000.0 * (work(total) - work(answer.read)) / done;
    Some(format!("{} of {total} tokens read, about {} left.", answer.read, duration(left)))
}

/// `40 s`, `12 min`, `3.5 h`
pub fn duration(seconds: f64) -> String {
    match seconds {
        seconds if seconds < 90.0 => format!("{:.0} s", seconds.max(1.0)),
        seconds if seconds < 5400.0 => format!("{:.0} min", seconds / 60.0),
        seconds => format!("{:.1} h", seconds / 3600.0),
    }
}

#[cfg(test)]
mod tests {
    use super::{duration, left, work};
    use crate::state::column::Answer;

    #[test]
    fn durations_are_in_the_unit_that_people_use() {
        assert_eq!([0.2, 40.4, 700.0, 12_600.0].map(duration), ["1 s", "40 s", "12 min", "3.5 h"]);
    }

    #[test]
    fn twice_the_text_is_between_twice_and_four_times_the_work() {
        for tokens in [256, 2048, 65_536] {
            let growth = work(2 * tokens) / work(tokens);
            assert!((2.0..4.0).contains(&growth), "{growth}");
        }
    }

    #[test]
    fn the_time_left_is_said_of_long_texts_alone() {
        let reading = |read| Answer { read, total: 4096, began: Some((1024, 0.0)), ..Answer::default() };
        assert_eq!(left(&reading(2048), 1000.0), None);
        // In pieces of 1,024 tokens the first is 1.5 of work, the first two are 4, and four are 12.
        let after_a_minute = left(&reading(2048), 60_000.0);
        assert_eq!(after_a_minute.as_deref(), Some("2048 of 4096 tokens read, about 3 min left."));
        assert_eq!(left(&reading(1024), 60_000.0), None);
        assert_eq!(left(&reading(4096), 60_000.0), None);
    }
}
