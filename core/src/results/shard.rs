//! Parts of a cell's questions that are measured apart, and how they become one cell again.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::{CellHeader, Outcomes, ResultCell, RetrievalCell};
use crate::error::{Error, Result};

/// The questions `index`, `index + of`, `index + 2·of` … of a cell, counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Shard {
    /// From 0.
    pub index: usize,
    /// Parts.
    pub of: usize,
}

impl Shard {
    /// The whole cell, as one shard.
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

/// Joins the shards of each cell; the totals equal those of a run without shards.
///
/// # Errors
/// If a shard of a cell is missing, occurs twice, has another number of questions, or is beside a result of the whole
/// cell.
pub fn merge(cells: Vec<RetrievalCell>) -> Result<Vec<RetrievalCell>> {
    let mut merged: Vec<Joined> = Vec::new();
    for mut cell in cells {
        // No run asks more questions than this, so the file is damaged.
        let is_possible = cell.correct <= cell.trials && cell.trials <= u32::MAX as usize;
        if !is_possible || !(0.0..=1.0).contains(&cell.string_match) {
            return Err(Error::DamagedResults(
                "a cell has more right answers than questions, or matches that are no share".into(),
            ));
        }
        let shard = cell.shard.unwrap_or(Shard::WHOLE);
        let outcomes = (shard, cell.outcomes.take());
        let (part, matched) = ((shard, cell.trials), cell.string_match * cell.trials as f64);
        match merged.iter_mut().find(|known| known.cell.same_measurement(&cell)) {
            Some(known) => {
                known.cell.trials += cell.trials;
                known.cell.correct += cell.correct;
                known.matched += matched;
                known.parts.push(part);
                known.outcomes.push(outcomes);
            }
            None => merged.push(Joined { cell, parts: vec![part], outcomes: vec![outcomes], matched }),
        }
    }
    merged.into_iter().map(Joined::whole).collect()
}

/// The shards of a cell so far.
struct Joined {
    /// The cell, with the summed counts of these shards.
    cell: RetrievalCell,
    /// Shards and their numbers of questions.
    parts: Vec<(Shard, usize)>,
    /// Outcomes of the questions of each shard.
    outcomes: Vec<(Shard, Option<Outcomes>)>,
    /// Sum of the string matches of all questions.
    matched: f64,
}

impl Joined {
    fn whole(mut self) -> Result<RetrievalCell> {
        self.parts.sort_unstable();
        // If a result of the whole cell and shards of it are mixed, `of` is wrong for some parts, and the comparison
        // below fails.
        let of = self.parts[0].0.of;
        let shards = (0..of).map(|index| Shard { index, of });
        if self.parts.iter().copied().eq(shards.map(|shard| (shard, shard.trials(self.cell.trials).count()))) {
            let outcomes = Outcomes::join(&self.outcomes);
            return Ok(RetrievalCell { shard: None, outcomes, ..self.cell }.recomputed(self.matched));
        }
        let part = |(shard, trials): &(Shard, usize)| match *shard {
            Shard::WHOLE => format!("all of {trials} questions"),
            Shard { index, of } => format!("{}/{of} of {trials} questions", index + 1),
        };
        let CellHeader { model, method, extension, .. } = &self.cell.header;
        let RetrievalCell { task, values, .. } = &self.cell;
        Err(Error::Shards {
            cell: format!("{model} {} {} {} {extension}x", method.name(), task.name(), values.name()),
            found: self.parts.iter().map(part).collect::<Vec<_>>().join(", "),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Shard, merge};
    use crate::results::RetrievalCell;

    fn cell(correct: &[bool], shard: Shard) -> RetrievalCell {
        let asked: Vec<bool> = shard.trials(correct.len()).map(|trial| correct[trial]).collect();
        let right = asked.iter().filter(|&&right| right).count();
        let shard = (shard != Shard::WHOLE).then_some(shard);
        let outcomes = Some(asked.iter().copied().collect());
        let cell = RetrievalCell { trials: asked.len(), correct: right, shard, outcomes, ..RetrievalCell::example() };
        // Thirds do not add up exactly.
        cell.recomputed(right as f64 / 3.0)
    }

    #[test]
    fn shards_add_up_to_the_whole() {
        let correct: Vec<bool> = (0..50).map(|trial| trial % 3 == 0 || trial % 7 == 1).collect();
        let whole = cell(&correct, Shard::WHOLE);
        for of in [1, 2, 7, 16] {
            let shards = (1..=of).rev().map(|n| cell(&correct, format!("{n}/{of}").parse().unwrap()));
            let joined = &merge(shards.collect()).unwrap()[0];
            assert_eq!((joined.correct, &joined.outcomes), (whole.correct, &whole.outcomes));
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
        let error = merge(vec![cell(&correct, Shard::WHOLE), shard(0), shard(1), shard(2)]).unwrap_err().to_string();
        assert!(error.contains("all of 9 questions, 1/3 of 3"), "{error}");
        for bad in ["", "3", "0/3", "4/3", "a/b", "1/0"] {
            assert!(bad.parse::<Shard>().is_err(), "{bad}");
        }
    }
}
