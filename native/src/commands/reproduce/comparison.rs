//! How scores compare by their intervals.

use serde::Serialize;

use super::markdown;
use super::score::{Score, ScoreRow};
use super::verdict::Verdict;

/// Where no system is right more often than this, nothing is compared.
const LOST: f64 = 0.05;

/// One score among others at one length: names of the others, by where their intervals lie.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    pub score: Score,
    pub above: Vec<String>,
    pub level: Vec<String>,
    pub below: Vec<String>,
    /// Hardly a question is answered, by any system.
    pub is_lost: bool,
}

impl Comparison {
    pub fn new(ours: &Score, others: &[(&str, &Score)]) -> Self {
        let names = |test: &dyn Fn(&Score) -> bool| -> Vec<String> {
            others.iter().filter(|(_, score)| test(score)).map(|(name, _)| (*name).to_owned()).collect()
        };
        Self {
            score: *ours,
            above: names(&|score| ours.is_above(score)),
            level: names(&|score| ours.touches(score)),
            below: names(&|score| score.is_above(ours)),
            is_lost: ours.share < LOST && others.iter().all(|(_, score)| score.share < LOST),
        }
    }

    /// Whether it is above all others, and there are some.
    pub fn is_first(&self) -> bool {
        !self.above.is_empty() && self.level.is_empty() && self.below.is_empty()
    }

    /// That it is first.
    fn verdict(&self) -> Verdict {
        if self.is_first() {
            Verdict::Holds
        } else if self.below.is_empty() {
            Verdict::NotShown
        } else {
            Verdict::DoesNotHold
        }
    }

    /// `At 2x YaRN (98.6 [97.1, 99.3]) is above cropping.`
    pub fn sentence(&self, name: &str) -> String {
        let Self { score, above, .. } = self;
        format!("At {}x {name} ({}) is {}.", score.extension, score.text(), self.relations(above))
    }

    /// `below NTK; above YaRN`
    pub fn relations_to_all(&self) -> String {
        self.relations(&self.above)
    }

    /// `first`, or those that it is not above.
    fn in_short(&self) -> String {
        if self.is_lost {
            "nobody answers".to_owned()
        } else if self.is_first() {
            "**first**".to_owned()
        } else {
            self.relations(&[])
        }
    }

    fn relations(&self, above: &[String]) -> String {
        let parts = [("below", &self.below[..]), ("level with", &self.level[..]), ("above", above)];
        let parts = parts.iter().filter(|(_, names)| !names.is_empty());
        let parts: Vec<String> = parts.map(|(how, names)| format!("{how} {}", names.join(", "))).collect();
        if parts.is_empty() { "alone".to_owned() } else { parts.join("; ") }
    }
}

/// A judged system on a task among the systems that are not judged, one comparison a length.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct JudgedRow {
    pub task: String,
    pub system: String,
    pub comparisons: Vec<Option<Comparison>>,
    /// That it is first at every length, as the paper has it.
    pub is_first_everywhere: Verdict,
}

/// Compares each of `judged` with the systems that are not, at each length; those that are not measured are left out.
pub fn judge(task: &str, judged: &[&str], extensions: &[usize], rows: &[ScoreRow]) -> Vec<JudgedRow> {
    let is_judged = |row: &&ScoreRow| judged.contains(&&*row.system);
    let others: Vec<&ScoreRow> = rows.iter().filter(|row| !is_judged(row)).collect();
    let compared = |row: &ScoreRow, s: usize| -> Option<Comparison> {
        let others: Vec<_> = others.iter().filter_map(|other| Some((&*other.system, other.at(s)?))).collect();
        Some(Comparison::new(row.at(s)?, &others))
    };
    let judged = rows.iter().filter(is_judged).map(|row| {
        let comparisons: Vec<_> = extensions.iter().map(|&s| compared(row, s)).collect();
        let is_first_everywhere = Verdict::all(comparisons.iter().flatten().map(Comparison::verdict));
        JudgedRow { task: task.to_owned(), system: row.system.clone(), comparisons, is_first_everywhere }
    });
    judged.filter(|row| row.comparisons.iter().any(Option::is_some)).collect()
}

/// A line of a table with a column a length: `first`, or those that it is not above.
pub fn line(row: &JudgedRow) -> Vec<String> {
    let cell = |comparison: &Option<Comparison>| {
        comparison.as_ref().map_or_else(|| markdown::DASH.to_owned(), Comparison::in_short)
    };
    let name = format!("{}: {}", row.task, row.system);
    std::iter::once(name).chain(row.comparisons.iter().map(cell)).collect()
}

/// What the paper has, and at which lengths it is so here; `judged` has the rows of one task after the other.
pub fn ordering(claim: &str, judged: &[JudgedRow]) -> String {
    let first_at = |row: &JudgedRow| {
        let first = row.comparisons.iter().flatten().filter(|comparison| comparison.is_first());
        let lengths: Vec<String> = first.map(|comparison| format!("{}x", comparison.score.extension)).collect();
        let lengths = if lengths.is_empty() { "no length".to_owned() } else { lengths.join(" and ") };
        format!("{} at {lengths}", row.system)
    };
    let by_task = judged
        .chunk_by(|one, other| one.task == other.task)
        .map(|rows| format!("- {}: {}.", rows[0].task, rows.iter().map(first_at).collect::<Vec<_>>().join("; ")));
    let lines: Vec<String> = by_task.collect();
    format!("{claim} Here it is first, with intervals apart, for\n\n{}", lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::super::score::{Score, ScoreRow};
    use super::super::verdict::Verdict;
    use super::{judge, line, ordering};

    /// Scores of the lengths 1, 2, …, whose intervals reach 0.05 to both sides.
    fn row(system: &str, shares: &[f64]) -> ScoreRow {
        let score = |(&share, extension)| Score { extension, share, ci95: [share - 0.05, share + 0.05], trials: 100 };
        ScoreRow {
            system: system.to_owned(),
            is_of_known_weights: true,
            scores: shares.iter().zip(1..).map(score).collect(),
        }
    }

    #[test]
    fn only_intervals_that_are_apart_make_a_first() {
        let rows = [
            row("YaRN", &[0.5, 0.5, 0.5, 0.0]),
            row("NTK", &[0.2, 0.85, 0.5, 0.0]),
            // Never measured beyond the first length; judged ones are not each other's rivals.
            row("PI", &[0.1]),
            row("DroPE", &[0.7, 0.7, 0.55, 0.0]),
            row("partial DroPE", &[0.7]),
        ];
        let judged = judge("single", &["DroPE", "partial DroPE"], &[1, 2, 3, 4], &rows);
        assert_eq!(
            line(&judged[0]),
            ["single: DroPE", "**first**", "below NTK", "level with YaRN, NTK", "nobody answers"]
        );
        assert_eq!(line(&judged[1]), ["single: partial DroPE", "**first**", "–", "–", "–"]);
        assert!(ordering("", &judged).ends_with("- single: DroPE at 1x; partial DroPE at 1x."));
        let verdicts: Vec<Verdict> = judged.iter().map(|row| row.is_first_everywhere).collect();
        assert_eq!(verdicts, [Verdict::DoesNotHold, Verdict::Holds]);
    }
}
