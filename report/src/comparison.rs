//! How a score compares with others by their intervals.

use crate::markdown::{joined, line, or_dash};
use crate::number::{Number, Row};

/// Where no system is right more often than this, nothing is compared.
const LOST: f64 = 0.05;

/// One score among others at one length: names of the others, by where their intervals lie.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    pub extension: usize,
    pub score: Number,
    pub above: Vec<String>,
    pub level: Vec<String>,
    pub below: Vec<String>,
    /// Hardly a question is answered, by any system.
    pub is_lost: bool,
}

impl Comparison {
    pub fn new(extension: usize, ours: &Number, others: &[(&str, &Number)]) -> Self {
        let names = |test: &dyn Fn(&Number) -> bool| -> Vec<String> {
            others.iter().filter(|(_, score)| test(score)).map(|(name, _)| (*name).to_owned()).collect()
        };
        Self {
            extension,
            score: *ours,
            above: names(&|score| ours.is_above(score)),
            level: names(&|score| ours.touches(score)),
            below: names(&|score| score.is_above(ours)),
            is_lost: ours.value < LOST && others.iter().all(|(_, score)| score.value < LOST),
        }
    }

    /// Whether it is above all others, and there are some.
    pub fn is_first(&self) -> bool {
        !self.above.is_empty() && self.level.is_empty() && self.below.is_empty()
    }

    /// `At 2x YaRN (98.6 [97.1, 99.3]) is above cropping.`
    pub fn sentence(&self, name: &str) -> String {
        format!("At {}x {name} ({}) is {}.", self.extension, self.score.percent(), self.relations(&self.above))
    }

    /// `below NTK; above YaRN`
    pub fn relations_to_all(&self) -> String {
        self.relations(&self.above)
    }

    /// `first`, or those that it is not above.
    fn in_short(&self) -> String {
        match self.is_first() {
            _ if self.is_lost => "nobody answers".to_owned(),
            true => "**first**".to_owned(),
            false => self.relations(&[]),
        }
    }

    fn relations(&self, above: &[String]) -> String {
        let parts = [("below", &self.below[..]), ("level with", &self.level[..]), ("above", above)];
        let parts = parts.iter().filter(|(_, names)| !names.is_empty());
        let text = joined(parts.map(|(how, names)| format!("{how} {}", names.join(", "))), "; ");
        if text.is_empty() { "alone".to_owned() } else { text }
    }
}

/// A judged system on a task among the systems that are not judged, one comparison a length.
pub struct JudgedRow {
    task: String,
    system: String,
    comparisons: Vec<Option<Comparison>>,
}

/// Compares each of `judged` with the systems that are not, at each length; those that are not measured are left out.
pub fn judge(task: &str, judged: &[&str], extensions: &[usize], rows: &[Row]) -> Vec<JudgedRow> {
    let is_judged = |row: &&Row| judged.contains(&&*row.system);
    let others: Vec<&Row> = rows.iter().filter(|row| !is_judged(row)).collect();
    let compared = |row: &Row, s: usize| -> Option<Comparison> {
        let others: Vec<_> = others.iter().filter_map(|other| Some((&*other.system, other.at(s)?))).collect();
        Some(Comparison::new(s, row.at(s)?, &others))
    };
    let judged = rows.iter().filter(is_judged).map(|row| JudgedRow {
        task: task.to_owned(),
        system: row.system.clone(),
        comparisons: extensions.iter().map(|&s| compared(row, s)).collect(),
    });
    judged.filter(|row| row.comparisons.iter().any(Option::is_some)).collect()
}

/// Lines of a table with a column a length: `first`, or those that it is not above.
pub fn lines(judged: &[JudgedRow]) -> impl Iterator<Item = Vec<String>> {
    let in_short = |comparison: &Option<Comparison>| or_dash(comparison.as_ref().map(Comparison::in_short));
    judged.iter().map(move |row| line(format!("{}: {}", row.task, row.system), row.comparisons.iter().map(in_short)))
}

/// What the paper has, and at which lengths it is so here; `judged` has the rows of one task after the other.
pub fn ordering(claim: &str, judged: &[JudgedRow]) -> String {
    let first_at = |row: &JudgedRow| {
        let first = row.comparisons.iter().flatten().filter(|comparison| comparison.is_first());
        let lengths = joined(first.map(|comparison| format!("{}x", comparison.extension)), " and ");
        format!("{} at {}", row.system, if lengths.is_empty() { "no length" } else { &lengths })
    };
    let by_task = judged.chunk_by(|one, other| one.task == other.task);
    let lines = by_task.map(|rows| format!("- {}: {}.", rows[0].task, joined(rows.iter().map(first_at), "; ")));
    format!("{claim} Here it is first, with intervals apart, for\n\n{}", joined(lines, "\n"))
}

#[cfg(test)]
mod tests {
    use super::{judge, lines, ordering};
    use crate::number::Row;
    use crate::number::made_up::row;

    #[test]
    fn only_intervals_that_are_apart_make_a_first() {
        let row = |system: &str, shares: &[f64]| -> Row {
            row(system, 0.05, &(1..).zip(shares.iter().copied()).collect::<Vec<_>>())
        };
        let rows = [
            row("YaRN", &[0.5, 0.5, 0.5, 0.0]),
            row("NTK", &[0.2, 0.85, 0.5, 0.0]),
            // Never measured beyond the first length; judged ones are not each other's rivals.
            row("PI", &[0.1]),
            row("DroPE", &[0.7, 0.7, 0.55, 0.0]),
            row("partial DroPE", &[0.7]),
        ];
        let judged = judge("single", &["DroPE", "partial DroPE"], &[1, 2, 3, 4], &rows);
        let lines: Vec<_> = lines(&judged).collect();
        assert_eq!(lines[0], ["single: DroPE", "**first**", "below NTK", "level with YaRN, NTK", "nobody answers"]);
        assert_eq!(lines[1], ["single: partial DroPE", "**first**", "–", "–", "–"]);
        assert!(ordering("", &judged).ends_with("- single: DroPE at 1x; partial DroPE at 1x."));
    }
}
