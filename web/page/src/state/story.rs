//! What the first screen shows, and what it begins with: answers that were computed beforehand.

use std::sync::LazyLock;

use drope_core::language::Values;
use drope_core::niah::{Difficulty, Distractors, OwnText, Task};
use drope_core::positions::Method;
use drope_core::results::{MethodLine, StudyFigure};
use drope_protocol::{FirstAnswers, Length, Prompt, Question, QuestionKind, Reading, StudyModel};
use leptos::prelude::*;

use super::asked::Asked;
use super::column::{Answer, Column, Finished};

/// Multiples of the training context along the slider.
pub const LENGTHS: [usize; 7] = [1, 2, 4, 8, 16, 32, 64];

/// Up to here the models answer as soon as the slider is let go.
pub const LIVE: usize = 16;

/// Written by `cargo xtask table`.
const STUDY: &str = include_str!("../../../../docs/study.json");

/// Written and checked by tests/tests/first_answers.rs.
const FIRST: &str = include_str!("../../../../docs/first-answers.json");

/// The models of the rows, in the order of the study's lines of them.
const MODELS: [(StudyModel, Method); 4] = [
    (StudyModel::ROPE, Method::Rope),
    (StudyModel::ROPE, Method::Yarn),
    (StudyModel::P_DROPE_COPIES, Method::PDrope),
    (StudyModel::ROPE_COPIES, Method::DynamicNtk),
];

/// Signals of the first screen.
#[derive(Clone, Copy)]
pub struct Story {
    /// Multiple of the training context.
    pub extension: RwSignal<usize>,
    /// Depth of the needle, in percent.
    pub depth: RwSignal<u32>,
    /// Seed of the question.
    pub seed: RwSignal<u64>,
    /// Whether the row of RoPE with the same training is there.
    pub has_fourth: RwSignal<bool>,
    /// The question that the rows' answers are of; none while the next one is on its way, and where it is still to be asked for.
    pub asked: RwSignal<Option<Asked>>,
    rows: StoredValue<[Column; 4]>,
}

impl Story {
    /// The first state, whose answers are in the page.
    pub fn new() -> Self {
        let first = first();
        let lines = &study().played;
        let rows = std::array::from_fn(|row| {
            let (model, method) = MODELS[row];
            let parameters = lines.get(row).map(|line| line.parameters.clone()).unwrap_or_default();
            Column::new(row, Reading { model: Some(model.name.to_owned()), method, parameters })
        });
        let story = Self {
            extension: RwSignal::new(first.extension),
            depth: RwSignal::new(first.depth),
            seed: RwSignal::new(first.seed),
            has_fourth: RwSignal::new(false),
            asked: RwSignal::new(None),
            rows: StoredValue::new(rows),
        };
        story.show_first();
        story
    }

    /// Shows the answers that are in the page.
    pub fn show_first(self) {
        let first = first();
        for (row, answer) in self.all_rows().iter().zip(&first.answers) {
            let finished = Some(Finished { is_right: Some(answer.is_right), prefill: 0.0, decode: 0.0 });
            let tokens = first.ends.len();
            row.answer.set(Answer { read: tokens, total: tokens, text: answer.text.clone(), finished, began: None });
        }
        self.asked.set(Some(Asked {
            haystack: first.haystack.clone(),
            question: first.question.clone(),
            references: first.references.clone(),
            ordered: true,
            is_own: false,
            ends: first.ends.clone(),
            context: first.context,
        }));
    }

    /// Begins with another question, whose answers are still to be asked for.
    pub fn choose(self, extension: usize, depth: u32, seed: u64, has_fourth: bool) {
        self.has_fourth.set(has_fourth);
        if LENGTHS.contains(&extension) {
            self.extension.set(extension);
            self.depth.set(depth);
            self.seed.set(seed);
            if !self.is_first() {
                self.forget();
            }
        }
    }

    /// The same as a part of an address; empty for the first state.
    pub fn written(self) -> String {
        let (extension, depth, seed) = (self.extension.get(), self.depth.get(), self.seed.get());
        match (self.is_first(), self.has_fourth.get()) {
            (true, false) => String::new(),
            (_, false) => format!("&story={extension},{depth},{seed}"),
            (_, true) => format!("&story={extension},{depth},{seed},1"),
        }
    }

