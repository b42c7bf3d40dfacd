//! What was planned and not run, or not measured.

use drope_core::positions::Method;

use super::super::markdown::list;
use super::models::{ABLATION, RUNS, TRUNK, TRUNKS, run_and_trunk};
use super::paired_tests::lengths;
use super::questions::{self, PRIMARY, StudyTask};
use super::rows::StudyResults;

/// Readings of the runs that keep positions.
const READINGS: [Method; 6] = [Method::Rope, Method::Pi, Method::Ntk, Method::DynamicNtk, Method::Llama3, Method::Yarn];

/// A line for everything that has no result.
pub fn missing(results: &StudyResults) -> Vec<String> {
    let mut lines = models(results);
    lines.extend(questions::all().filter_map(|task| unasked(results, &task)));
    lines.extend(["keep", "keep-copies"].iter().filter_map(|run| unread(results, run)));
    if !results.of_task(&PRIMARY).any(|cell| cell.method == Method::LongRope) {
        lines.push("LongRoPE2 is not measured.".to_owned());
    }
    if !results.has_selection() {
        lines.push("Nothing was chosen on the selection split: no rival is read at its best.".to_owned());
    }
    lines
}

/// Models without a result of the primary task.
fn models(results: &StudyResults) -> Vec<String> {
    let is_measured = |run: &str, trunk: usize| {
        results.of_task(&PRIMARY).any(|cell| run_and_trunk(&cell.model) == Some((run, trunk)))
    };
    let of_run = |run: &&str| -> Option<String> {
        let trunks = if ABLATION.contains(run) { 1..=1 } else { TRUNKS };
        let missing: Vec<String> =
            trunks.filter(|&trunk| !is_measured(run, trunk)).map(|trunk| trunk.to_string()).collect();
        let trunks = if missing.len() == 1 { "trunk" } else { "trunks" };
        (!missing.is_empty())
            .then(|| format!("`{run}` of {trunks} {} has no result of the primary task.", list(&missing)))
    };
    std::iter::once(TRUNK).chain(RUNS).chain(ABLATION).filter_map(|run| of_run(&run)).collect()
}

/// Lengths at which a task was asked of nobody, and runs that it was not asked of.
fn unasked(results: &StudyResults, task: &StudyTask) -> Option<String> {
    let asked = |extension: &usize| results.of_task(task).any(|cell| cell.extension == *extension);
    let lengths = lengths(task);
    let missing: Vec<String> = lengths.iter().filter(|s| !asked(s)).map(|s| format!("{s}×")).collect();
    if missing.len() == lengths.len() {
        return Some(format!("{} is not measured.", task.name));
    }
    let has_result =
        |run: &str| results.of_task(task).any(|cell| run_and_trunk(&cell.model).is_some_and(|(of, _)| of == run));
    let without: Vec<String> = RUNS.iter().filter(|run| !has_result(run)).map(|run| format!("`{run}`")).collect();
    let parts = [
        (!missing.is_empty()).then(|| format!("not measured at {}", list(&missing))),
        (!without.is_empty()).then(|| format!("not asked of {}", list(&without))),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| format!("{}: {}.", task.name, parts.join("; ")))
}

/// Readings of a run that are not measured, with any parameters.
fn unread(results: &StudyResults, run: &str) -> Option<String> {
    let read = results.read_runs(&PRIMARY);
    let is_missing = |method: &&Method| !read.iter().any(|read| read.run == run && read.reading.method == **method);
    let missing: Vec<&str> = READINGS.iter().filter(is_missing).map(|method| method.title()).collect();
    (!missing.is_empty()).then(|| format!("`{run}` is not read with {}.", list(&missing)))
}

#[cfg(test)]
mod tests {
    use drope_core::results::Cell;

    use super::super::models::run_and_trunk;
    use super::super::rows::StudyResults;
    use super::super::test_cells::{study, study_cells};
    use super::missing;

    #[test]
    fn what_was_not_run_is_named() {
        let whole = missing(&study(|_, _| [0.9; 4])).join("\n");
        assert!(!whole.contains("`all` of") && whole.contains("`all-ssmax` of trunk 1 has no result"), "{whole}");
        assert!(whole.contains("7 digits: not measured at 16×, 32× and 64×.\n"), "{whole}");
        assert!(whole.contains("decoys is not measured.\n"), "{whole}");
        assert!(whole.contains("`keep` is not read with PI, NTK-aware RoPE, Dynamic NTK"), "{whole}");
        let is_run = |cell: &Cell| !matches!(run_and_trunk(&cell.model), Some(("all", 4..)));
        let cells = study_cells(|_, _| [0.9; 4]).into_iter().filter(is_run).collect();
        let cut = missing(&StudyResults::new(cells, Vec::new())).join("\n");
        assert!(cut.contains("`all` of trunks 4 and 5 has no result"), "{cut}");
        assert!(cut.contains("no rival is read at its best"), "{cut}");
    }
}
