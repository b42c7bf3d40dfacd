//! The tables of docs/study.md.

use std::collections::BTreeSet;

use drope_core::results::RetrievalCell;

use super::super::markdown::{self, DASH, cells, list, percent, table};
use super::hypotheses::{HypothesisTest, TrunkPart};
use super::models::{ReadRun, TRUNK, TRUNKS, title};
use super::paired_tests::{PairedTest, lengths};
use super::questions::{LENGTHS, MULTI_KEY, PRIMARY, StudyTask};
use super::rows::{OverTrunks, StudyResults};
use super::sentences::{interval_text, p_text, plain_text, points};

/// Behind a failed gate.
const THRESHOLD_MARK: &str = "†";

/// What the trunks answer at 1×, read plainly, and whether that passes the gate.
pub fn trunks(results: &StudyResults) -> String {
    let read = ReadRun::plain(TRUNK);
    let accuracy = |trunk, task| results.cell(&read, trunk, task, 1).map(|cell| percent(cell.accuracy));
    let line = |trunk: usize| {
        let passes = match results.passes_threshold_at_1x(&read, trunk, &PRIMARY) {
            Some(true) => "yes",
            Some(false) => "no",
            None => DASH,
        };
        let shares = [&PRIMARY, &MULTI_KEY].map(|task| accuracy(trunk, task).unwrap_or_else(|| DASH.to_owned()));
        [&[format!("{TRUNK}-{trunk}")], &shares[..], &[passes.to_owned()]].concat()
    };
    let header = cells(["trunk", PRIMARY.name, MULTI_KEY.name, "binds values to keys"]);
    table(&header, &TRUNKS.map(line).collect::<Vec<_>>())
}

/// The primary task: accuracy over all trunks, and retention over those that pass the gate.
pub fn primary(results: &StudyResults) -> String {
    let line = |read: &ReadRun| {
        let measured_at = |s: usize| results.trunks(read, &PRIMARY, s).len();
        let measured = measured_at(1);
        let passing = TRUNKS.filter(|&t| results.passes_threshold_at_1x(read, t, &PRIMARY) == Some(true)).count();
        let trunks = match measured {
            0 => {
                let most = LENGTHS.iter().map(|&s| measured_at(s)).max().unwrap_or(0);
                format!("{most}, 1× not measured")
            }
            measured if passing == measured => measured.to_string(),
            measured => format!("{passing} of {measured} pass the gate"),
        };
        let shares = LENGTHS.map(|s| spread(results.accuracy(read, &PRIMARY, s)));
        let kept: Vec<f64> = TRUNKS.filter_map(|trunk| results.retention(read, trunk, &PRIMARY)).collect();
        // Retention can be no more than all questions beyond 1× against the mean accuracy there.
        let most = results.accuracy(read, &PRIMARY, 1).map_or(1.0, |own| 1.0 / own.mean);
        let retention = OverTrunks::of(&kept).map(|over| over.at_most(most));
        let names = [title(&read.run), read.reading.text(), trunks];
        names.into_iter().chain(shares).chain([spread(retention)]).collect::<Vec<_>>()
    };
    let header = cells(["run", "reading", "trunks", "1×", "2×", "4×", "8×", "retention"]);
    table(&header, &results.read_runs(&PRIMARY).iter().map(line).collect::<Vec<_>>())
}

/// `97.1 [95.0, 99.2] (94.0 to 99.0)`: mean, interval, lowest and highest trunk.
fn spread(over: Option<OverTrunks>) -> String {
    let Some(OverTrunks { mean, ci95, low, high, trunks }) = over else { return DASH.to_owned() };
    let [mean, low, high] = [mean, low, high].map(|share| format!("{:.1}", 100.0 * share));
    let interval = ci95.map(|ci95| ci95.map(|end| format!("{:.1}", 100.0 * end)));
    let interval = interval.map(|[from, to]| format!(" [{from}, {to}]")).unwrap_or_default();
    let range = if trunks > 1 { format!(" ({low} to {high})") } else { String::new() };
    format!("{mean}{interval}{range}")
}

/// A task: the mean over trunks that pass its gate, and beside it, marked, over those that do not. `None` where it is not measured.
pub fn gated(results: &StudyResults, task: &StudyTask, lengths: &[usize]) -> Option<String> {
    let shown = |read: &ReadRun| lengths.iter().any(|&s| !results.trunks(read, task, s).is_empty());
    let read_runs: Vec<ReadRun> = results.read_runs(task).into_iter().filter(shown).collect();
    let line = |read: &ReadRun| {
        let shares = lengths.iter().map(|&s| by_threshold(results, read, task, s));
        [title(&read.run), read.reading.text()].into_iter().chain(shares).collect::<Vec<_>>()
    };
    let header = [&cells(["run", "reading"])[..], &markdown::by_length("", lengths)[1..]].concat();
    (!read_runs.is_empty()).then(|| table(&header, &read_runs.iter().map(line).collect::<Vec<_>>()))
}

