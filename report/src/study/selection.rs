//! Which reading of a run is its best, by the questions of the selection split.

use drope_core::niah::QuestionSplit;
use drope_core::results::RetrievalCell;

use super::models::{StudyReading, run_and_trunk};
use super::questions::{LENGTHS, PRIMARY, SELECTION_SEED, StudyTask};

/// The primary task on the selection split.
const SELECTION: StudyTask = PRIMARY.with_split(QuestionSplit::Selection, SELECTION_SEED);

/// How well a model did on the selection split.
#[derive(Clone, Debug)]
pub struct SelectionScore {
    run: String,
    trunk: usize,
    reading: StudyReading,
    /// Mean accuracy over 2×, 4× and 8×.
    score: f64,
}

/// The scores of every model and reading that was asked at all of the lengths, in the order of their cells.
pub fn scores(cells: &[RetrievalCell]) -> Vec<SelectionScore> {
    let asked =
        |extension: usize| cells.iter().filter(move |cell| SELECTION.is_of(cell) && cell.extension == extension);
    let [_, shortest, others @ ..] = LENGTHS;
    let score = |first: &RetrievalCell| {
        let (run, trunk) = run_and_trunk(&first.model)?;
        let reading = StudyReading::of(first);
        let is_same = |cell: &&RetrievalCell| cell.model == first.model && StudyReading::of(cell) == reading;
        let accuracies = others.map(|extension| asked(extension).find(is_same).map(|cell| cell.accuracy));
        let sum = accuracies.into_iter().try_fold(first.accuracy, |sum, accuracy| Some(sum + accuracy?))?;
        Some(SelectionScore { run: run.to_owned(), trunk, reading, score: sum / (others.len() + 1) as f64 })
    };
    asked(shortest).filter_map(score).collect()
}

/// A reading and the trunks that it was scored on.
struct SelectionCandidate {
    reading: StudyReading,
    scores: Vec<(usize, f64)>,
}

impl SelectionCandidate {
    fn mean(&self) -> f64 {
        self.scores.iter().map(|(_, score)| score).sum::<f64>() / self.scores.len() as f64
    }
}

/// The reading of a run with the highest mean score over trunks, of those that were scored on most trunks; of equal means the
/// plain reading, then the one that was scored first. `None` where nothing was scored.
pub fn best(scores: &[SelectionScore], run: &str) -> Option<StudyReading> {
    let mut candidates: Vec<SelectionCandidate> = Vec::new();
    for score in scores.iter().filter(|score| score.run == run) {
        match candidates.iter_mut().find(|candidate| candidate.reading == score.reading) {
            Some(candidate) => candidate.scores.push((score.trunk, score.score)),
            None => candidates
                .push(SelectionCandidate { reading: score.reading.clone(), scores: vec![(score.trunk, score.score)] }),
        }
    }
    let most = candidates.iter().map(|candidate| candidate.scores.len()).max()?;
    candidates.retain(|candidate| candidate.scores.len() == most);
    // A stable sort: the plain reading first, then the order of the scores.
    candidates.sort_by_key(|candidate| candidate.reading != StudyReading::plain(run));
    // Sums of the same scores in another order differ in their last bits.
    let is_better = |a: &SelectionCandidate, b: &SelectionCandidate| a.mean() > b.mean() + 1e-9;
    candidates
        .into_iter()
        .reduce(|best, next| if is_better(&next, &best) { next } else { best })
        .map(|best| best.reading)
}

#[cfg(test)]
mod tests {
    use drope_core::positions::{Method, Parameter, Parameters};
    use drope_core::results::RetrievalCell;

    use super::super::test_cells::{read_with, selected};
    use super::{best, scores};

    fn cells(lines: &[(&str, Method, f64)]) -> Vec<RetrievalCell> {
        let of_line = |&(model, method, score): &(&str, Method, f64)| {
            read_with(method, &Parameters::default(), selected(model, [score; 3]))
        };
        lines.iter().flat_map(of_line).collect()
    }

    #[test]
    fn the_best_mean_over_trunks_is_chosen_and_the_plain_reading_of_equal_ones() {
        let mut lines =
            vec![("keep-1", Method::Yarn, 0.9), ("keep-2", Method::Yarn, 0.5), ("keep-1", Method::Llama3, 0.8)];
        lines.extend([
            ("keep-2", Method::Llama3, 0.8),
            ("keep-copies-1", Method::Pi, 1.0),
            ("keep-1", Method::Pi, 1.0),
        ]);
        let method = |lines: &[_], run| best(&scores(&cells(lines)), run).map(|reading| reading.method);
        assert_eq!(method(&lines, "keep"), Some(Method::Llama3), "one good trunk is not the best mean");
        lines.extend([("keep-1", Method::Rope, 0.7), ("keep-2", Method::Rope, 0.9)]);
        assert_eq!(method(&lines, "keep"), Some(Method::Rope));
        assert_eq!(method(&lines, "keep-copies"), Some(Method::Pi));
        assert_eq!(method(&lines, "all"), None);
    }

    #[test]
    fn other_parameters_are_another_reading() {
        let tuned = Parameters::new([(Parameter::BetaFast, "16".parse().unwrap())]).unwrap();
        let mut all = cells(&[("keep-1", Method::Yarn, 0.5), ("keep-1", Method::Rope, 0.7)]);
        all.extend(read_with(Method::Yarn, &tuned, selected("keep-1", [0.9; 3])));
        assert_eq!(best(&scores(&all), "keep").unwrap().text(), "YaRN, beta_fast=16");
    }

    #[test]
    fn a_reading_counts_with_the_mean_of_all_three_lengths() {
        let mut all = selected("all-1", [1.0, 0.5, 0.0]);
        assert!((scores(&all)[0].score - 0.5).abs() < 1e-9);
        all.pop();
        assert!(scores(&all).is_empty(), "8x is missing");
    }
}
