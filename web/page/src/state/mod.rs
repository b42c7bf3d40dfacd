//! What the page shows.

pub mod asked;
pub mod benchmark_size;
pub mod column;
pub mod dial;
pub mod engine;
pub mod model_name;
pub mod running;
pub mod screen;
pub mod spectrum;
pub mod story;
pub mod training;

use std::collections::VecDeque;
use std::ops::RangeInclusive;

use drope_core::language::Values;
use drope_core::niah::{Difficulty, Filler, OwnText, Task};
use drope_core::positions::Method;
use drope_protocol::{Length, Prompt, Question, QuestionKind, Reading, StoredModel, StudyModel};
use leptos::prelude::*;

use self::asked::Asked;
use self::benchmark_size::BenchmarkSize;
use self::column::{Column, plain};
use self::dial::Dial;
use self::engine::{BackendChoice, Engine};
use self::running::{CellKey, Counted, Download, Running};
use self::screen::Screen;
use self::story::Story;
use self::training::Training;

/// Factors of the training context that can be chosen.
pub const EXTENSIONS: [usize; 5] = [1, 2, 4, 8, 16];

/// Tokens that a text can have, for models with long contexts.
pub const TOKENS: RangeInclusive<usize> = 64..=65_536;

/// Tokens that models with longer contexts are asked about first.
const FIRST_TOKENS: usize = 2048;

/// Signals of the page.
#[derive(Clone, Copy)]
pub struct State {
    /// What is shown of the page.
    pub screen: RwSignal<Screen>,
    /// The first screen.
    pub story: Story,
    /// Where the frequencies are cut.
    pub dial: Dial,
    /// Kind of retrieval.
    pub task: RwSignal<Task>,
    /// Numbers or words.
    pub values: RwSignal<Values>,
    /// What surrounds the needles, in place of the task's own.
    pub filler: RwSignal<Option<Filler>>,
    /// How hard the questions are made.
    pub difficulty: RwSignal<Difficulty>,
    /// Multiple of the training context.
    pub extension: RwSignal<usize>,
    /// Tokens of the text, in place of the multiple.
    pub tokens: RwSignal<Option<usize>>,
    /// Whether a text of the reader's is read in place of one that is drawn.
    pub is_own: RwSignal<bool>,
    /// The reader's text.
    pub own_text: RwSignal<OwnText>,
    /// Depth of the needle, in percent.
    pub depth: RwSignal<u32>,
    /// Seed of the haystack.
    pub seed: RwSignal<u64>,
    /// Two to four methods, side by side.
    pub columns: RwSignal<Vec<Column>>,
    /// Owns the columns' signals: one that is made by a button of a list would end when the list is shown anew.
    pub owner: StoredValue<Owner>,
    /// Which backend was asked for.
    pub backend_choice: RwSignal<BackendChoice>,
    /// Where the models compute.
    pub engine: RwSignal<Engine>,
    /// Weights on their way.
    pub loading: RwSignal<Option<Download>>,
    /// What went wrong.
    pub error: RwSignal<Option<String>>,
    /// What went wrong with a model of the reader's.
    pub model_error: RwSignal<Option<String>>,
    /// Number of the last run.
    pub run: RwSignal<u32>,
    /// What runs now.
    pub running: RwSignal<Option<Running>>,
    /// The question that was asked last.
    pub asked: RwSignal<Option<Asked>>,
    /// Whether the run that was begun last is about a text of the reader's.
    pub asks_own: RwSignal<bool>,
    /// Cells of the tables that were run here.
    pub counted: RwSignal<Vec<(CellKey, Counted)>>,
    /// Step of the tour, from 1; 0: there is none.
    pub tour: RwSignal<usize>,
    /// Whether the server has another version of this page.
    pub is_replaced: RwSignal<bool>,
    /// Whether the page is part of another, which shows one comparison.
    pub is_embedded: bool,
    /// Where the page is the benchmark (`?benchmark`).
    pub benchmark: Option<BenchmarkSize>,
    /// Threads of the CPU that the reader wants.
    pub threads: Option<usize>,
    /// Models that the browser keeps; none where it keeps nothing.
    pub stored: RwSignal<Option<Vec<StoredModel>>>,
    /// Models that have other weights now, or are asked in another form, under the same name.
    pub replaced: RwSignal<Vec<String>>,
    /// Recalibration in this tab.
    pub training: Training,
    /// Whether the zip of a model is being made: one at a time, since a worker has the whole of it in memory.
    pub is_exporting: RwSignal<bool>,
    /// Cells that are run after this one.
    pub queue: RwSignal<VecDeque<CellKey>>,
}

