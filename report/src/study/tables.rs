//! The tables of docs/study.md.

use std::collections::BTreeSet;

use drope_core::results::RetrievalCell;

use super::hypotheses::{HypothesisTest, TrunkPart};
use super::models::{ReadRun, TRUNK, TRUNKS, title};
use super::paired_tests::{PairedTest, lengths};
use super::questions::{self, LENGTHS, MULTI_KEY, PRIMARY, StudyTask};
use super::rows::{OverTrunks, StudyResults};
use super::sentences::{interval_text, p_text, plain_text, points};
use crate::markdown::{DASH, by_length, joined, line, list, or_dash, percent, table};

/// Beside the score of a model below the gate's threshold.
const THRESHOLD_MARK: &str = "†";

/// What the trunks answer at 1×, read plainly, and whether that passes the gate.
pub fn trunks(results: &StudyResults) -> String {
    let read = ReadRun::plain(TRUNK);
    let row = |trunk: usize| {
        let passes =
            results.passes_threshold_at_1x(&read, trunk, &PRIMARY).map(|passes| if passes { "yes" } else { "no" });
        let accuracy = |task| results.cell(&read, trunk, task, 1).map(|cell| percent(cell.accuracy));
        let cells = [accuracy(&PRIMARY), accuracy(&MULTI_KEY), passes.map(str::to_owned)];
        line(format!("{TRUNK}-{trunk}"), cells.map(or_dash))
    };
    table(["trunk", PRIMARY.name, MULTI_KEY.name, "binds values to keys"], TRUNKS.map(row))
}

/// The primary task: accuracy over all trunks, and retention over those that pass the gate.
pub fn primary(results: &StudyResults) -> String {
    let row = |read: &ReadRun| {
        let measured_at = |s: usize| results.trunks(read, &PRIMARY, s).len();
        let passing = TRUNKS.filter(|&t| results.passes_threshold_at_1x(read, t, &PRIMARY) == Some(true)).count();
        let trunks = match measured_at(1) {
            0 => format!("{}, 1× not measured", LENGTHS.map(measured_at).into_iter().max().unwrap_or(0)),
            measured if passing == measured => measured.to_string(),
            measured => format!("{passing} of {measured} pass the gate"),
        };
        let shares = LENGTHS.map(|s| spread(results.accuracy(read, &PRIMARY, s)));
        let kept: Vec<f64> = TRUNKS.filter_map(|trunk| results.retention(read, trunk, &PRIMARY)).collect();
        // Retention can be no more than all questions beyond 1× against the mean accuracy there.
        let most = results.accuracy(read, &PRIMARY, 1).map_or(1.0, |own| 1.0 / own.mean);
        let retention = spread(OverTrunks::of(&kept).map(|over| over.at_most(most)));
        line(title(&read.run), [read.reading.text(), trunks].into_iter().chain(shares).chain([retention]))
    };
    let header = ["run", "reading", "trunks", "1×", "2×", "4×", "8×", "retention"];
    table(header, results.read_runs(&PRIMARY).iter().map(row))
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
    let is_shown = |read: &ReadRun| lengths.iter().any(|&s| !results.trunks(read, task, s).is_empty());
    let shown: Vec<ReadRun> = results.read_runs(task).into_iter().filter(is_shown).collect();
    let row = |read: &ReadRun| {
        let shares = lengths.iter().map(|&s| by_threshold(results, read, task, s));
        line(title(&read.run), std::iter::once(read.reading.text()).chain(shares))
    };
    (!shown.is_empty()).then(|| table(line("run", by_length("reading", lengths)), shown.iter().map(row)))
}

fn by_threshold(results: &StudyResults, read: &ReadRun, task: &StudyTask, extension: usize) -> String {
    let cells = results.trunks(read, task, extension).into_iter().map(|(_, cell)| cell);
    let (passing, failing): (Vec<_>, Vec<_>) = cells.partition(|cell| results.passes_threshold(cell) == Some(true));
    let text = |cells: &[_], mark: &str| {
        OverTrunks::of_cells(cells).map(|over| format!("{:.1}{mark} ({})", 100.0 * over.mean, over.trunks))
    };
    let parts = joined([text(&passing, ""), text(&failing, THRESHOLD_MARK)].into_iter().flatten(), ", ");
    or_dash((!parts.is_empty()).then_some(parts))
}

