//! How scores stand to each other by their intervals.

use drope_core::results::Cell;

use super::report::{at, percent};

/// Systems and their scores.
pub type Rows = Vec<(&'static str, Vec<Cell>)>;

/// Names of the others, by where their intervals lie.
pub struct Comparison<'a> {
    above: Vec<&'a str>,
    level: Vec<&'a str>,
    below: Vec<&'a str>,
}

/// How one score stands among others.
pub fn compare<'a>(ours: &Cell, others: &[(&'a str, &Cell)]) -> Comparison<'a> {
    let names = |test: &dyn Fn(&Cell) -> bool| -> Vec<&'a str> {
        others.iter().filter(|(_, cell)| test(cell)).map(|(name, _)| *name).collect()
    };
    Comparison {
        above: names(&|cell| cell.ci95[1] < ours.ci95[0]),
        level: names(&|cell| touch(cell, ours)),
        below: names(&|cell| cell.ci95[0] > ours.ci95[1]),
    }
}

impl Comparison<'_> {
    /// Whether it is above all others, and there are some.
    pub fn is_first(&self) -> bool {
        !self.above.is_empty() && self.level.is_empty() && self.below.is_empty()
    }

    /// `At 2x YaRN (98.6 [97.1, 99.3]) is above cropping.`
    pub fn sentence(&self, name: &str, ours: &Cell) -> String {
        format!("At {}x {name} ({}) is {}.", ours.extension, percent(Some(ours)), self.relations(true))
    }

    /// `first`, or those that it is not above.
    fn in_short(&self) -> String {
        if self.is_first() { "**first**".into() } else { self.relations(false) }
    }

    fn relations(&self, with_above: bool) -> String {
        let above = if with_above { &self.above[..] } else { &[] };
        let parts = [("below", &self.below[..]), ("level with", &self.level[..]), ("above", above)];
        let parts = parts.iter().filter(|(_, names)| !names.is_empty());
        let parts: Vec<String> = parts.map(|(how, names)| format!("{how} {}", names.join(", "))).collect();
        if parts.is_empty() { "alone".into() } else { parts.join("; ") }
    }
}

/// Whether the intervals of two cells have a number in common.
pub fn touch(one: &Cell, other: &Cell) -> bool {
    one.ci95[1] >= other.ci95[0] && one.ci95[0] <= other.ci95[1]
}

/// Where no system is right more often than this, nothing is compared.
const LOST: f64 = 0.05;

/// What the lists of [`judge`] say.
pub const ORDERING: &str = "The paper has DroPE first at every length. That holds here, with intervals apart, for\n\n";

/// A row of short standings, one a length, for each of `judged`, among the systems that are not judged; and the lengths at
/// which each is first.
pub fn judge(task: &str, judged: &[&str], extensions: &[usize], rows: &Rows) -> (Vec<Vec<String>>, String) {
    let is_judged = |name: &str| judged.contains(&name);
    let (mut lines, mut verdicts) = (Vec::new(), Vec::new());
    for (name, cells) in rows.iter().filter(|(name, _)| is_judged(name)) {
        let mut line = vec![format!("{task}: {name}")];
        let mut first = Vec::new();
        let mut is_measured = false;
        for &s in extensions {
            let others = rows.iter().filter(|(other, _)| !is_judged(other));
            let others: Vec<(&str, &Cell)> =
                others.filter_map(|(other, cells)| Some((*other, at(cells, s)?))).collect();
            let Some(ours) = at(cells, s) else {
                line.push("–".into());
                continue;
            };
            is_measured = true;
            let place = compare(ours, &others);
            if place.is_first() {
                first.push(format!("{s}x"));
            }
            let is_lost = others.iter().all(|(_, cell)| cell.accuracy < LOST) && ours.accuracy < LOST;
            line.push(if is_lost { "nobody answers".into() } else { place.in_short() });
        }
        if is_measured {
            let lengths = if first.is_empty() { "no length".into() } else { first.join(" and ") };
            verdicts.push(format!("{name} at {lengths}"));
            lines.push(line);
        }
    }
    (lines, format!("- {task}: {}.", verdicts.join("; ")))
}

#[cfg(test)]
mod tests {
    use drope_core::results::Cell;
    use serde_json::json;

    use super::judge;

    /// A cell of one length whose interval reaches 0.05 to both sides.
    fn cell(extension: usize, accuracy: f64) -> Cell {
        serde_json::from_value(json!({
            "model": "", "method": "rope", "task": "single", "values": "numbers", "extension": extension, "context": 0, "trials": 100,
            "correct": 0, "accuracy": accuracy, "string_match": 0.0, "ci95": [accuracy - 0.05, accuracy + 0.05], "seed": 1,
            "beta": 1.0,
        }))
        .unwrap()
    }

    #[test]
    fn only_intervals_that_are_apart_make_a_first() {
        let at = |accuracies: &[f64]| accuracies.iter().zip(1..).map(|(&share, s)| cell(s, share)).collect();
        let rows = vec![
            ("YaRN", at(&[0.5, 0.5, 0.5, 0.0])),
            ("NTK", at(&[0.2, 0.85, 0.5, 0.0])),
            // Never measured beyond the first length; judged ones are not each other's rivals.
            ("PI", at(&[0.1])),
            ("DroPE", at(&[0.7, 0.7, 0.55, 0.0])),
            ("partial DroPE", at(&[0.7])),
        ];
        let (lines, verdict) = judge("single", &["DroPE", "partial DroPE"], &[1, 2, 3, 4], &rows);
        assert_eq!(lines[0], ["single: DroPE", "**first**", "below NTK", "level with YaRN, NTK", "nobody answers"]);
        assert_eq!(lines[1], ["single: partial DroPE", "**first**", "–", "–", "–"]);
        assert_eq!(verdict, "- single: DroPE at 1x; partial DroPE at 1x.");
    }
}
