//! The format of results files: what `core eval niah` writes, and the page and the README's table read.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::language::Values;
use crate::niah::{Filler, Task};
use crate::positions::Method;
use crate::stats::wilson;

/// One cell of a table: a model read with a method, on a task, at a length.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// Name of the model's folder.
    pub model: String,
    /// Position method.
    pub method: Method,
    /// Task.
    pub task: Task,
    /// Kind of values.
    pub values: Values,
    /// s.
    pub extension: usize,
    /// s·C tokens: prompt and answer.
    pub context: usize,
    /// Questions asked.
    pub trials: usize,
    /// Exact matches.
    pub correct: usize,
    /// Share of exact matches.
    pub accuracy: f64,
    /// RULER's score, 0 to 1.
    pub string_match: f64,
    /// Wilson's interval of the accuracy.
    pub ci95: [f64; 2],
    /// Seed of the questions.
    pub seed: u64,
    /// Temperature of the logits.
    pub beta: f64,
    /// Cut of a partial drop, where another than the model's own was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut: Option<f64>,
    /// Where the needle that is asked for was put, if not at random.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub depth: Option<f64>,
    /// What the needles were hidden in, if not what the task's authors use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filler: Option<Filler>,
    /// Attention-sink tokens behind each needle that is asked for.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub sinks: usize,
    /// The heads that DoPE treats.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heads: Option<String>,
    /// What the model and its reading are; empty in results from before there was one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub fingerprint: String,
    /// Which of the questions were asked, if not all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<Shard>,
}

/// The questions `index`, `index + of`, `index + 2·of` … of a cell, counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Shard {
    /// From 0.
    pub index: usize,
    /// Parts.
    pub of: usize,
}

impl Shard {
    /// The only part of a cell that is not shared out.
    pub const WHOLE: Self = Self { index: 0, of: 1 };

    /// The questions of this part, of `trials` in all.
    pub fn trials(self, trials: usize) -> impl Iterator<Item = usize> {
        (self.index..trials).step_by(self.of)
    }
}

impl FromStr for Shard {
    type Err = Error;

    /// `3/16` is the third of sixteen.
    fn from_str(text: &str) -> Result<Self> {
        let numbers = text.split_once('/').and_then(|(n, of)| Some((n.parse().ok()?, of.parse().ok()?)));
        match numbers {
            Some((n, of)) if (1..=of).contains(&n) => Ok(Self { index: n - 1, of }),
            _ => Err(Error::Shard(text.to_owned())),
        }
    }
}

/// Joins the shards of each cell; the totals are those of a run that was not shared out.
///
/// # Errors
/// If a shard of a cell is missing, there twice, or of another number of questions.
pub fn merge(cells: Vec<Cell>) -> Result<Vec<Cell>> {
    let mut merged: Vec<Joined> = Vec::new();
    for cell in cells {
        let shard = cell.shard.unwrap_or(Shard::WHOLE);
        let (part, matched) = ((shard, cell.trials), cell.string_match * cell.trials as f64);
        match merged.iter_mut().find(|known| known.cell.is_of(&cell) && known.parts[0].0.of == shard.of) {
            Some(known) => {
                known.cell.trials += cell.trials;
                known.cell.correct += cell.correct;
                known.matched += matched;
                known.parts.push(part);
            }
            None => merged.push(Joined { cell, parts: vec![part], matched }),
        }
    }
    merged.into_iter().map(Joined::whole).collect()
}

/// The shards of a cell so far.
struct Joined {
    /// With the counts of all of them.
    cell: Cell,
    /// Shards and their numbers of questions.
    parts: Vec<(Shard, usize)>,
    /// Sum of the string matches of all questions.
    matched: f64,
}

impl Joined {
    fn whole(mut self) -> Result<Cell> {
        self.parts.sort_unstable();
        let of = self.parts[0].0.of;
        let shards = (0..of).map(|index| Shard { index, of });
        if self.parts.iter().copied().eq(shards.map(|shard| (shard, shard.trials(self.cell.trials).count()))) {
            return Ok(Cell { shard: None, ..self.cell }.scored(self.matched));
        }
        let part = |(shard, trials): &(Shard, usize)| format!("{}/{of} of {trials} questions", shard.index + 1);
        let Cell { model, method, task, values, extension, .. } = &self.cell;
        Err(Error::Shards {
            cell: format!("{model} {} {} {} {extension}x", method.name(), task.name(), values.name()),
            found: self.parts.iter().map(part).collect::<Vec<_>>().join(", "),
        })
    }
}