fn by_threshold(results: &StudyResults, read: &ReadRun, task: &StudyTask, extension: usize) -> String {
    let cells: Vec<_> = results.trunks(read, task, extension).into_iter().map(|(_, cell)| cell).collect();
    let (passing, failing): (Vec<_>, Vec<_>) =
        cells.into_iter().partition(|cell| results.passes_threshold(cell) == Some(true));
    let text = |cells: &[_], mark: &str| {
        OverTrunks::of_cells(cells).map(|over| format!("{:.1}{mark} ({})", 100.0 * over.mean, over.trunks))
    };
    let parts: Vec<String> = [text(&passing, ""), text(&failing, THRESHOLD_MARK)].into_iter().flatten().collect();
    if parts.is_empty() { DASH.to_owned() } else { parts.join(", ") }
}

/// Number of questions and floor of a task at its own lengths, as its cells say.
pub fn floor(results: &StudyResults, task: &StudyTask) -> String {
    let cells = || results.of_task(task).filter(|cell| task.lengths.contains(&cell.extension));
    // Where all values of the text are asked for, the guess that takes all of them is right.
    let floors: BTreeSet<String> =
        cells().map(RetrievalCell::guess_floor).filter(|floor| *floor < 1.0).map(percent).collect();
    let questions: BTreeSet<usize> = cells().map(|cell| cell.trials).collect();
    let questions: Vec<String> = questions.iter().map(usize::to_string).collect();
    let floors: Vec<String> = floors.into_iter().collect();
    let guess = match &floors[..] {
        [] => "all values of the text are asked for, so that guessing among them is no floor".to_owned(),
        floors => format!("a random guess is right in {}", floors.join(" or ")),
    };
    format!("{} questions a cell; {guess}", questions.join(" or "))
}

/// The four hypotheses.
pub fn hypotheses(results: &StudyResults, tests: &[HypothesisTest]) -> String {
    let line = |test: &HypothesisTest| {
        let [first, second] =
            test.sides.each_ref().map(|side| format!("{}: {}", side.text(), plain_text(results, side)));
        let estimate = test.interval.as_ref().map_or_else(|| DASH.to_owned(), interval_text);
        let p = test.interval.map_or_else(|| DASH.to_owned(), |interval| p_text(interval.p_value));
        let corrected = test.p_holm.map_or_else(|| DASH.to_owned(), p_text);
        let trunks: Vec<String> =
            test.trunks.iter().map(|&(trunk, part)| format!("{trunk}: {}", part_text(part))).collect();
        let verdict = test.verdict.word().to_owned();
        vec![test.number.to_string(), first, second, estimate, p, corrected, trunks.join("; "), verdict]
    };
    let header = cells(["", "first", "second", "difference in retention", "p", "Holm", "each trunk", "verdict"]);
    table(&header, &tests.iter().map(line).collect::<Vec<_>>())
}

fn part_text(part: TrunkPart) -> String {
    match part {
        TrunkPart::Enters(difference) => points(difference).replace(" points", ""),
        TrunkPart::BelowThreshold => "behind the gate".to_owned(),
        TrunkPart::Incomplete => "incomplete".to_owned(),
        TrunkPart::NotPaired => "not measured".to_owned(),
    }
}

/// Plain accuracies of all trunks, in place of a test.
pub fn untested(results: &StudyResults, test: &HypothesisTest) -> String {
    let share = |side: &ReadRun, trunk, s| results.cell(side, trunk, &PRIMARY, s).map(|cell| percent(cell.accuracy));
    let line = |side: &ReadRun, trunk: usize| {
        let shares = LENGTHS.map(|s| share(side, trunk, s).unwrap_or_else(|| DASH.to_owned()));
        [side.text(), trunk.to_string()].into_iter().chain(shares).collect::<Vec<_>>()
    };
    let lines = test.sides.iter().flat_map(|side| TRUNKS.map(move |trunk| line(side, trunk)));
    table(&cells(["model", "trunk", "1×", "2×", "4×", "8×"]), &lines.collect::<Vec<_>>())
}

