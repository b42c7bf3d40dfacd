//! The cells of the study, and what they say of each run over its trunks.

use drope_core::niah::QuestionSplit;
use drope_core::results::{RetrievalCell, current};
use drope_core::stats::{student_half_width, wilson};

use super::models::{ABLATION, RUNS, ReadRun, StudyReading, TRUNK, TRUNKS, run_and_trunk};
use super::questions::{LENGTHS, QUESTION_SEED, StudyTask};
use super::selection::{self, SelectionScore};

/// Everything that was measured.
pub struct StudyResults {
    cells: Vec<RetrievalCell>,
    selection: Vec<SelectionScore>,
}

/// Numbers of several trunks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OverTrunks {
    pub mean: f64,
    /// Student's interval of the mean over trunks; of one trunk Wilson's, of its questions, if they are known.
    pub ci95: Option<[f64; 2]>,
    pub low: f64,
    pub high: f64,
    pub trunks: usize,
}

impl OverTrunks {
    /// `None` of no number.
    pub fn of(numbers: &[f64]) -> Option<Self> {
        let mean = numbers.iter().sum::<f64>() / numbers.len() as f64;
        let low = numbers.iter().copied().reduce(f64::min)?;
        let high = numbers.iter().copied().reduce(f64::max)?;
        let ci95 = student_half_width(numbers).map(|half| [(mean - half).max(0.0), mean + half]);
        Some(Self { mean, ci95, low, high, trunks: numbers.len() })
    }

    /// The same with an interval that ends at the most that is possible.
    #[must_use]
    pub fn at_most(self, most: f64) -> Self {
        Self { ci95: self.ci95.map(|[low, high]| [low, high.min(most)]), ..self }
    }

    /// Accuracies of cells, of one trunk each.
    pub fn of_cells(cells: &[&RetrievalCell]) -> Option<Self> {
        let over = Self::of(&cells.iter().map(|cell| cell.accuracy).collect::<Vec<_>>())?;
        let ci95 = match cells {
            [cell] => Some(wilson(cell.correct, cell.trials)),
            _ => over.ci95,
        };
        Some(Self { ci95, ..over }.at_most(1.0))
    }
}

impl StudyResults {
    /// Keeps what the study evaluates: questions of the evaluation's keys and seed, all of a cell's, models of the study, and
    /// readings that a method and its parameters describe. Cells of the selection split say which reading is best, and no more.
    pub fn new(cells: Vec<RetrievalCell>) -> Self {
        let is_of_study = |cell: &RetrievalCell| {
            cell.shard.is_none()
                && (cell.beta_given, cell.cut, cell.heads.as_ref()) == (false, None, None)
                && run_and_trunk(&cell.model).is_some()
        };
        let cells = current(cells.into_iter().filter(is_of_study), |_| None);
        let selection = selection::scores(&cells);
        let is_evaluation =
            |cell: &RetrievalCell| (cell.difficulty.split, cell.seed) == (QuestionSplit::Evaluation, QUESTION_SEED);
        Self { cells: cells.into_iter().filter(is_evaluation).collect(), selection }
    }

    pub fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    /// Whether readings were chosen on the selection split.
    pub fn has_selection(&self) -> bool {
        !self.selection.is_empty()
    }

    /// The reading of a run that did best on the selection split.
    pub fn at_its_best(&self, run: &str) -> Option<ReadRun> {
        let reading = selection::best(&self.selection, run)?;
        Some(ReadRun { run: run.to_owned(), reading })
    }

    /// All cells of a task.
    pub fn of_task(&self, task: &StudyTask) -> impl Iterator<Item = &RetrievalCell> {
        self.cells.iter().filter(|cell| task.is_of(cell))
    }

    /// Every run and reading that was asked a task, in the order of the plan and of the methods.
    pub fn read_runs(&self, task: &StudyTask) -> Vec<ReadRun> {
        let mut found: Vec<ReadRun> = Vec::new();
        for cell in self.of_task(task) {
            let Some((run, _)) = run_and_trunk(&cell.model) else { continue };
            let read = ReadRun { run: run.to_owned(), reading: StudyReading::of(cell) };
            if !found.contains(&read) {
                found.push(read);
            }
        }
        let order: Vec<&str> = std::iter::once(TRUNK).chain(RUNS).chain(ABLATION).collect();
        let place = |run: &str| order.iter().position(|known| *known == run).unwrap_or(order.len());
        found.sort_by_key(|read| (place(&read.run), read.run.clone(), read.reading.place()));
        found
    }

    /// One trunk's.
    pub fn cell(&self, read: &ReadRun, trunk: usize, task: &StudyTask, extension: usize) -> Option<&RetrievalCell> {
        self.of_task(task).find(|cell| {
            cell.extension == extension
                && run_and_trunk(&cell.model) == Some((&read.run, trunk))
                && StudyReading::of(cell) == read.reading
        })
    }