impl Cell {
    /// Whether the other is of the same questions, read in the same way, up to shard and number of trials.
    pub fn is_of(&self, other: &Self) -> bool {
        // What was counted does not matter, all that was asked for does.
        let asked = |cell: &Self| Self { trials: 0, correct: 0, shard: None, ..cell.clone() }.scored(0.0);
        asked(self) == asked(other)
    }

    /// The same with accuracy, interval and string match computed from its counts; `matched` is the sum of the string
    /// matches of all questions.
    #[must_use]
    pub fn scored(self, matched: f64) -> Self {
        let trials = self.trials.max(1) as f64;
        Self {
            accuracy: self.correct as f64 / trials,
            ci95: wilson(self.correct, self.trials).map(rounded),
            beta: rounded(self.beta),
            cut: self.cut.map(rounded),
            // In fixed steps, so that the order of summing leaves no trace.
            string_match: (matched * 1e6).round() / 1e6 / trials,
            ..self
        }
    }
}

/// In steps of 1e-9: short enough that a file read and written again is the same file.
pub fn rounded(value: f64) -> f64 {
    (value * 1e9).round() / 1e9
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

#[cfg(test)]
mod tests {
    use super::{Cell, Shard, merge};
    use crate::language::Values;
    use crate::niah::Task;
    use crate::positions::Method;

    fn cell(correct: &[bool], shard: Shard) -> Cell {
        let asked: Vec<bool> = shard.trials(correct.len()).map(|trial| correct[trial]).collect();
        let right = asked.iter().filter(|&&right| right).count();
        let cell = Cell {
            model: "m".into(),
            method: Method::Drope,
            task: Task::Single,
            values: Values::Words,
            extension: 2,
            context: 512,
            trials: asked.len(),
            correct: right,
            accuracy: 0.0,
            string_match: 0.0,
            ci95: [0.0, 0.0],
            seed: 1,
            beta: 1.0,
            cut: None,
            depth: None,
            filler: None,
            sinks: 0,
            heads: None,
            fingerprint: String::new(),
            shard: (shard != Shard::WHOLE).then_some(shard),
        };
        // Thirds do not add up exactly.
        cell.scored(right as f64 / 3.0)
    }

    #[test]
    fn shards_add_up_to_the_whole() {
        let correct: Vec<bool> = (0..50).map(|trial| trial % 3 == 0 || trial % 7 == 1).collect();
        let whole = cell(&correct, Shard::WHOLE);
        for of in [1, 2, 7, 16] {
            let shards = (1..=of).rev().map(|n| cell(&correct, format!("{n}/{of}").parse().unwrap()));
            assert_eq!(merge(shards.collect()).unwrap()[0].correct, whole.correct);
            let merged = merge((0..of).map(|index| cell(&correct, Shard { index, of })).collect()).unwrap();
            assert_eq!(merged.len(), 1);
            assert!((merged[0].string_match - whole.string_match).abs() < 1e-6);
            assert_eq!(
                (merged[0].trials, merged[0].accuracy, merged[0].ci95, merged[0].shard),
                (50, whole.accuracy, whole.ci95, None)
            );
        }
    }

    #[test]
    fn missing_and_doubled_shards_are_named() {
        let correct = [true; 9];
        let shard = |index| cell(&correct, Shard { index, of: 3 });
        let error = merge(vec![shard(0), shard(2)]).unwrap_err().to_string();
        assert!(error.contains("1/3 of 3 questions, 3/3 of 3 questions"), "{error}");
        let longer = cell(&[true; 30], Shard { index: 1, of: 3 });
        assert!(merge(vec![shard(0), longer, shard(2)]).is_err(), "shards of 9 and of 30 questions");
        assert!(merge(vec![shard(0), shard(1), shard(1), shard(2)]).is_err());
        for bad in ["", "3", "0/3", "4/3", "a/b", "1/0"] {
            assert!(bad.parse::<Shard>().is_err(), "{bad}");
        }
    }
}