/// McNemar's tests of a pair, a row a task and length.
pub fn paired(tests: &[PairedTest], task: &StudyTask) -> Vec<Vec<String>> {
    let of_length = |extension: usize| {
        let here: Vec<&PairedTest> =
            tests.iter().filter(|test| (test.task, test.extension) == (task.name, extension)).collect();
        let text = |trunk: usize| {
            let test = here.iter().find(|test| test.trunk == trunk)?;
            let (a, b) = (test.mcnemar.only_first, test.mcnemar.only_second);
            let [open, close] = if test.p_holm < 0.05 { ["**", "**"] } else { ["", ""] };
            Some(format!("{open}{a} : {b}, {}{close}", p_text(test.p_holm)))
        };
        let cells = TRUNKS.map(|trunk| text(trunk).unwrap_or_else(|| DASH.to_owned()));
        let line = [task.name.to_owned(), format!("{extension}×")].into_iter().chain(cells).collect();
        (!here.is_empty()).then_some(line)
    };
    lengths(task).into_iter().filter_map(of_length).collect()
}

/// The header of those.
pub fn paired_header() -> Vec<String> {
    [&cells(["task", "length"])[..], &TRUNKS.map(|trunk| format!("trunk {trunk}")).collect::<Vec<_>>()].concat()
}

/// How many trunks learned to bind values to keys: those that pass the gate of the primary task.
pub fn binding(results: &StudyResults) -> String {
    let read = ReadRun::plain(TRUNK);
    let known: Vec<(usize, bool)> =
        TRUNKS.filter_map(|trunk| Some((trunk, results.passes_threshold_at_1x(&read, trunk, &PRIMARY)?))).collect();
    let missing: Vec<String> = TRUNKS
        .filter(|trunk| !known.iter().any(|(measured, _)| measured == trunk))
        .map(|trunk| format!("{TRUNK}-{trunk}"))
        .collect();
    let missing = if missing.is_empty() { String::new() } else { format!(" Not measured: {}.", list(&missing)) };
    let binds = known.iter().filter(|(_, passes)| *passes).count();
    format!(
        "{binds} of {} trunks learned to bind values to keys: they answer at least 80 % at 1×.{missing}",
        known.len()
    )
}

#[cfg(test)]
mod tests {
    use super::super::models::ReadRun;
    use super::super::questions::{LATEST_VALUE, PRIMARY};
    use super::super::rows::StudyResults;
    use super::super::test_cells::{cell, measured, study};
    use super::{binding, floor, gated, plain_text, primary, spread, trunks};

    #[test]
    fn a_row_has_mean_interval_extremes_and_retention_over_trunks() {
        let cells = [("all-1", 0.8), ("all-2", 0.9), ("all-3", 1.0)];
        let results = cells.into_iter().flat_map(|(model, share)| measured(model, [share, share, share / 2.0, 0.0]));
        let results = StudyResults::new(results.collect());
        // t is 4.302653 at 2 degrees of freedom; the standard error 10/√3 points.
        let text = primary(&results);
        assert!(text.contains("| DroPE | DroPE | 3 | 90.0 [65.2, 100.0] (80.0 to 100.0) |"), "{text}");
        assert!(text.contains("50.0 [50.0, 50.0] (50.0 to 50.0) |"), "{text}");
        assert_eq!(plain_text(&results, &ReadRun::plain("all")), "90.0 / 90.0 / 45.0 / 0.0");
        assert_eq!(spread(None), "–");
    }

    #[test]
    fn the_gate_parts_and_marks_trunks() {
        let cells = [("all-1", 0.9), ("all-2", 0.5), ("all-3", 0.8)];
        let cells = cells
            .into_iter()
            .flat_map(|(model, share)| [cell(model, &LATEST_VALUE, 1, share), cell(model, &LATEST_VALUE, 2, share)]);
        let results = StudyResults::new(cells.collect());
        let text = gated(&results, &LATEST_VALUE, &[1, 2]).unwrap();
        assert!(text.contains("| DroPE | DroPE | 85.0 (2), 50.0† (1) | 85.0 (2), 50.0† (1) |"), "{text}");
        assert_eq!(floor(&results, &LATEST_VALUE), "200 questions a cell; a random guess is right in 25.0 %");
        assert_eq!(gated(&results, &PRIMARY, &[1, 2]), None);
    }

    #[test]
    fn trunks_that_bind_are_counted_and_missing_ones_named() {
        let results = study(|run, trunk| if (run, trunk) == ("rope", 4) { [0.3; 4] } else { [0.9; 4] });
        assert!(binding(&results).starts_with("4 of 5 trunks learned"), "{}", binding(&results));
        assert!(trunks(&results).contains("| rope-4 | 30.0 % | – | no |"), "{}", trunks(&results));
        let one = StudyResults::new(measured("rope-2", [0.9; 4]));
        assert!(binding(&one).ends_with("Not measured: rope-1, rope-3, rope-4 and rope-5."), "{}", binding(&one));
    }
}
