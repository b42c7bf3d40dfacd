//! Retrieval against length on the primary task, a line a method: what the figure and the page show.

use drope_core::positions::{Method, Parameters};
use drope_core::results::{LinePoint, MethodLine, RetrievalCell, StudyFigure, rounded};

use super::hypotheses::{HypothesisTest, TrunkPart};
use super::models::{ReadRun, StudyReading, TRUNKS};
use super::paired_tests::lengths;
use super::questions::{LENGTHS, PRIMARY};
use super::rows::StudyResults;
use super::sentences::findings;
use crate::markdown::{line, or_dash, table};
use crate::plot::{self, Plot, PlotLine, PlotPoint};

/// What is drawn: name, run, and whether it is read as was chosen on the selection split, which leaves it out where nothing
/// was, in place of plainly.
const DRAWN: [(&str, &str, bool); 9] = [
    ("DroPE with copies", "all-copies", false),
    ("partial DroPE with copies", "low-copies", false),
    ("DroPE", "all", false),
    ("partial DroPE", "low", false),
    ("RoPE with copies, at its best", "keep-copies", true),
    ("RoPE, at its best", "keep", true),
    ("YaRN, trained further", "yarn", false),
    ("PI, trained further", "pi", false),
    ("RoPE, read plainly", "keep", false),
];

/// What the page's first screen asks: name, run, method and place in [`DRAWN`] of the line with its colour. YaRN there reads what was
/// trained with RoPE; the last is what the others are held against.
const PLAYED: [(&str, &str, Method, usize); 4] = [
    ("RoPE", "keep", Method::Rope, 8),
    ("YaRN", "keep", Method::Yarn, 5),
    ("partial DroPE with copies", "low-copies", Method::PDrope, 1),
    ("RoPE with copies", "keep-copies", Method::DynamicNtk, 4),
];

/// The methods that were measured, in a fixed order, and what the tests say. DroPE and the trained-on scalings are read as in the
/// comparisons.
pub fn figure(results: &StudyResults, tests: &[HypothesisTest]) -> StudyFigure {
    let line = |(style, &(name, run, at_best)): (usize, &(&str, &str, bool))| {
        let read = match (at_best, run) {
            (true, _) => results.at_its_best(run)?,
            (false, "keep") => ReadRun::plain(run),
            _ => super::hypotheses::compared(results, run),
        };
        let mut points: Vec<LinePoint> = lengths(&PRIMARY).iter().filter_map(|&s| point(results, &read, s)).collect();
        // A mean over fewer trunks than the others of the line is in the tables alone.
        let trunks = points.iter().map(|point| point.trunks).max();
        points.retain(|point| Some(point.trunks) == trunks);
        let is_measured = !points.is_empty();
        let (name, run) = (name.to_owned(), read.run);
        let (method, parameters) = (read.reading.method, read.reading.parameters);
        is_measured.then_some(MethodLine { name, run, method, parameters, style, points })
    };
    let mut methods: Vec<MethodLine> = DRAWN.iter().enumerate().filter_map(line).collect();
    // RoPE that is best read plainly is one line.
    let plain = ReadRun::plain("keep");
    let is_plain = |line: &MethodLine| {
        (&line.run, line.method) == (&plain.run, plain.reading.method) && line.parameters.is_empty()
    };
    if methods.iter().filter(|line| is_plain(line)).count() > 1 {
        methods.pop();
    }
    let is_measured = |s: &usize| methods.iter().any(|line| line.points.iter().any(|point| point.extension == *s));
    let lengths = lengths(&PRIMARY).into_iter().filter(is_measured).collect();
    let floor = results.of_task(&PRIMARY).map(RetrievalCell::chance_level).fold(0.0, f64::max);
    let is_complete = |(_, part): &&(usize, TrunkPart)| *part != TrunkPart::Incomplete;
    let complete = tests.iter().map(|test| test.trunks.iter().filter(is_complete).count()).min().unwrap_or(0);
    let trunks = [complete, TRUNKS.count()];
    let (task, findings, played) = (PRIMARY.name.to_owned(), findings(results, tests), played(results));
    StudyFigure { task, floor, lengths, trunks, findings, rivals: Vec::new(), methods, played }
}

/// The rows of [`by_length`], and their names in [`DRAWN`].
const BRIEF: [(&str, &str); 6] = [
    ("RoPE", "RoPE, read plainly"),
    ("RoPE, best scaling", "RoPE, at its best"),
    ("RoPE with copies, best scaling", "RoPE with copies, at its best"),
    ("DroPE", "DroPE"),
    ("DroPE with copies", "DroPE with copies"),
    ("partial DroPE with copies", "partial DroPE with copies"),
];

/// Some of the figure's lines as a table, in percent.
pub fn by_length(figure: &StudyFigure) -> String {
    let row = |&(name, drawn): &(&str, &str)| {
        let found = figure.methods.iter().find(|line| line.name == drawn);
        let share = |extension: usize| {
            let point = found?.points.iter().find(|point| point.extension == extension)?;
            Some(format!("{:.0}", 100.0 * point.mean))
        };
        line(name, LENGTHS.map(|extension| or_dash(share(extension))))
    };
    table(["", "1×", "2×", "4×", "8×"], BRIEF.iter().map(row))
}

