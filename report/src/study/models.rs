//! The models of the study: its runs and trunks, and how each is read.

use std::ops::RangeInclusive;

use drope_core::positions::{Method, Parameters};
use drope_core::results::RetrievalCell;
use serde::Serialize;

/// Pretraining seeds.
pub const TRUNKS: RangeInclusive<usize> = 1..=5;

/// The pretraining itself.
pub const TRUNK: &str = "rope";

/// Runs from each trunk, in the order of the plan.
pub const RUNS: [&str; 8] = ["all-copies", "keep-copies", "low-copies", "all", "keep", "low", "yarn", "pi"];

/// Runs from trunk 1 alone.
pub const ABLATION: [&str; 6] =
    ["all-copies-ssmax", "keep-copies-ssmax", "low-copies-ssmax", "all-ssmax", "keep-ssmax", "low-ssmax"];

/// Run and trunk of a model: `all-copies-3` is the run all-copies from trunk 3.
pub fn run_and_trunk(model: &str) -> Option<(&str, usize)> {
    let (run, trunk) = model.rsplit_once('-')?;
    Some((run, trunk.parse().ok().filter(|trunk| TRUNKS.contains(trunk))?))
}

/// What a run is called in sentences.
pub fn title(run: &str) -> String {
    let (run, ssmax) = run.strip_suffix("-ssmax").map_or((run, ""), |run| (run, ", SSMax"));
    let (kind, copies) = run.strip_suffix("-copies").map_or((run, ""), |kind| (kind, " with copies"));
    let kind = match kind {
        "all" => "DroPE",
        "low" => "partial DroPE",
        "keep" => "RoPE",
        "yarn" => "YaRN, trained further",
        "pi" => "PI, trained further",
        TRUNK => "the trunk",
        other => other,
    };
    format!("{kind}{copies}{ssmax}")
}

/// How a model is read: method, and parameters in place of its own.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StudyReading {
    pub method: Method,
    #[serde(skip_serializing_if = "Parameters::is_empty")]
    pub parameters: Parameters,
}

impl StudyReading {
    /// As the config of the run asks for, without parameters.
    pub fn plain(run: &str) -> Self {
        let method = match run.split('-').next() {
            Some("all") => Method::Drope,
            Some("low") => Method::PDrope,
            Some("yarn") => Method::Yarn,
            Some("pi") => Method::Pi,
            _ => Method::Rope,
        };
        Self { method, parameters: Parameters::default() }
    }

    pub fn of(cell: &RetrievalCell) -> Self {
        Self { method: cell.method, parameters: cell.parameters.clone() }
    }

    /// `YaRN, beta_fast=16`
    pub fn text(&self) -> String {
        let parameters = if self.parameters.is_empty() { String::new() } else { format!(", {}", self.parameters) };
        format!("{}{parameters}", self.method.title())
    }

    /// In sentences, whose readers know no names of settings: `YaRN, tuned`.
    pub fn in_words(&self) -> String {
        let settings = if self.parameters.is_empty() { "" } else { ", tuned" };
        format!("{}{settings}", self.method.title())
    }

    /// The order of tables: that of the methods, each without parameters first.
    pub fn place(&self) -> (usize, String) {
        let place = Method::ALL.iter().position(|&method| method == self.method);
        (place.unwrap_or(Method::ALL.len()), self.parameters.to_string())
    }
}

/// The models of a run, one a trunk, and how they are read.
#[derive(Clone, Debug, PartialEq)]
pub struct ReadRun {
    pub run: String,
    pub reading: StudyReading,
}

impl ReadRun {
    pub fn plain(run: &str) -> Self {
        Self { run: run.to_owned(), reading: StudyReading::plain(run) }
    }

    /// `RoPE with copies (read with YaRN, beta_fast=16)`
    pub fn text(&self) -> String {
        self.read_with(&self.reading.text())
    }

    /// The same in sentences: `RoPE with copies (read with YaRN, tuned)`
    pub fn in_words(&self) -> String {
        self.read_with(&self.reading.in_words())
    }

    fn read_with(&self, reading: &str) -> String {
        if self.reading == StudyReading::plain(&self.run) {
            return title(&self.run);
        }
        format!("{} (read with {reading})", title(&self.run))
    }
}

#[cfg(test)]
mod tests {
    use drope_core::positions::Method;

    use super::{StudyReading, run_and_trunk, title};

    #[test]
    fn names_of_models_say_run_and_trunk() {
        assert_eq!(run_and_trunk("all-copies-3"), Some(("all-copies", 3)));
        assert_eq!(run_and_trunk("keep-copies-ssmax-1"), Some(("keep-copies-ssmax", 1)));
        assert_eq!((run_and_trunk("nano-rope"), run_and_trunk("rope-6"), run_and_trunk("rope")), (None, None, None));
        assert_eq!(title("low-copies-ssmax"), "partial DroPE with copies, SSMax");
        let methods =
            ["rope", "keep-copies", "all-ssmax", "low", "yarn", "pi"].map(|run| StudyReading::plain(run).method);
        assert_eq!(methods, [Method::Rope, Method::Rope, Method::Drope, Method::PDrope, Method::Yarn, Method::Pi]);
    }
}
