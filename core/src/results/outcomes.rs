//! The outcome of every question of a cell, so that methods can be compared question by question.

use std::fmt::Write;

use serde::{Deserialize, Serialize};

use super::Shard;
use crate::error::Error;

/// Which questions were answered exactly, in the order of the questions.
///
/// As text their number and, four to a hexadecimal digit, their bits, the first question's the highest: `6:a4` is right,
/// wrong, right, wrong, wrong, right.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Outcomes(Vec<bool>);

impl Outcomes {
    /// Adds the outcome of the next question.
    pub fn push(&mut self, is_exact: bool) {
        self.0.push(is_exact);
    }

    /// The outcomes, in the order of the questions.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = bool> {
        self.0.iter().copied()
    }

    /// Questions answered exactly.
    pub fn count(&self) -> usize {
        self.iter().filter(|&is_exact| is_exact).count()
    }

    /// Joins the outcomes of all shards; `None` if outcomes are missing.
    pub(super) fn join(shards: &[(Shard, Option<Self>)]) -> Option<Self> {
        let trials = shards.iter().map(|(_, outcomes)| outcomes.as_ref().map_or(0, |outcomes| outcomes.0.len())).sum();
        let mut joined = vec![None; trials];
        for (shard, outcomes) in shards {
            for (trial, is_exact) in shard.trials(trials).zip(outcomes.as_ref()?.iter()) {
                joined[trial] = Some(is_exact);
            }
        }
        joined.into_iter().collect::<Option<_>>().map(Self)
    }
}

impl FromIterator<bool> for Outcomes {
    fn from_iter<I: IntoIterator<Item = bool>>(outcomes: I) -> Self {
        Self(outcomes.into_iter().collect())
    }
}

impl From<Outcomes> for String {
    fn from(outcomes: Outcomes) -> Self {
        let mut text = format!("{}:", outcomes.0.len());
        for four in outcomes.0.chunks(4) {
            let bits = four.iter().enumerate().map(|(at, &is_exact)| u8::from(is_exact) << (3 - at)).sum::<u8>();
            // Writing to a text cannot fail.
            let _ = write!(text, "{bits:x}");
        }
        text
    }
}

impl TryFrom<String> for Outcomes {
    type Error = Error;

    fn try_from(text: String) -> Result<Self, Error> {
        let damaged = || Error::DamagedResults(format!("{text:?} are not the outcomes of a number of questions"));
        let (questions, digits) = text.split_once(':').ok_or_else(damaged)?;
        let questions: usize = questions.parse().map_err(|_| damaged())?;
        let bits: Option<Vec<u32>> = digits.chars().map(|digit| digit.to_digit(16)).collect();
        let bits = bits.filter(|bits| bits.len() == questions.div_ceil(4)).ok_or_else(damaged)?;
        Ok((0..questions).map(|trial| bits[trial / 4] >> (3 - trial % 4) & 1 == 1).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::Outcomes;
    use crate::results::Shard;

    fn outcomes(n: usize) -> Outcomes {
        (0..n).map(|trial| trial % 3 == 0 || trial % 7 == 1).collect()
    }

    #[test]
    fn the_text_gives_the_outcomes_back() {
        let six: Outcomes = [true, false, true, false, false, true].into_iter().collect();
        assert_eq!((String::from(six.clone()), six.count()), ("6:a4".to_owned(), 3));
        for n in [0, 1, 3, 4, 5, 500] {
            assert_eq!(Outcomes::try_from(String::from(outcomes(n))).unwrap(), outcomes(n));
        }
        for damaged in ["", "6", "6:a", "6:a44", "6:ag", "x:a4"] {
            assert!(Outcomes::try_from(damaged.to_owned()).is_err(), "{damaged}");
        }
    }

    #[test]
    fn shards_join_in_the_order_of_the_questions() {
        let whole = outcomes(50);
        for of in [1, 2, 7, 16] {
            let shard = |index| Shard { index, of };
            let part = |index| shard(index).trials(50).map(|trial| whole.0[trial]).collect();
            let parts: Vec<_> = (0..of).rev().map(|index| (shard(index), Some(part(index)))).collect();
            assert_eq!(Outcomes::join(&parts), Some(whole.clone()));
            assert_eq!(Outcomes::join(&[&parts[..], &[(shard(0), None)]].concat()), None);
        }
    }
}
