//! When to drop (DroPE paper, table 6 or 7): after 0, 50, 87.5 and 100 % of the budget.

use anyhow::{Context, Result};
use drope_core::niah::Task;
use drope_core::perplexity::{PerplexityCell, excess};
use drope_core::positions::Method;
use drope_core::train::Schedule;
use serde_json::json;

use super::context::{Ask, EXTENSIONS, ReportContext};
use super::report::{Section, apart, at, percent, summaries, table};
use crate::recipe::{PositionEmbedding, Recipe};

const PAPER: &str = "500 M parameters, 16 B tokens, perplexity at the end by the step of the drop: 0 K (NoPE) 23.77, 8 K 22.42, \
    14 K 21.73, 16 K (RoPE, never dropped) 21.72.";

/// Steps of every model here, before and after its drop.
const BUDGET: usize = 8000;

/// Steps before the late drop: 87.5 %.
const LATE: usize = 7000;

/// Results file of the scores.
const FILE: &str = "drop-time.json";

pub fn section(context: &ReportContext) -> Result<Option<Section>> {
    if context.is_quick() {
        return Ok(None);
    }
    context.pretrained("nano-nope", "nano-rope.toml", PositionEmbedding::Nope)?;
    let rope = context.recipe("nano-rope.toml")?;
    let (paper, partial) = (context.recipe("ablation/drope-plain.toml")?, context.recipe("nano-p-drope.toml")?);
    // At the rate that RoPE's schedule has there, in place of a fresh rise to its peak.
    let schedule = Schedule { peak: rope.schedule.at(LATE, BUDGET), ..partial.schedule.clone() };
    let gentle = Recipe { schedule, ..partial.clone() };
    // The trunk goes on from drop to drop, so the early ones come first.
    for (name, steps, recipe) in [
        ("drop-time-50", 4000, &paper),
        ("drop-time-87", LATE, &paper),
        ("drop-time-partial-87", LATE, &partial),
        ("drop-time-gentle-87", LATE, &gentle),
    ] {
        if context.is_measured(FILE, name)? {
            continue;
        }
        if context.model(name).is_none() {
            // One run of nano-rope's recipe, paused at each drop.
            let from = context.paused("drop-time-trunk", "nano-rope.toml", steps)?;
            context.recalibrated(name, &Recipe { steps: BUDGET - steps, ..recipe.clone() }, &from)?;
        }
        context.fit_temperature(name)?;
    }
    let systems = [
        ("0 % (NoPE)", "nano-nope", Method::Nope),
        ("50 %", "drop-time-50", Method::Drope),
        ("87.5 %", "drop-time-87", Method::Drope),
        ("100 % (RoPE, never dropped)", "nano-rope", Method::Rope),
        ("87.5 %, frequencies below 2π/C alone, with copies and SSMax", "drop-time-partial-87", Method::PDrope),
        ("the same, at the learning rate of RoPE's schedule", "drop-time-gentle-87", Method::PDrope),
        ("100 %, dropped without recalibration", "nano-rope", Method::Drope),
    ];
    let (mut rows, mut numbers, mut ends) = (Vec::new(), Vec::new(), Vec::new());
    for (name, model, method) in systems {
        let losses = context.perplexity(model, method, None, &EXTENSIONS)?;
        let loss = losses.into_iter().find(|cell| cell.extension == 1).context("no perplexity at 1x")?;
        let cells = context.niah(FILE, model, &Ask::new(method, Task::MultiKey, EXTENSIONS.to_vec(), 100))?;
        let scores = EXTENSIONS.map(|s| percent(at(&cells, s)));
        rows.push([name.to_owned(), format!("{:.2}", loss.perplexity)].into_iter().chain(scores).collect::<Vec<_>>());
        numbers.push(json!({ "dropped after": name, "perplexity": summaries([&loss]), "multi-key": cells }));
        ends.push(loss);
    }
    let header = EXTENSIONS.into_iter().map(|s| format!("multi-key {s}×"));
    let header: Vec<String> =
        ["dropped after", "perplexity at 1×"].map(str::to_owned).into_iter().chain(header).collect();
    let [nope, half, most, rope, partial, gentle, _] = &ends[..] else {
        anyhow::bail!("the systems are not those of the table")
    };
    let is_better = |one, other| excess(one, other).is_some_and(|(_, [_, high])| high < 0.0);
    let holds = is_better(half, nope) && is_better(most, half);
    let beside_rope = |end: &PerplexityCell| format!("{:.2} ({})", end.perplexity, apart(end, rope));
    Ok(Some(Section {
        title: "When to drop (DroPE paper, table 6; 7 in another version)",
        paper: PAPER.into(),
        body: format!(
            "{BUDGET} steps of about 2048 tokens in all: RoPE by nano-rope's recipe up to the drop, then recipes/ablation/\
             drope-plain.toml (nano-drope's without copies and SSMax), or nano-p-drope's for the partial drop; temperatures \
             fitted by core fit-scale. 100 questions a cell.\n\n{}",
            table(&header, &rows)
        ),
        verdict: format!(
            "Perplexity at 1x after 0, 50 and 87.5 %, beside RoPE's {:.2}: {}, {}, {}; that the later drop is the better one {}. \
             The partial drop after 87.5 %: {}, and {} at the learning rate that RoPE's schedule has there.",
            rope.perplexity,
            beside_rope(nope),
            beside_rope(half),
            beside_rope(most),
            if holds { "holds here" } else { "does not hold here" },
            beside_rope(partial),
            beside_rope(gentle)
        ),
        numbers: json!(numbers),
        charts: Vec::new(),
    }))
}
