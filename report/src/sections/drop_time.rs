//! When to drop (DroPE paper, table 6 or 7): after 0, 50, 87.5 and 100 % of the budget.

use anyhow::Result;
use drope_core::niah::Task;
use drope_core::perplexity::PerplexityCell;
use drope_core::positions::Method;

use super::Section;
use crate::markdown::table;
use crate::number::{Number, Row, questions};
use crate::results::{Ask, EXTENSIONS, Results, System, system};
use crate::verdict::Verdict;

const SYSTEMS: [System; 7] = [
    system(FROM_THE_START, "nano-nope", Method::Nope),
    system(HALF, "drop-time-50", Method::Drope),
    system(LATE, "drop-time-87", Method::Drope),
    system(NEVER, "nano-rope", Method::Rope),
    system(LATE_PARTIAL, "drop-time-partial-87", Method::PDrope),
    system(LATE_PARTIAL_GENTLE, "drop-time-gentle-87", Method::PDrope),
    system("100 %, dropped without recalibration", "nano-rope", Method::Drope),
];

const FROM_THE_START: &str = "0 % (NoPE)";
pub const HALF: &str = "50 %";
pub const LATE: &str = "87.5 %";
const NEVER: &str = "100 % (RoPE, never dropped)";
pub const LATE_PARTIAL: &str = "87.5 %, frequencies below 2π/C alone, with copies and SSMax";
pub const LATE_PARTIAL_GENTLE: &str = "the same, at the learning rate of RoPE's schedule";

/// What is dropped at a time.
pub struct DropTimeRow<'a> {
    /// When, and how much.
    pub dropped: &'static str,
    perplexity: &'a PerplexityCell,
    /// How far its perplexity at 1x lies above that of the model that is never dropped.
    pub excess: Number,
    scores: Row,
}

pub fn vary_drop_time(results: &Results) -> Result<Option<Section>> {
    let rows = rows(results);
    if rows.is_empty() {
        return Ok(None);
    }
    let budget = results.training("nano-rope")?;
    let line = |row: &DropTimeRow| {
        let cells = [row.dropped.to_owned(), format!("{:.2}", row.perplexity.perplexity)];
        cells.into_iter().chain(EXTENSIONS.map(|s| row.scores.percent_at(s))).collect()
    };
    let header = ["dropped after", "perplexity at 1×"].map(str::to_owned).into_iter();
    Ok(Some(Section {
        paper: "500 M parameters, 16 B tokens, perplexity at the end by the step of the drop: 0 K (NoPE) 23.77, 8 K 22.42, \
                14 K 21.73, 16 K (RoPE, never dropped) 21.72."
            .into(),
        body: format!(
            "{} steps of about {} tokens in all: RoPE by nano-rope's recipe up to the drop, then recipes/ablation/\
             drope-plain.toml (nano-drope's without copies and SSMax), or nano-p-drope's for the partial drop; temperatures \
             fitted by core fit-scale. {} questions a cell.\n\n{}",
            budget.steps,
            budget.tokens_per_step,
            questions(rows.iter().map(|row| &row.scores)),
            table(header.chain(EXTENSIONS.map(|s| format!("multi-key {s}×"))), rows.iter().map(line))
        ),
        verdict: verdict(&rows),
        charts: Vec::new(),
    }))
}

/// The rows of every system whose perplexity is measured.
pub fn rows(results: &Results) -> Vec<DropTimeRow<'_>> {
    let never = SYSTEMS.iter().find(|system| system.name == NEVER);
    let Some(rope) = never.and_then(|system| results.perplexity_at_1x(system)) else { return Vec::new() };
    let row = |system: &System| {
        let perplexity = results.perplexity_at_1x(system)?;
        let scores = results.exact(system, &Ask::new("drop-time", Task::MultiKey, &EXTENSIONS));
        Some(DropTimeRow { dropped: system.name, perplexity, excess: Number::excess(perplexity, rope), scores })
    };
    SYSTEMS.iter().filter_map(row).collect()
}

fn verdict(rows: &[DropTimeRow]) -> String {
    let find = |dropped: &str| rows.iter().find(|row| row.dropped == dropped);
    let is_lower = |ours: &str, other: &str| {
        let excess = find(ours).zip(find(other)).map(|(ours, other)| Number::excess(ours.perplexity, other.perplexity));
        Verdict::is_at_most(0.0, excess.as_ref())
    };
    let later_is_better = Verdict::all([is_lower(HALF, FROM_THE_START), is_lower(LATE, HALF)]);
    let beside_rope = |dropped: &str| {
        find(dropped).map_or_else(
            || Verdict::NotMeasured.words().to_owned(),
            |row| format!("{:.2} ({})", row.perplexity.perplexity, row.excess.difference()),
        )
    };
    format!(
        "Perplexity at 1x after 0, 50 and {LATE}, beside RoPE's {:.2}: {}, {}, {}; that the later drop is the better one {}. \
         The partial drop after {LATE}: {}, and {} at the learning rate that RoPE's schedule has there.",
        find(NEVER).map_or(f64::NAN, |row| row.perplexity.perplexity),
        beside_rope(FROM_THE_START),
        beside_rope(HALF),
        beside_rope(LATE),
        later_is_better.words(),
        beside_rope(LATE_PARTIAL),
        beside_rope(LATE_PARTIAL_GENTLE)
    )
}
