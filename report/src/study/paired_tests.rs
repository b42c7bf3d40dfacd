//! McNemar's test of each pair, trunk by trunk, at each length of each task.

use drope_core::stats::{McNemar, holm, mcnemar};

use super::hypotheses::{HypothesisTest, answers};
use super::models::{ReadRun, TRUNKS};
use super::questions::{self, GREATER_LENGTHS, PRIMARY, StudyTask};
use super::rows::StudyResults;

/// One test.
pub struct PairedTest {
    pub task: &'static str,
    pub extension: usize,
    pub trunk: usize,
    pub mcnemar: McNemar,
    /// Corrected over all tests of the pair.
    pub p_holm: f64,
}

/// All tests of a hypothesis' pair: where both models of a trunk pass the task's gate and answered the same questions.
pub fn paired_tests(results: &StudyResults, hypothesis: &HypothesisTest) -> Vec<PairedTest> {
    let mut tests = Vec::new();
    for task in questions::all() {
        for extension in lengths(&task) {
            for trunk in TRUNKS {
                let Some(mcnemar) = test(results, &hypothesis.sides, &task, extension, trunk) else { continue };
                tests.push(PairedTest { task: task.name, extension, trunk, mcnemar, p_holm: 1.0 });
            }
        }
    }
    let p_values: Vec<f64> = tests.iter().map(|test| test.mcnemar.p_value).collect();
    for (test, corrected) in tests.iter_mut().zip(holm(&p_values)) {
        test.p_holm = corrected;
    }
    tests
}

/// The lengths of a task, the greater ones of the primary task included.
pub fn lengths(task: &StudyTask) -> Vec<usize> {
    let greater: &[usize] = if *task == PRIMARY { &GREATER_LENGTHS } else { &[] };
    [task.lengths, greater].concat()
}

fn test(results: &StudyResults, sides: &[ReadRun; 2], task: &StudyTask, s: usize, trunk: usize) -> Option<McNemar> {
    let [first, second] = sides.each_ref().map(|side| results.cell(side, trunk, task, s));
    let (first, second) = (first?, second?);
    let passes = |cell| results.passes_threshold(cell) == Some(true);
    let answers = answers(first, second).filter(|_| passes(first) && passes(second))?;
    Some(mcnemar(answers.into_iter().map(|[first, second]| (first, second))))
}

#[cfg(test)]
mod tests {
    use super::super::hypotheses::test_all;
    use super::super::models::RUNS;
    use super::super::questions::{LATEST_VALUE, PRIMARY};
    use super::super::rows::StudyResults;
    use super::super::test_cells::{cell, cell_of, measured, plain_selection};
    use super::paired_tests;

    #[test]
    fn questions_of_one_trunk_are_compared_and_corrected_over_all_of_a_pair() {
        let mut cells: Vec<_> = RUNS.iter().flat_map(|run| measured(&format!("{run}-1"), [0.9; 4])).collect();
        // At 16×: five only the first, none only the second, so that p is 2/2⁵; all others are alike, with p = 1.
        let outcomes = |right: usize| (0..20).map(|question| question < right).collect::<Vec<_>>();
        cells.push(cell_of("all-copies-1", &PRIMARY, 16, &outcomes(9)));
        cells.push(cell_of("keep-copies-1", &PRIMARY, 16, &outcomes(4)));
        // Below the threshold of its task.
        cells.push(cell("all-copies-1", &LATEST_VALUE, 1, 0.7));
        cells.push(cell("keep-copies-1", &LATEST_VALUE, 1, 0.9));
        let results = StudyResults::new([cells, plain_selection()].concat());
        let tests = paired_tests(&results, &test_all(&results)[0]);
        let lengths: Vec<usize> = tests.iter().map(|test| test.extension).collect();
        assert_eq!(lengths, [1, 2, 4, 8, 16]);
        let last = &tests[4];
        assert_eq!((last.mcnemar.only_first, last.mcnemar.only_second, last.trunk), (5, 0, 1));
        assert!((last.mcnemar.p_value - 0.0625).abs() < 1e-12 && (last.p_holm - 0.3125).abs() < 1e-12);
    }
}
