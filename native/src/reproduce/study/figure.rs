//! Retrieval against length on the primary task, a line a method: what the figure and the page show.

use drope_core::results::{Cell, rounded};
use serde::Serialize;

use super::models::{ReadRun, StudyReading};
use super::paired_tests::lengths;
use super::plot::{self, Plot, PlotLine, PlotPoint};
use super::questions::PRIMARY;
use super::rows::StudyResults;

/// The figure.
#[derive(Debug, PartialEq, Serialize)]
pub struct StudyFigure {
    pub task: &'static str,
    /// The random-guess floor, from 0 to 1.
    pub floor: f64,
    /// Multiples of the training context.
    pub lengths: Vec<usize>,
    pub methods: Vec<MethodLine>,
}

/// The line of a method.
#[derive(Debug, PartialEq, Serialize)]
pub struct MethodLine {
    pub name: String,
    pub run: String,
    #[serde(flatten)]
    pub reading: StudyReading,
    /// Place in the list of what is drawn, so that a method looks alike whatever else is there.
    #[serde(skip)]
    pub style: usize,
    pub points: Vec<LinePoint>,
}

/// Accuracies at one length, from 0 to 1.
#[derive(Debug, PartialEq, Serialize)]
pub struct LinePoint {
    pub extension: usize,
    /// Over trunks.
    pub mean: f64,
    /// Of the lowest trunk.
    pub low: f64,
    /// Of the highest trunk.
    pub high: f64,
    pub trunks: usize,
    /// Asked of each trunk; the fewest.
    pub questions: usize,
}

/// What is drawn: name, run, and whether it is read as was chosen on the selection split, which leaves it out where nothing
/// was, in place of plainly.
const DRAWN: [(&str, &str, bool); 9] = [
    ("DroPE with copies", "all-copies", false),
    ("partial DroPE with copies", "low-copies", false),
    ("DroPE", "all", false),
    ("partial DroPE", "low", false),
    ("RoPE with copies, at its best", "keep-copies", true),
    ("RoPE, at its best", "keep", true),
    ("YaRN, trained on", "yarn", false),
    ("PI, trained on", "pi", false),
    ("RoPE, read plainly", "keep", false),
];

/// The methods that were measured, in a fixed order. DroPE and the trained-on scalings are read as in the comparisons.
pub fn figure(results: &StudyResults) -> StudyFigure {
    let line = |(style, &(name, run, at_best)): (usize, &(&str, &str, bool))| {
        let read = match (at_best, run) {
            (true, _) => results.at_its_best(run)?,
            (false, "keep") => ReadRun::plain(run),
            _ => super::hypotheses::compared(results, run),
        };
        let points: Vec<LinePoint> = lengths(&PRIMARY).iter().filter_map(|&s| point(results, &read, s)).collect();
        let is_measured = !points.is_empty();
        is_measured.then(|| MethodLine { name: name.to_owned(), run: read.run, reading: read.reading, style, points })
    };
    let mut methods: Vec<MethodLine> = DRAWN.iter().enumerate().filter_map(line).collect();
    // RoPE that is best read plainly is one line.
    let plain = ReadRun::plain("keep");
    let is_plain = |line: &MethodLine| (&line.run, &line.reading) == (&plain.run, &plain.reading);
    if methods.iter().filter(|line| is_plain(line)).count() > 1 {
        methods.pop();
    }
    let is_measured = |s: &usize| methods.iter().any(|line| line.points.iter().any(|point| point.extension == *s));
    let lengths = lengths(&PRIMARY).into_iter().filter(is_measured).collect();
    let floor = results.of_task(&PRIMARY).map(Cell::guess_floor).fold(0.0, f64::max);
    StudyFigure { task: PRIMARY.name, floor, lengths, methods }
}

impl StudyFigure {
    /// As it is drawn.
    pub fn plot(&self) -> Plot<'static> {
        let lines = self.methods.iter().map(|line| {
            let point = |point: &LinePoint| {
                let [y, low, high] = [point.mean, point.low, point.high].map(|share| 100.0 * share);
                PlotPoint { x: (point.extension as f64).log2(), y, low, high }
            };
            let points = line.points.iter().map(point).collect();
            PlotLine { name: line.name.clone(), style: line.style, points }
        });
        let longest = self.lengths.iter().copied().max().unwrap_or(1);
        let level = Some((100.0 * self.floor, "a random guess"));
        Plot { level, ..plot::by_length(longest, plot::EXACT_ANSWERS, lines.collect()) }
    }
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

    use super::super::rows::StudyResults;
    use super::super::test_cells::{measured, plain_selection, read_with, selected, study};
    use super::figure;

    #[test]
    fn a_line_has_the_mean_and_the_extremes_of_its_trunks() {
        let drawn = figure(&study(|_, trunk| [0.5 + 0.1 * trunk as f64 - 0.1; 4]));
        assert_eq!(drawn.lengths, [1, 2, 4, 8]);
        let names: Vec<&str> = drawn.methods.iter().map(|line| &*line.name).collect();
        assert_eq!((names.len(), names[0], names[7]), (8, "DroPE with copies", "PI, trained on"));
        let point = &drawn.methods[0].points[3];
        assert!((point.mean - 0.7).abs() < 1e-9 && (point.low, point.high) == (0.5, 0.9), "{point:?}");
        assert_eq!((point.trunks, point.questions, drawn.floor), (5, 200, 0.25));
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
        assert_eq!(unchosen.methods.len(), 1, "without a selection nothing is at its best");
        assert_eq!(
            figure(&StudyResults::new([cells, plain_selection()].concat())).methods.len(),
            1,
            "one line, not two"
        );
    }
}