    /// Whether what is chosen is what the page has answers to.
    pub fn is_first(self) -> bool {
        let first = first();
        let chosen = untrack(|| (self.extension.get(), self.depth.get(), self.seed.get()));
        chosen == (first.extension, first.depth, first.seed)
    }

    /// Deletes a question that is no longer chosen, and the answers to it.
    pub fn forget(self) {
        self.asked.set(None);
        self.all_rows().iter().for_each(|row| row.clear());
    }

    /// The rows that are shown.
    pub fn rows(self) -> Vec<Column> {
        let count = if self.has_fourth.get() { 4 } else { 3 };
        self.all_rows().into_iter().take(count).collect()
    }

    fn all_rows(self) -> [Column; 4] {
        self.rows.get_value()
    }

    /// The models of the rows that are shown, each once.
    pub fn models(self) -> Vec<String> {
        let mut models: Vec<String> = self.rows().into_iter().filter_map(|row| row.model.get()).collect();
        models.dedup();
        models
    }

    /// What the study found of each row, in the same order.
    pub fn lines() -> &'static [MethodLine] {
        &study().played
    }

    /// Training context, in tokens.
    pub fn context(self) -> usize {
        first().context
    }

    /// The study's primary task.
    pub fn prompt(self) -> Prompt {
        let difficulty =
            Difficulty { digits: Values::LONG_DIGITS, distractors: Distractors::Sharing, ..Difficulty::default() };
        Prompt::Drawn(Question {
            kind: QuestionKind { difficulty, ..QuestionKind::standard(Task::MultiKey, Values::Numbers) },
            length: Length::Contexts(self.extension.get_untracked()),
            seed: self.seed.get_untracked(),
        })
    }
}

/// The study's file. A test reads it, so that parsing it here cannot fail.
pub fn study() -> &'static StudyFigure {
    static FIGURE: LazyLock<StudyFigure> = LazyLock::new(|| {
        serde_json::from_str(STUDY).expect("docs/study.json is in the form that the tables are written in")
    });
    &FIGURE
}

/// What the fields of the reader's text hold at first: a text longer than the page's own models were trained on, a needle and a question, in the words that
/// they know.
pub fn example_text() -> OwnText {
    OwnText {
        haystack: prose(),
        needle: "One of the special magic numbers for amber-acorn is: 4172.".to_owned(),
        question: "The special magic number for amber-acorn mentioned in the provided text is:".to_owned(),
        answer: "4172".to_owned(),
    }
}

/// The first question's text without its needles.
fn prose() -> String {
    let prose = first().haystack.iter().filter(|(_, kind)| kind.is_filler());
    prose.map(|(sentence, _)| sentence.as_str()).collect::<Vec<_>>().join(" ")
}

/// The answers in the page; a test reads the file.
fn first() -> &'static FirstAnswers {
    static ANSWERS: LazyLock<FirstAnswers> =
        LazyLock::new(|| serde_json::from_str(FIRST).expect("docs/first-answers.json is in the form of its test"));
    &ANSWERS
}

#[cfg(test)]
mod tests {
    use super::{LENGTHS, MODELS, first, study};

    #[test]
    fn the_files_have_what_the_rows_show() {
        let lines = &study().played;
        assert_eq!(lines.len(), MODELS.len());
        for (line, (_, method)) in lines.iter().zip(&MODELS) {
            assert_eq!(line.method, *method, "{}", line.name);
            assert!(line.points.iter().all(|point| LENGTHS.contains(&point.extension)), "{}", line.name);
            assert!(line.points.len() >= 6, "{} has {} lengths", line.name, line.points.len());
        }
        let first = first();
        assert_eq!(first.answers.len(), MODELS.len());
        let outcomes: Vec<bool> = first.answers.iter().map(|answer| answer.is_right).collect();
        assert!(!outcomes[0], "the first state shows that RoPE fails");
        assert!(outcomes[2], "and that partial DroPE with copies does not");
    }
}
