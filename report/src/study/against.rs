//! What docs/protocol.md says would count against DroPE, each item checked.

use super::hypotheses::HypothesisTest;
use super::models::{ReadRun, TRUNKS, title};
use super::questions::{LATEST_VALUE, PRIMARY, StudyTask};
use super::rows::StudyResults;
use super::sentences::{interval_text, points};
use super::verdict::counts_against_first;
use crate::markdown::{list, percent};

/// By how much accuracy at 1× may lie below that of `keep`.
const COST: f64 = 0.02;

/// The runs that drop all positions.
const DROPPED: [&str; 2] = ["all-copies", "all"];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckOutcome {
    Against,
    NotAgainst,
    NotMeasured,
}

/// An item, and what was found.
pub struct Check {
    pub outcome: CheckOutcome,
    pub sentence: String,
}

impl Check {
    fn new(is_against: Option<bool>, sentence: String) -> Self {
        let outcome = match is_against {
            Some(true) => CheckOutcome::Against,
            Some(false) => CheckOutcome::NotAgainst,
            None => CheckOutcome::NotMeasured,
        };
        Self { outcome, sentence }
    }

    /// As an item of a list.
    pub fn text(&self) -> String {
        let outcome = match self.outcome {
            CheckOutcome::Against => "**Counts against DroPE.**",
            CheckOutcome::NotAgainst => "Does not count against DroPE.",
            CheckOutcome::NotMeasured => "Not measured.",
        };
        format!("- {outcome} {}", self.sentence)
    }
}

/// Every item for each of the runs that it names.
pub fn checks(results: &StudyResults, hypotheses: &[HypothesisTest]) -> Vec<Check> {
    let tested = hypotheses.iter().filter(|test| [1, 3].contains(&test.number)).map(interval);
    let gate = DROPPED.map(|run| below_threshold(results, run, &PRIMARY));
    let order = DROPPED.map(|run| below_threshold(results, run, &LATEST_VALUE));
    let cost = DROPPED.map(|run| cost_at_1x(results, run));
    tested.chain(gate).chain(order).chain(cost).collect()
}

fn interval(test: &HypothesisTest) -> Check {
    let name = format!("Hypothesis {}, interval below 0 or within ±5 points", test.number);
    let found = test.interval.map(|interval| counts_against_first(&interval));
    let interval = test.interval.map_or_else(|| "not tested".to_owned(), |interval| interval_text(&interval));
    Check::new(found, format!("{name}: {interval}."))
}

/// Trunks in which a run fails the gate of a task where `keep` passes it.
fn below_threshold(results: &StudyResults, run: &str, task: &StudyTask) -> Check {
    let passes = |run: &str, trunk| results.passes_threshold_at_1x(&ReadRun::plain(run), trunk, task);
    let both = TRUNKS.filter_map(|trunk| Some((trunk, passes(run, trunk)?, passes("keep", trunk)?)));
    let comparable: Vec<(usize, bool)> =
        both.filter(|&(_, _, keep)| keep).map(|(trunk, own, _)| (trunk, own)).collect();
    let behind: Vec<String> =
        comparable.iter().filter(|(_, passes)| !passes).map(|(trunk, _)| trunk.to_string()).collect();
    let of = format!("{} below 80 % at 1× on {}, where RoPE of as many tokens passes", title(run), task.name);
    let sentence = match (comparable.len(), behind.len()) {
        (0, _) => format!("{of}: no trunk has such a RoPE."),
        (all, 0) => format!("{of}: in none of {all} trunks."),
        (all, count) => format!("{of}: in {count} of {all} trunks ({}).", list(&behind)),
    };
    Check::new((!comparable.is_empty()).then_some(!behind.is_empty()), sentence)
}

/// How far the plain accuracy at 1× lies from that of `keep`, over trunks that have both.
fn cost_at_1x(results: &StudyResults, run: &str) -> Check {
    let accuracy = |run: &str, trunk| Some(results.cell(&ReadRun::plain(run), trunk, &PRIMARY, 1)?.accuracy);
    let both: Vec<[f64; 2]> =
        TRUNKS.filter_map(|trunk| Some([accuracy(run, trunk)?, accuracy("keep", trunk)?])).collect();
    let of = format!("{} more than 2 points below RoPE of as many tokens at 1×", title(run));
    if both.is_empty() {
        return Check::new(None, format!("{of}: no trunk has both."));
    }
    let [own, keep] = [0, 1].map(|side| both.iter().map(|pair| pair[side]).sum::<f64>() / both.len() as f64);
    let (difference, trunks) = (points(own - keep), both.len());
    let sentence = format!("{of}: {} against {}, {difference}, {trunks} trunks.", percent(own), percent(keep));
    // Of counts, with what adding them rounds.
    Check::new(Some(own - keep < -COST - 1e-9), sentence)
}

#[cfg(test)]
mod tests {
    use super::super::hypotheses::test_all;
    use super::super::questions::LATEST_VALUE;
    use super::super::rows::StudyResults;
    use super::super::test_cells::{cell, plain_selection, study, study_cells};
    use super::CheckOutcome::{Against, NotAgainst, NotMeasured};
    use super::{CheckOutcome, checks};

    fn outcomes(results: &StudyResults) -> Vec<CheckOutcome> {
        checks(results, &test_all(results)).iter().map(|check| check.outcome).collect()
    }

    #[test]
    fn each_item_is_found_and_missed() {
        // In order: hypotheses 1 and 3; the gate, order and cost at 1×, each of all-copies and of all.
        let equal = study(|_, _| [0.9; 4]);
        let unmeasured = [NotMeasured, NotMeasured];
        assert_eq!(outcomes(&equal)[..4], [Against, Against, NotAgainst, NotAgainst]);
        assert_eq!(outcomes(&equal)[4..], [&unmeasured[..], &[NotAgainst, NotAgainst]].concat());
        let better = study(|run, _| match run {
            "keep" | "keep-copies" => [0.95, 0.5, 0.2, 0.1],
            "all" => [0.925, 0.9, 0.9, 0.9],
            _ => [0.93; 4],
        });
        assert_eq!(outcomes(&better)[..2], [NotAgainst, NotAgainst]);
        assert_eq!(outcomes(&better)[6..], [NotAgainst, Against], "2 points are not more than 2 points, 2.5 are");
        let behind = study(|run, trunk| if (run, trunk) == ("all", 2) { [0.5; 4] } else { [0.9; 4] });
        assert_eq!(outcomes(&behind)[2..4], [NotAgainst, Against]);
        let keep_too = study(|run, _| if ["all", "keep"].contains(&run) { [0.5; 4] } else { [0.9; 4] });
        assert_eq!(outcomes(&keep_too)[2..4], unmeasured, "only where RoPE passes");
    }

    #[test]
    fn order_is_checked_on_the_latest_value() {
        let mut cells = study_cells(|_, _| [0.9; 4]);
        let shares = [("keep-1", 0.9), ("all-1", 0.79), ("all-copies-1", 0.8), ("keep-2", 0.1), ("all-copies-2", 0.1)];
        cells.extend(shares.map(|(model, share)| cell(model, &LATEST_VALUE, 1, share)));
        let results = StudyResults::new([cells, plain_selection()].concat());
        assert_eq!(outcomes(&results)[4..6], [NotAgainst, Against]);
        let text = checks(&results, &test_all(&results))[5].text();
        assert_eq!(
            text,
            "- **Counts against DroPE.** DroPE below 80 % at 1× on latest value, where RoPE of as many tokens passes: in 1 of \
             1 trunks (1)."
        );
    }
}