impl State {
    /// Puts these methods, as they are, side by side.
    pub fn compare(self, methods: &[Method]) {
        self.columns.set(self.new_columns(methods.iter().map(|&method| plain(method))));
    }

    /// Puts models of the study, each read with its method, side by side.
    pub fn compare_study(self, models: &[StudyModel]) {
        self.columns.set(self.new_columns(models.iter().map(|model| model.reading())));
    }

    /// Columns beside those that are there.
    pub fn new_columns(self, readings: impl Iterator<Item = Reading>) -> Vec<Column> {
        let next = self.columns.with_untracked(|columns| columns.iter().map(|column| column.key + 1).max());
        let columns = || (next.unwrap_or_default()..).zip(readings).map(|(key, reading)| Column::new(key, reading));
        self.owner.get_value().with(|| columns().collect())
    }

    /// How the columns read, from left to right.
    pub fn readings(self) -> Vec<Reading> {
        self.columns.get().into_iter().map(Column::reading).collect()
    }

    /// The column of a number, among those that are asked now.
    pub fn column(self, number: usize) -> Option<Column> {
        match self.running.get_untracked() {
            Some(Running::Story) => untrack(|| self.story.rows()).get(number).copied(),
            Some(Running::Dial | Running::DialProbe) => self.dial.columns().get(number).copied(),
            _ => self.columns.with_untracked(|columns| columns.get(number).copied()),
        }
    }

    /// What was counted of a cell in this tab.
    pub fn counted(self, key: &CellKey) -> Option<Counted> {
        self.counted.with(|counted| counted.iter().find(|(known, _)| known == key).map(|&(_, counted)| counted))
    }

    /// Keeps what was counted of a cell.
    pub fn count(self, key: CellKey, counted: Counted) {
        self.counted.update(|all| {
            all.retain(|(known, _)| *known != key);
            all.push((key, counted));
        });
    }

    /// Chooses a kind of questions.
    pub fn ask_about(self, QuestionKind { task, values, filler, difficulty }: QuestionKind) {
        self.task.set(task);
        self.values.set(values);
        self.filler.set(filler);
        self.difficulty.set(difficulty);
    }

    /// The kind of questions that was chosen.
    pub fn kind(self) -> QuestionKind {
        QuestionKind {
            task: self.task.get(),
            values: self.values.get(),
            filler: self.filler.get(),
            difficulty: self.difficulty.get(),
        }
    }

    /// Chooses a short text first where a model has a long context, of which a multiple would take minutes.
    pub fn ask_shortly(self, context: usize) {
        if context >= FIRST_TOKENS && self.tokens.with_untracked(Option::is_none) {
            self.tokens.set(Some(FIRST_TOKENS));
        }
    }

    /// The question as chosen.
    pub fn prompt(self) -> Prompt {
        if self.is_own.get() {
            return Prompt::Own(self.own_text.get());
        }
        let contexts = Length::Contexts(self.extension.get());
        Prompt::Drawn(Question {
            kind: self.kind(),
            length: self.tokens.get().map_or(contexts, Length::Tokens),
            seed: self.seed.get(),
        })
    }

    /// The model of the reader's that a column reads with, if it does.
    pub fn kept_of(self, column: Column) -> Option<StoredModel> {
        self.stored_model(&column.model.get()?)
    }

    /// Training context of a column's model.
    pub fn context_of(self, column: Column) -> usize {
        self.kept_of(column).map_or(self.story.context(), |model| model.context)
    }

    /// What is known of a model that the browser keeps.
    pub fn stored_model(self, name: &str) -> Option<StoredModel> {
        self.stored.with(|models| models.as_ref()?.iter().find(|model| model.name == name).cloned())
    }
}
