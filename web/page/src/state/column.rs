//! A column: a method that reads the text, and what came of it.

use std::ops::RangeInclusive;

use drope_core::positions::{Method, Parameters};
use drope_core::probe::HeadProbe;
use drope_protocol::Reading;
use leptos::prelude::*;

/// A method that reads the text, and what came of it.
#[derive(Clone, Copy)]
pub struct Column {
    /// Identifies the column as long as it exists.
    pub key: usize,
    /// A model of the study or of the reader's, in place of the one that the page shows the method with.
    pub model: RwSignal<Option<String>>,
    /// The method.
    pub method: RwSignal<Method>,
    /// What was chosen in place of the method's own values.
    pub parameters: RwSignal<Parameters>,
    /// Its answer.
    pub answer: RwSignal<Answer>,
    /// What its heads did.
    pub probe: RwSignal<Option<ProbedHeads>>,
    /// How well it predicts the text.
    pub predicted: RwSignal<Option<Predicted>>,
}

/// Fewest and most columns.
pub const COLUMNS: RangeInclusive<usize> = 2..=4;

/// One column's answer.
#[derive(Clone, Default, PartialEq)]
pub struct Answer {
    /// Tokens of the prompt that were read.
    pub read: usize,
    /// How many are read in all.
    pub total: usize,
    /// How many its first piece had, and when it was read, by the page's clock in milliseconds.
    pub began: Option<(usize, f64)>,
    /// Text so far.
    pub text: String,
    /// Exactness and speeds, once done.
    pub finished: Option<Finished>,
}

/// What the heads of a column did.
#[derive(Clone, PartialEq)]
pub struct ProbedHeads {
    /// How it read.
    pub reading: Reading,
    /// Extension factor.
    pub extension: f64,
    /// Layer after layer.
    pub heads: Vec<HeadProbe>,
    /// Where each token of the prompt ends in its text, in bytes.
    pub ends: Vec<u32>,
}

/// How well a column predicts the text.
#[derive(Clone, PartialEq)]
pub struct Predicted {
    /// How it read.
    pub reading: Reading,
    /// Mean cross entropy of equal parts of the text, in nats.
    pub losses: Vec<f32>,
    /// The same of the model in windows of its training context.
    pub cropped: Vec<f32>,
}

/// How an answer ended.
#[derive(Clone, Copy, PartialEq)]
pub struct Finished {
    /// Whether the answer is right; `None` if no expected answer is given.
    pub is_right: Option<bool>,
    /// Tokens of the prompt a second.
    pub prefill: f64,
    /// Generated tokens a second.
    pub decode: f64,
}

/// A method with its own parameters.
pub fn plain(method: Method) -> Reading {
    Reading { model: None, method, parameters: Parameters::default() }
}

impl Answer {
    /// Name of the outcome in the style sheet; empty where there is none.
    pub fn verdict(&self) -> &'static str {
        match self.finished.and_then(|finished| finished.is_right) {
            Some(true) => "right",
            Some(false) => "wrong",
            None => "",
        }
    }
}

impl Column {
    /// Deletes the results of the previous reading.
    pub fn clear(self) {
        self.answer.set(Answer::default());
        self.probe.set(None);
        self.predicted.set(None);
    }

    /// A column without results.
    pub fn new(key: usize, Reading { model, method, parameters }: Reading) -> Self {
        Self {
            key,
            model: RwSignal::new(model),
            method: RwSignal::new(method),
            parameters: RwSignal::new(parameters),
            answer: RwSignal::default(),
            probe: RwSignal::default(),
            predicted: RwSignal::default(),
        }
    }

    /// How it reads.
    pub fn reading(self) -> Reading {
        Reading { model: self.model.get(), method: self.method.get(), parameters: self.parameters.get() }
    }
}