    /// Those of all trunks, with the trunk.
    pub fn trunks(&self, read: &ReadRun, task: &StudyTask, extension: usize) -> Vec<(usize, &RetrievalCell)> {
        TRUNKS.filter_map(|trunk| Some((trunk, self.cell(read, trunk, task, extension)?))).collect()
    }

    /// Accuracy over trunks.
    pub fn accuracy(&self, read: &ReadRun, task: &StudyTask, extension: usize) -> Option<OverTrunks> {
        let cells: Vec<&RetrievalCell> = self.trunks(read, task, extension).into_iter().map(|(_, cell)| cell).collect();
        OverTrunks::of_cells(&cells)
    }

    /// Whether the model of a cell passes the gate of its task; `None` where 1× is not measured.
    pub fn passes_threshold(&self, cell: &RetrievalCell) -> Option<bool> {
        cell.passes_threshold(&self.cells)
    }

    /// The same of a run's model at 1×.
    pub fn passes_threshold_at_1x(&self, read: &ReadRun, trunk: usize, task: &StudyTask) -> Option<bool> {
        self.passes_threshold(self.cell(read, trunk, task, 1)?)
    }

    /// The mean accuracy beyond 1× of one trunk's model, divided by its own at 1×; `None` where a length is missing or it fails the gate.
    pub fn retention(&self, read: &ReadRun, trunk: usize, task: &StudyTask) -> Option<f64> {
        let cells = LENGTHS.map(|extension| self.cell(read, trunk, task, extension));
        if !cells.iter().all(|cell| cell.is_some_and(|cell| self.passes_threshold(cell) == Some(true))) {
            return None;
        }
        let [own, beyond @ ..] = cells.map(|cell| cell.map_or(0.0, |cell| cell.accuracy));
        Some(beyond.iter().sum::<f64>() / beyond.len() as f64 / own)
    }
}

#[cfg(test)]
mod tests {
    use drope_core::niah::{Difficulty, QuestionSplit};
    use drope_core::results::RetrievalCell;

    use super::super::models::ReadRun;
    use super::super::questions::PRIMARY;
    use super::super::test_cells::{cell, measured};
    use super::{OverTrunks, StudyResults};

    #[test]
    fn questions_of_the_selection_never_enter() {
        let mut chosen = cell("all-1", &PRIMARY, 1, 1.0);
        chosen.difficulty = Difficulty { split: QuestionSplit::Selection, ..chosen.difficulty };
        assert!(StudyResults::new(vec![chosen.clone()]).is_empty());
        let both = StudyResults::new(vec![cell("all-1", &PRIMARY, 1, 0.5), chosen]);
        assert_eq!(both.accuracy(&ReadRun::plain("all"), &PRIMARY, 1).unwrap().mean, 0.5);
        let other = RetrievalCell { seed: 32_000, ..cell("all-1", &PRIMARY, 1, 1.0) };
        assert!(StudyResults::new(vec![other]).is_empty(), "another seed");
    }

    #[test]
    fn trunks_are_summed_up_with_their_spread() {
        let cells =
            [0.8, 0.9, 1.0].into_iter().zip(1..).map(|(share, k)| cell(&format!("all-{k}"), &PRIMARY, 1, share));
        let results = StudyResults::new(cells.collect());
        let over = results.accuracy(&ReadRun::plain("all"), &PRIMARY, 1).unwrap();
        assert_eq!((over.low, over.high, over.trunks), (0.8, 1.0, 3));
        assert!((over.mean - 0.9).abs() < 1e-12);
        // t for 97.5 % at 2 degrees of freedom is 4.302653; the interval ends at all questions.
        let [low, high] = over.ci95.unwrap();
        assert!((low - (0.9 - 4.302_653 * 0.1 / 3f64.sqrt())).abs() < 1e-5 && high == 1.0, "{low} {high}");
        assert_eq!(OverTrunks::of(&[]), None);
    }

    #[test]
    fn retention_is_relative_to_the_models_own_accuracy_and_needs_the_gate() {
        let results = StudyResults::new(measured("all-1", [0.9, 0.9, 0.6, 0.3]));
        let retention = results.retention(&ReadRun::plain("all"), 1, &PRIMARY).unwrap();
        assert!((retention - 0.6 / 0.9).abs() < 1e-9, "{retention}");
        let behind = StudyResults::new(measured("all-1", [0.7, 0.9, 0.6, 0.3]));
        assert_eq!(behind.retention(&ReadRun::plain("all"), 1, &PRIMARY), None);
    }
}
