//! What was planned and not run, or not measured.

use drope_core::positions::Method;

use super::models::{ABLATION, RUNS, TRUNK, TRUNKS, run_and_trunk};
use super::paired_tests::lengths;
use super::questions::{self, PRIMARY, StudyTask};
use super::rows::StudyResults;
use crate::markdown::list;

/// Readings of the runs that keep positions.
const READINGS: [Method; 6] = [Method::Rope, Method::Pi, Method::Ntk, Method::DynamicNtk, Method::Llama3, Method::Yarn];

/// A line for everything that has no result.
pub fn missing(results: &StudyResults) -> Vec<String> {
    let mut lines = models(results);
    let is_asked = |task: &StudyTask| results.of_task(task).next().is_some();
    let (asked, unasked): (Vec<_>, Vec<_>) = questions::all().partition(is_asked);
    if !unasked.is_empty() {
        let names: Vec<&str> = unasked.iter().map(|task| task.name).collect();
        lines.push(format!("Tasks that are not measured: {}.", names.join("; ")));
    }
    lines.extend(asked.iter().filter_map(|task| partly_asked(results, task)));
    lines.extend(["keep", "keep-copies"].iter().filter_map(|run| unread(results, run)));
    if !results.of_task(&PRIMARY).any(|cell| cell.method == Method::LongRope) {
        lines.push("LongRoPE2 is not measured.".to_owned());
    }
    if !results.has_selection() {
        lines.push("Nothing was chosen on the selection split: no rival is read at its best.".to_owned());
    }
    lines
}

/// Models without a result of the primary task: a line for the runs that lack the same trunks.
fn models(results: &StudyResults) -> Vec<String> {
    let is_measured = |run: &str, trunk: usize| {
        results.of_task(&PRIMARY).any(|cell| run_and_trunk(&cell.model) == Some((run, trunk)))
    };
    let mut groups: Vec<(Vec<String>, Vec<String>)> = Vec::new();
    for run in std::iter::once(TRUNK).chain(RUNS).chain(ABLATION) {
        let trunks = if ABLATION.contains(&run) { 1..=1 } else { TRUNKS };
        let missing: Vec<String> =
            trunks.filter(|&trunk| !is_measured(run, trunk)).map(|trunk| trunk.to_string()).collect();
        match groups.iter_mut().find(|(trunks, _)| *trunks == missing) {
            _ if missing.is_empty() => {}
            Some((_, runs)) => runs.push(format!("`{run}`")),
            None => groups.push((missing, vec![format!("`{run}`")])),
        }
    }
    let line = |(trunks, runs): &(Vec<String>, Vec<String>)| {
        let word = if trunks.len() == 1 { "trunk" } else { "trunks" };
        format!("Without a result of the primary task: {} of {word} {}.", list(runs), list(trunks))
    };
    groups.iter().map(line).collect()
}

/// Lengths at which a task was asked of nobody, and runs that it was not asked of.
fn partly_asked(results: &StudyResults, task: &StudyTask) -> Option<String> {
    let is_asked = |extension: &usize| results.of_task(task).any(|cell| cell.extension == *extension);
    let missing: Vec<String> = lengths(task).iter().filter(|s| !is_asked(s)).map(|s| format!("{s}×")).collect();
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
    (!missing.is_empty()).then(|| format!("`{run}` is not read with: {}.", missing.join(", ")))
}

#[cfg(test)]
mod tests {
    use drope_core::results::RetrievalCell;

    use super::super::models::run_and_trunk;
    use super::super::rows::StudyResults;
    use super::super::test_cells::{study, study_cells};
    use super::missing;

    #[test]
    fn what_was_not_run_is_named() {
        let whole = missing(&study(|_, _| [0.9; 4])).join("\n");
        assert!(!whole.contains("`all`") && whole.contains("`low-ssmax` of trunk 1.\n"), "{whole}");
        assert!(whole.contains("7 digits: not measured at 16×, 32× and 64×.\n"), "{whole}");
        assert!(whole.contains("64 keys; decoys; multi-query;"), "{whole}");
        assert!(
            whole.contains("`keep` is not read with: Position interpolation, NTK-aware RoPE, Dynamic NTK"),
            "{whole}"
        );
        let is_run = |cell: &RetrievalCell| !matches!(run_and_trunk(&cell.model), Some(("all", 4..)));
        let cells = study_cells(|_, _| [0.9; 4]).into_iter().filter(is_run).collect();
        let cut = missing(&StudyResults::new(cells)).join("\n");
        assert!(cut.contains("Without a result of the primary task: `all` of trunks 4 and 5."), "{cut}");
        assert!(cut.contains("no rival is read at its best"), "{cut}");
    }
}
