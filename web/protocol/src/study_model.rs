//! Models of the study that the page has beside those of the methods.

use drope_core::positions::{Method, Parameters};

use super::Reading;

/// A model of the study (docs/study.md): all come from one pretraining and had the same budget.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StudyModel {
    /// Its folder in `models/`, and its name in a [`Reading`].
    pub name: &'static str,
    /// What it is called in the study's figure.
    pub title: &'static str,
    /// What was done to it.
    pub explanation: &'static str,
    /// The method that it was trained for; for a model with RoPE the method that reads it best in the study.
    pub method: Method,
}

impl StudyModel {
    /// DroPE as in the paper.
    pub const DROPE: Self = Self {
        name: "study-drope",
        title: "DroPE",
        explanation: "No positions at all: removed after training, then recalibrated within the training context, as in the paper.",
        method: Method::Drope,
    };
    /// DroPE, recalibrated with copies.
    pub const DROPE_COPIES: Self = Self {
        name: "study-drope-copies",
        title: "DroPE with copies",
        explanation: "No positions at all: removed after training, then recalibrated within the training context, where filler counts as \
            many copies of itself (ours).",
        method: Method::Drope,
    };
    /// Partial DroPE, recalibrated with copies.
    pub const P_DROPE_COPIES: Self = Self {
        name: "study-p-drope-copies",
        title: "partial DroPE with copies",
        explanation: "Frequencies that turn less than once in the training context removed after training, then recalibrated as DroPE with \
            copies; positions skip as far as the copies would reach.",
        method: Method::PDrope,
    };
    /// RoPE that trained on with copies.
    pub const ROPE_COPIES: Self = Self {
        name: "study-rope-copies",
        title: "RoPE with copies",
        explanation: "Positions kept, and trained on as long and on the same texts as DroPE with copies; positions skip as far as the copies \
            would reach.",
        method: Method::DynamicNtk,
    };

    /// RoPE that trained on without copies.
    pub const ROPE: Self = Self {
        name: "study-rope",
        title: "RoPE",
        explanation: "Positions kept, and trained on as long and on the same texts as DroPE.",
        method: Method::Rope,
    };

    /// All that the page has.
    pub const ALL: [Self; 5] = [Self::P_DROPE_COPIES, Self::DROPE_COPIES, Self::ROPE_COPIES, Self::DROPE, Self::ROPE];

    /// The one of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|model| model.name == name)
    }

    /// The model read with its method.
    pub fn reading(self) -> Reading {
        Reading { model: Some(self.name.to_owned()), method: self.method, parameters: Parameters::default() }
    }
}