/// Number of questions and floor of a task at its own lengths, as its cells say.
pub fn floor(results: &StudyResults, task: &StudyTask) -> String {
    let cells = || results.of_task(task).filter(|cell| task.lengths.contains(&cell.extension));
    // Where all values of the text are asked for, the guess that takes all of them is right.
    let floors: BTreeSet<String> =
        cells().map(RetrievalCell::chance_level).filter(|floor| *floor < 1.0).map(percent).collect();
    let questions: BTreeSet<usize> = cells().map(|cell| cell.trials).collect();
    let guess = if floors.is_empty() {
        "all values of the text are asked for, so that guessing among them is no floor".to_owned()
    } else {
        format!("a random guess is right in {}", joined(floors, " or "))
    };
    format!("{} questions a cell; {guess}", joined(questions.iter().map(usize::to_string), " or "))
}

/// The four hypotheses.
pub fn hypotheses(results: &StudyResults, tests: &[HypothesisTest]) -> String {
    let row = |test: &HypothesisTest| {
        let sides = test.sides.each_ref().map(|side| format!("{}: {}", side.text(), plain_text(results, side)));
        let trunks = test.trunks.iter().map(|&(trunk, part)| format!("{trunk}: {}", part_text(part)));
        let numbers = [
            test.interval.as_ref().map(interval_text),
            test.interval.map(|interval| p_text(interval.p_value)),
            test.p_holm.map(p_text),
        ];
        let last = [joined(trunks, "; "), test.verdict.word().to_owned()];
        line(test.number.to_string(), sides.into_iter().chain(numbers.map(or_dash)).chain(last))
    };
    let header = ["", "first", "second", "difference in retention", "p", "Holm", "each trunk", "verdict"];
    table(header, tests.iter().map(row))
}

fn part_text(part: TrunkPart) -> String {
    match part {
        TrunkPart::Enters(difference) => points(difference).replace(" points", ""),
        TrunkPart::BelowThreshold => "below the threshold".to_owned(),
        TrunkPart::Incomplete => "incomplete".to_owned(),
        TrunkPart::NotPaired => "not measured".to_owned(),
    }
}

/// Plain accuracies of all trunks, in place of a test.
pub fn untested(results: &StudyResults, test: &HypothesisTest) -> String {
    let row = |side: &ReadRun, trunk: usize| {
        let share = |s| results.cell(side, trunk, &PRIMARY, s).map(|cell| percent(cell.accuracy));
        line(side.text(), std::iter::once(trunk.to_string()).chain(LENGTHS.map(|s| or_dash(share(s)))))
    };
    let rows = test.sides.iter().flat_map(|side| TRUNKS.map(move |trunk| row(side, trunk)));
    table(["model", "trunk", "1×", "2×", "4×", "8×"], rows)
}

/// McNemar's tests of a pair, a row a task and length; `None` where no trunk could be tested.
pub fn paired(tests: &[PairedTest]) -> Option<String> {
    let of_length = |task: &StudyTask, extension: usize| {
        let is_here = |test: &&PairedTest| (test.task, test.extension) == (task.name, extension);
        let here: Vec<&PairedTest> = tests.iter().filter(is_here).collect();
        let text = |trunk: usize| {
            let PairedTest { mcnemar, p_holm, .. } = here.iter().find(|test| test.trunk == trunk)?;
            let mark = if *p_holm < 0.05 { "**" } else { "" };
            Some(format!("{mark}{} : {}, {}{mark}", mcnemar.only_first, mcnemar.only_second, p_text(*p_holm)))
        };
        let cells = TRUNKS.map(|trunk| or_dash(text(trunk)));
        (!here.is_empty()).then(|| line(task.name, std::iter::once(format!("{extension}×")).chain(cells)))
    };
    let rows = questions::all().flat_map(|task| lengths(&task).into_iter().filter_map(move |s| of_length(&task, s)));
    let header = line("task", std::iter::once("length".to_owned()).chain(TRUNKS.map(|trunk| format!("trunk {trunk}"))));
    (!tests.is_empty()).then(|| table(header, rows))
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
