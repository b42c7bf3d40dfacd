//! DroPE's bargain at one budget: every model has the same tokens, and differs in what is dropped on the way.

use anyhow::Result;
use drope_core::niah::Task;
use drope_core::perplexity::PerplexityCell;
use drope_core::positions::Method;

use super::Section;
use super::systems::ROPE;
use crate::markdown::{by_length, joined, table};
use crate::number::{Number, Row, questions};
use crate::results::{Ask, Results, System, system};
use crate::verdict::within_margin;

/// Of nano-rope's 16 frequencies the first nine are above.
const CUT: f64 = 0.0075;

const LENGTHS: [usize; 5] = [1, 2, 4, 8, 16];

/// Updates of recalibration, as recipes/reproduction/budget.toml has them.
const STEPS: usize = 1000;

/// Systems, and the most copies in recalibration; `None`: not recalibrated. A model that was has its cut in its config.
const SYSTEMS: [(System, Option<usize>); 7] = [
    (ROPE, None),
    (System { cut: Some(CUT), ..system("9 of 16 frequencies kept", "nano-rope", Method::PDrope) }, None),
    (system("RoPE", "budget-rope", Method::Rope), Some(1)),
    (system("9 of 16 frequencies kept", "budget-partial-1", Method::PDrope), Some(1)),
    (system("the same, up to 4 copies", "budget-partial-4", Method::PDrope), Some(4)),
    (system("the same, up to 8 copies", "budget-partial-8", Method::PDrope), Some(8)),
    (system("DroPE, up to 8 copies", "budget-drope-8", Method::Drope), Some(8)),
];

/// A system.
pub struct BudgetRow<'a> {
    pub system: System,
    pub copies: Option<usize>,
    /// Of pretraining and recalibration together.
    pub steps: usize,
    perplexity: &'a PerplexityCell,
    /// How far its perplexity at 1x lies above RoPE's of as many steps.
    pub excess: Number,
    pub scores: Row,
}

pub fn compare_at_equal_budget(results: &Results) -> Result<Option<Section>> {
    let (rows, pretraining) = (rows(results)?, results.training("nano-rope")?);
    let line = |row: &BudgetRow| {
        let perplexity = Number::perplexity(row.perplexity).decimals();
        let cells = [row.system.name.to_owned(), row.steps.to_string(), perplexity, row.excess.difference()];
        cells.into_iter().chain(LENGTHS.map(|s| row.scores.percent_at(s))).collect()
    };
    let header = ["multi-key numbers", "steps", "perplexity at 1×"].map(str::to_owned).into_iter();
    let dropped = rows.iter().filter(|row| row.system.method != Method::Rope);
    let sentence = |row: &BudgetRow| {
        let (excess, within) = (row.excess.difference(), within_margin(Some(&row.excess)));
        format!("- {}, {} steps: {excess}, {within}.", row.system.name, row.steps)
    };
    Ok((!rows.is_empty()).then(|| Section {
        paper: "DroPE that drops after 14 K of 16 K steps ends at the loss of RoPE that is trained for 16 K.".into(),
        body: format!(
            "nano-rope has {} steps of about {} tokens; the others go on from it for {STEPS}, with the same schedule, seed and kinds \
             of documents (recipes/reproduction/budget.toml), and temperatures by core fit-scale. Perplexities are compared text by \
             text, with RoPE's of as many steps. {} questions a cell.\n\n{}",
            pretraining.steps,
            pretraining.tokens_per_step,
            questions(rows.iter().map(|row| &row.scores)),
            table(header.chain(by_length("against RoPE", &LENGTHS)), rows.iter().map(line))
        ),
        verdict: format!(
            "Perplexity at 1x against RoPE's at the same budget:\n\n{}",
            joined(dropped.map(sentence), "\n")
        ),
        charts: Vec::new(),
    }))
}

/// A row for each system whose perplexity is measured, and RoPE's of as many steps.
pub fn rows(results: &Results) -> Result<Vec<BudgetRow<'_>>> {
    let pretraining = results.training("nano-rope")?.steps;
    let mut rows = Vec::new();
    // The last of RoPE so far: what the systems behind it are compared with.
    let mut rope = None;
    for (system, copies) in SYSTEMS {
        let Some(perplexity) = results.perplexity_at_1x(&system) else { continue };
        if system.method == Method::Rope {
            rope = Some(perplexity);
        }
        let Some(rope) = rope else { continue };
        rows.push(BudgetRow {
            system,
            copies,
            steps: pretraining + copies.map_or(0, |_| STEPS),
            perplexity,
            excess: Number::excess(perplexity, rope),
            scores: results.exact(&system, &Ask::new("budget", Task::MultiKey, &LENGTHS)),
        });
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::STEPS;
    use crate::sections::number_in;

    #[test]
    fn the_steps_are_those_of_the_recipe() {
        let recipe = include_str!("../../../recipes/reproduction/budget.toml");
        assert_eq!(number_in(recipe, "steps"), STEPS);
    }
}
