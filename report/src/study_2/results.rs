//! What was measured, and which reading of a run is its best.

use std::ops::RangeInclusive;

use drope_core::niah::QuestionSplit;
use drope_core::perplexity::PerplexityCell;
use drope_core::positions::Method;
use drope_core::results::{RetrievalCell, current};

use super::models::{FAR_SCALINGS, ModelName, SCALINGS, TRUNKS, plain, trunks_of};
use crate::study::{DECOYS, LATEST_VALUE, MULTI_KEY, OverTrunks, PRIMARY, REPEATED_DECOYS, StudyReading, StudyTask};

/// Of the evaluation's questions, and of the selection split's.
const EVALUATION_SEED: u64 = 33_000;
const SELECTION_SEED: u64 = 34_000;

/// Extension factors of sections 1 and 2 at which runs are judged, and of section 3.
pub const NEAR: [usize; 3] = [2, 4, 8];
pub const FAR: [usize; 3] = [16, 32, 64];

/// Those of section 3 at which rivals and readings are chosen.
pub const FAR_SELECTION: [usize; 2] = [16, 32];

/// Questions a length that the protocol asks of section 3.
pub const FAR_QUESTIONS: usize = 300;

/// Sums of the same scores in another order differ in their last bits.
pub const TIE: f64 = 1e-9;

/// What is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    Primary,
    Decoys,
    RepeatedDecoys,
    Latest,
    Unrelated,
}

impl Asked {
    pub fn task(self) -> StudyTask {
        let task = match self {
            Self::Primary => PRIMARY,
            Self::Decoys => DECOYS,
            Self::RepeatedDecoys => REPEATED_DECOYS,
            Self::Latest => LATEST_VALUE,
            Self::Unrelated => MULTI_KEY,
        };
        task.with_split(QuestionSplit::Evaluation, EVALUATION_SEED)
    }

    pub fn title(self) -> &'static str {
        match self {
            Self::Primary => "primary task",
            Self::Decoys => "decoys",
            Self::RepeatedDecoys => "repeated decoys",
            Self::Latest => "latest value",
            Self::Unrelated => "unrelated keys, 4 digits",
        }
    }
}

/// The models of a run with one budget, one a trunk, and how they are read.
#[derive(Clone, Debug, PartialEq)]
pub struct Side {
    pub run: String,
    pub budget: String,
    pub reading: StudyReading,
}

/// Everything that was measured.
pub struct Results {
    cells: Vec<RetrievalCell>,
    perplexities: Vec<PerplexityCell>,
}