/// The lines of [`PLAYED`]. The last is read at its best where that is its method.
fn played(results: &StudyResults) -> Vec<MethodLine> {
    let line = |&(name, run, method, style): &(&str, &str, Method, usize)| {
        let at_best = results.at_its_best(run).filter(|read| run == "keep-copies" && read.reading.method == method);
        let plain = StudyReading { method, parameters: Parameters::default() };
        let read = at_best.unwrap_or_else(|| ReadRun { run: run.to_owned(), reading: plain });
        let points = lengths(&PRIMARY).iter().filter_map(|&s| point(results, &read, s)).collect();
        let (run, parameters) = (read.run, read.reading.parameters);
        MethodLine { name: name.to_owned(), run, method, parameters, style, points }
    };
    PLAYED.iter().map(line).collect()
}

/// As it is drawn.
pub fn plot(figure: &StudyFigure) -> Plot<'static> {
    let lines = figure.methods.iter().map(|line| {
        let point = |point: &LinePoint| {
            let [y, low, high] = [point.mean, point.low, point.high].map(|share| 100.0 * share);
            PlotPoint { x: (point.extension as f64).log2(), y, low, high }
        };
        let points = line.points.iter().map(point).collect();
        PlotLine { name: line.name.clone(), style: line.style, points }
    });
    let longest = figure.lengths.iter().copied().max().unwrap_or(1);
    let level = Some((100.0 * figure.floor, "a random guess"));
    Plot { level, ..plot::by_length(longest, plot::EXACT_ANSWERS, lines.collect()) }
}

fn point(results: &StudyResults, read: &ReadRun, extension: usize) -> Option<LinePoint> {
    let over = results.accuracy(read, &PRIMARY, extension)?;
    let cells = results.trunks(read, &PRIMARY, extension);
    let questions = cells.iter().map(|(_, cell)| cell.trials).min()?;
    let [mean, low, high] = [over.mean, over.low, over.high].map(rounded);
    Some(LinePoint { extension, mean, low, high, trunks: over.trunks, questions })
}

#[cfg(test)]
mod tests {
    use drope_core::positions::{Method, Parameters};

    use super::super::hypotheses::test_all;
    use super::super::questions::PRIMARY;
    use super::super::rows::StudyResults;
    use super::super::test_cells::{cell, measured, plain_selection, read_with, selected, study, study_cells};
    use super::{MethodLine, StudyFigure};

    fn figure(results: &StudyResults) -> StudyFigure {
        super::figure(results, &test_all(results))
    }

    #[test]
    fn a_line_has_the_mean_and_the_extremes_of_its_trunks() {
        let drawn = figure(&study(|_, trunk| [0.5 + 0.1 * trunk as f64 - 0.1; 4]));
        assert_eq!(drawn.lengths, [1, 2, 4, 8]);
        let names: Vec<&str> = drawn.methods.iter().map(|line| &*line.name).collect();
        assert_eq!((names.len(), names[0], names[7]), (8, "DroPE with copies", "PI, trained further"));
        let point = &drawn.methods[0].points[3];
        assert!((point.mean - 0.7).abs() < 1e-9 && (point.low, point.high) == (0.5, 0.9), "{point:?}");
        assert_eq!((point.trunks, point.questions, drawn.floor), (5, 200, 0.25));
        assert!(drawn.trunks == [5, 5] && !drawn.is_interim());
        assert_eq!(drawn.findings.len(), 3, "hypotheses 1 to 3");
    }

    #[test]
    fn what_is_played_has_every_length_whatever_number_of_trunks_it_is_of() {
        let far = cell("low-copies-1", &PRIMARY, 64, 0.8);
        let drawn = figure(&StudyResults::new([study_cells(|_, _| [0.9; 4]), vec![far]].concat()));
        let points =
            |line: &MethodLine| line.points.iter().map(|point| (point.extension, point.trunks)).collect::<Vec<_>>();
        assert_eq!(points(&drawn.played[2]), [(1, 5), (2, 5), (4, 5), (8, 5), (64, 1)]);
        assert_eq!(drawn.played[1].points, [], "nobody read it with YaRN");
        assert_eq!(drawn.lengths, [1, 2, 4, 8], "the figure is of all trunks");
    }

    #[test]
    fn a_rival_is_drawn_at_its_best_beside_its_plain_reading() {
        let yarn = read_with(Method::Yarn, &Parameters::default(), measured("keep-1", [0.9; 4]));
        let cells = [measured("keep-1", [0.9, 0.1, 0.0, 0.0]), yarn].concat();
        let yarn = read_with(Method::Yarn, &Parameters::default(), selected("keep-1", [0.9; 3]));
        let chosen = figure(&StudyResults::new([cells.clone(), yarn].concat()));
        let lines: Vec<(&str, f64)> = chosen.methods.iter().map(|line| (&*line.name, line.points[3].mean)).collect();
        assert_eq!(lines, [("RoPE, at its best", 0.9), ("RoPE, read plainly", 0.0)]);
        let unchosen = figure(&StudyResults::new(cells.clone()));
        assert!(unchosen.is_interim());
        assert_eq!(unchosen.methods.len(), 1, "without a selection nothing is at its best");
        assert_eq!(
            figure(&StudyResults::new([cells, plain_selection()].concat())).methods.len(),
            1,
            "one line, not two"
        );
    }
}
