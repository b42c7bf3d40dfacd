//! The four hypotheses of docs/protocol.md: differences in retention, their intervals and corrected p-values.

use drope_core::results::{ResultCell, RetrievalCell};
use drope_core::stats::{BootstrapInterval, PairedMeans, PairedOutcomes, holm, paired_bootstrap};

use super::models::{RUNS, ReadRun, TRUNKS};
use super::questions::{LENGTHS, PRIMARY};
use super::rows::StudyResults;
use super::verdict::{HypothesisVerdict, Untested, judge};

pub const RESAMPLES: usize = 10_000;
pub const RANDOM_SEED: u64 = 1;

/// Runs that are compared, and whether the second is read at its best.
const PAIRS: [([&str; 2], bool); 4] = [
    (["all-copies", "keep-copies"], true),
    (["low-copies", "keep-copies"], true),
    (["all", "keep"], true),
    (["all", "yarn"], false),
];

/// What a trunk says of a hypothesis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TrunkPart {
    /// First less second in retention.
    Enters(f64),
    /// One of its models fails the gate.
    BelowThreshold,
    /// One of its eight runs is not measured at all four lengths.
    Incomplete,
    /// The two readings are not measured on the same questions, with their outcomes.
    NotPaired,
}

/// A hypothesis and what was found.
pub struct HypothesisTest {
    /// From 1.
    pub number: usize,
    /// First and second; as it is or at its best. The second is read plainly where nothing was chosen for it.
    pub sides: [ReadRun; 2],
    /// Each trunk's part.
    pub trunks: Vec<(usize, TrunkPart)>,
    /// Of the mean difference in retention; `None` where it is not tested.
    pub interval: Option<BootstrapInterval>,
    /// Of the mean difference in accuracy over 2×, 4× and 8×, in the same trunks. The protocol names no test of it; it stands beside retention,
    /// which hides what a model loses at 1×.
    pub plain: Option<BootstrapInterval>,
    /// Corrected over the four.
    pub p_holm: Option<f64>,
    pub verdict: HypothesisVerdict,
}

impl HypothesisTest {
    /// Differences of the trunks that enter.
    pub fn differences(&self) -> Vec<f64> {
        let difference = |part: &TrunkPart| if let TrunkPart::Enters(value) = part { Some(*value) } else { None };
        self.trunks.iter().filter_map(|(_, part)| difference(part)).collect()
    }
}

/// All four.
pub fn test_all(results: &StudyResults) -> Vec<HypothesisTest> {
    let mut tests: Vec<HypothesisTest> =
        PAIRS.iter().zip(1..).map(|(&(runs, at_best), number)| test(results, number, runs, at_best)).collect();
    // One that is not tested counts as one that shows nothing, so that the correction is always over four.
    let p_values: Vec<f64> = tests.iter().map(|test| test.interval.map_or(1.0, |interval| interval.p_value)).collect();
    for (test, corrected) in tests.iter_mut().zip(holm(&p_values)) {
        let Some(interval) = test.interval else { continue };
        test.p_holm = Some(corrected);
        test.verdict = judge(&interval, corrected, &test.differences());
    }
    tests
}

/// How a run is read in the comparisons: as was chosen on the selection split, else plainly.
pub fn compared(results: &StudyResults, run: &str) -> ReadRun {
    results.at_its_best(run).unwrap_or_else(|| ReadRun::plain(run))
}

fn test(results: &StudyResults, number: usize, runs: [&str; 2], at_best: bool) -> HypothesisTest {
    let sides = runs.map(|run| compared(results, run));
    let mut paired: Vec<PairedOutcomes> = Vec::new();
    let mut part = |trunk: usize| {
        if !is_complete(results, trunk) {
            return TrunkPart::Incomplete;
        }
        match outcomes(results, &sides, trunk) {
            Err(part) => part,
            Ok(outcomes) => {
                let difference = PairedMeans::of(&outcomes).relative_difference();
                paired.push(outcomes);
                TrunkPart::Enters(difference)
            }
        }
    };
    let trunks: Vec<(usize, TrunkPart)> = TRUNKS.map(|trunk| (trunk, part(trunk))).collect();
    let is_chosen = !at_best || results.at_its_best(runs[1]).is_some();
    let (untested, is_tested) = match paired.len() {
        _ if !is_chosen => (Untested::NothingChosen, false),
        0..3 => (Untested::TooFewTrunks, false),
        _ => (Untested::QuestionsDiffer, true),
    };
    let bootstrap = |statistic: fn(&PairedMeans) -> f64| {
        is_tested.then(|| paired_bootstrap(&paired, statistic, RESAMPLES, RANDOM_SEED)).flatten()
    };
    let interval = bootstrap(PairedMeans::relative_difference);
    let plain = bootstrap(plain_difference);
    let verdict = HypothesisVerdict::NotTested(untested);
    HypothesisTest { number, sides, trunks, interval, plain, p_holm: None, verdict }
}

/// First less second, of the mean over all lengths but the first.
fn plain_difference(PairedMeans(means): &PairedMeans) -> f64 {
    let beyond = &means[1..];
    beyond.iter().map(|[first, second]| first - second).sum::<f64>() / beyond.len() as f64
}

/// Whether all eight runs of a trunk are measured on the primary task, in some reading.
fn is_complete(results: &StudyResults, trunk: usize) -> bool {
    let readings = results.read_runs(&PRIMARY);
    let is_measured = |read: &ReadRun| LENGTHS.iter().all(|&s| results.cell(read, trunk, &PRIMARY, s).is_some());
    RUNS.iter().all(|run| readings.iter().any(|read| read.run == *run && is_measured(read)))
}

/// What both sides answered, length by length; or why they cannot be compared.
fn outcomes(results: &StudyResults, sides: &[ReadRun; 2], trunk: usize) -> Result<PairedOutcomes, TrunkPart> {
    let mut outcomes = PairedOutcomes::new();
    let mut is_behind = false;
    for extension in LENGTHS {
        let cells = sides.each_ref().map(|side| results.cell(side, trunk, &PRIMARY, extension));
        let [Some(first), Some(second)] = cells else { return Err(TrunkPart::NotPaired) };
        for cell in [first, second] {
            is_behind |= !results.passes_threshold(cell).ok_or(TrunkPart::NotPaired)?;
        }
        let answers = answers(first, second).ok_or(TrunkPart::NotPaired)?;
        outcomes.push(answers.into_iter().map(|pair| pair.map(|is_right| f64::from(u8::from(is_right)))).collect());
    }
    if is_behind { Err(TrunkPart::BelowThreshold) } else { Ok(outcomes) }
}

/// Question by question, whether each was right; `None` where they were not asked the same ones, or it is not recorded.
pub fn answers(first: &RetrievalCell, second: &RetrievalCell) -> Option<Vec<[bool; 2]>> {
    let (a, b) = (first.outcomes.as_ref()?, second.outcomes.as_ref()?);
    let is_same = first.same_question(second) && a.iter().len() == b.iter().len();
    is_same.then(|| a.iter().zip(b.iter()).map(|(first, second)| [first, second]).collect())
}

#[cfg(test)]
mod tests;