impl Results {
    /// Keeps whole cells of models of the study, read in a way that a method and its parameters describe.
    pub fn new(cells: Vec<RetrievalCell>, perplexities: Vec<PerplexityCell>) -> Self {
        let is_of_study = |cell: &RetrievalCell| {
            cell.shard.is_none()
                && (cell.beta_given, cell.cut, cell.heads.as_ref()) == (false, None, None)
                && ModelName::of(&cell.model).is_some()
        };
        Self {
            cells: current(cells.into_iter().filter(is_of_study), |_| None),
            perplexities: current(perplexities, |_| None),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    /// The reading of a run that was read in one way alone.
    pub fn only_reading(&self, run: &str, budget: &str) -> Option<Side> {
        let is_of_run = |cell: &&RetrievalCell| {
            ModelName::of(&cell.model).is_some_and(|name| (name.run, name.budget) == (run, budget))
        };
        let mut readings: Vec<StudyReading> = self.cells.iter().filter(is_of_run).map(StudyReading::of).collect();
        readings.dedup();
        let [reading] = <[StudyReading; 1]>::try_from(readings).ok()?;
        Some(Side { run: run.to_owned(), budget: budget.to_owned(), reading })
    }

    fn find(&self, side: &Side, trunk: usize, task: &StudyTask, extension: usize) -> Option<&RetrievalCell> {
        let name = ModelName { run: &side.run, budget: &side.budget, trunk };
        self.cells.iter().find(|cell| {
            cell.extension == extension
                && task.is_of(cell)
                && ModelName::of(&cell.model) == Some(name)
                && StudyReading::of(cell) == side.reading
        })
    }

    /// A trunk's answers on the evaluation's questions.
    pub fn cell(&self, side: &Side, trunk: usize, asked: Asked, extension: usize) -> Option<&RetrievalCell> {
        self.find(side, trunk, &asked.task(), extension)
    }

    /// Accuracy over trunks.
    pub fn accuracy(&self, side: &Side, asked: Asked, extension: usize) -> Option<OverTrunks> {
        self.accuracy_of(TRUNKS, side, asked, extension)
    }

    /// Accuracy over some trunks.
    pub fn accuracy_of(
        &self,
        trunks: RangeInclusive<usize>,
        side: &Side,
        asked: Asked,
        extension: usize,
    ) -> Option<OverTrunks> {
        let of_trunk = |trunk| self.cell(side, trunk, asked, extension);
        OverTrunks::of_cells(&trunks.filter_map(of_trunk).collect::<Vec<&RetrievalCell>>())
    }

    /// Perplexity of held-out text within the context, over trunks; of the models as they are, in no other reading.
    pub fn perplexity(&self, run: &str, budget: &str) -> Option<OverTrunks> {
        let is_of = |cell: &&PerplexityCell| {
            let name = ModelName::of(&cell.model).is_some_and(|name| (name.run, name.budget) == (run, budget));
            name && cell.extension == 1
                && StudyReading { method: cell.method, parameters: cell.parameters.clone() } == plain(run)
        };
        OverTrunks::of(&self.perplexities.iter().filter(is_of).map(|cell| cell.perplexity).collect::<Vec<_>>())
    }

    /// [`Results::accuracy`] where all trunks were asked, so that two of them may be compared.
    pub fn whole_accuracy(&self, side: &Side, asked: Asked, extension: usize) -> Option<OverTrunks> {
        let all = trunks_of(&side.budget).count();
        self.accuracy(side, asked, extension).filter(|over| over.trunks == all)
    }

    /// Whether each question was answered, of a trunk; as numbers.
    pub fn outcomes(&self, side: &Side, trunk: usize, asked: Asked, extension: usize) -> Option<Vec<f64>> {
        outcomes(self.cell(side, trunk, asked, extension)?)
    }

    /// The same of the primary task on the selection split.
    pub fn selection_outcomes(&self, side: &Side, trunk: usize, extension: usize) -> Option<Vec<f64>> {
        outcomes(self.find(side, trunk, &selection_task(), extension)?)
    }

    /// Mean accuracy on the selection split over all trunks of the budget and these lengths; `None` where one is missing.
    pub fn selection_score(&self, side: &Side, lengths: &[usize]) -> Option<f64> {
        let accuracies = trunks_of(&side.budget).flat_map(|trunk| lengths.iter().map(move |&s| (trunk, s)));
        let accuracies: Option<Vec<f64>> =
            accuracies.map(|(trunk, s)| Some(self.find(side, trunk, &selection_task(), s)?.accuracy)).collect();
        let accuracies = accuracies?;
        Some(accuracies.iter().sum::<f64>() / accuracies.len() as f64)
    }

    /// The reading of a run with the highest [score](Self::selection_score); of equal ones the plain reading, then the first by method and
    /// parameters. `None` before all is measured that the choice is among: a reading that was asked for some trunks or lengths alone, and
    /// each scaling of a run that keeps positions that is asked for at these lengths.
    pub fn best_reading(&self, run: &str, budget: &str, lengths: &[usize]) -> Option<(Side, f64)> {
        let selection = selection_task();
        let mut readings: Vec<StudyReading> = Vec::new();
        for cell in self.cells.iter().filter(|cell| lengths.contains(&cell.extension) && selection.is_of(cell)) {
            let is_of_run = ModelName::of(&cell.model).is_some_and(|name| (name.run, name.budget) == (run, budget));
            let reading = StudyReading::of(cell);
            if is_of_run && !readings.contains(&reading) {
                readings.push(reading);
            }
        }
        let scalings: &[Method] = if *lengths == FAR_SELECTION { &FAR_SCALINGS } else { &SCALINGS };
        let needed = if plain(run).method == Method::Rope { scalings } else { &[] };
        if !needed.iter().all(|method| readings.iter().any(|reading| reading.method == *method)) {
            return None;
        }
        readings.sort_by_key(|reading| (*reading != plain(run), reading.place()));
        let scored = readings.into_iter().map(|reading| {
            let side = Side { run: run.to_owned(), budget: budget.to_owned(), reading };
            let score = self.selection_score(&side, lengths)?;
            Some((side, score))
        });
        let scored: Vec<(Side, f64)> = scored.collect::<Option<_>>()?;
        scored.into_iter().reduce(|best, next| if next.1 > best.1 + TIE { next } else { best })
    }

    /// The runs with their best readings, the best first; of equal ones in the order of the list.
    pub fn ranked(&self, runs: &[&str], budget: &str, lengths: &[usize]) -> Vec<(Side, f64)> {
        let mut ranked: Vec<(Side, f64)> =
            runs.iter().filter_map(|run| self.best_reading(run, budget, lengths)).collect();
        // A stable sort.
        ranked.sort_by_key(|(_, score)| std::cmp::Reverse((score / TIE).round() as i64));
        ranked
    }
}

fn selection_task() -> StudyTask {
    PRIMARY.with_split(QuestionSplit::Selection, SELECTION_SEED)
}

fn outcomes(cell: &RetrievalCell) -> Option<Vec<f64>> {
    Some(cell.outcomes.as_ref()?.iter().map(|is_right| f64::from(u8::from(is_right))).collect())
}
