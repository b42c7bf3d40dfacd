//! When to drop (DroPE paper, table 6 or 7): after 0, 50, 87.5 and 100 % of the budget.

use anyhow::{Context, Result};
use drope_core::niah::Task;
use drope_core::positions::Method;
use drope_core::train::Schedule;
use serde::Serialize;

use super::context::{EXTENSIONS, ReportContext};
use super::markdown::table;
use super::measured::Ask;
use super::paper::{PrintedRow, printed};
use super::perplexities::{Excess, PerplexityRow};
use super::report::{Section, SectionText};
use super::score::{self, ScoreRow};
use super::verdict::Verdict;
use drope_core::train::recipe::{PositionEmbedding, Recipe};

/// The paper's perplexities at the end, by the step of the drop.
const PRINTED: [PrintedRow<1>; 4] =
    [("0 K (NoPE)", [23.77]), ("8 K", [22.42]), ("14 K", [21.73]), ("16 K (RoPE, never dropped)", [21.72])];

/// The late drop, as a share of the budget.
const LATE: f64 = 0.875;

/// Results file of the scores.
const FILE: &str = "drop-time.json";

/// What is dropped when.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum DropTime {
    FromTheStart,
    Half,
    Late,
    Never,
    LatePartial,
    LatePartialGentle,
    AtTheEnd,
}

const SYSTEMS: [(DropTime, &str, Method); 7] = [
    (DropTime::FromTheStart, "nano-nope", Method::Nope),
    (DropTime::Half, "drop-time-50", Method::Drope),
    (DropTime::Late, "drop-time-87", Method::Drope),
    (DropTime::Never, "nano-rope", Method::Rope),
    (DropTime::LatePartial, "drop-time-partial-87", Method::PDrope),
    (DropTime::LatePartialGentle, "drop-time-gentle-87", Method::PDrope),
    (DropTime::AtTheEnd, "nano-rope", Method::Drope),
];

#[derive(Serialize)]
pub struct DropTimeRow {
    pub dropped: DropTime,
    /// At 1x, beside that of the model that is never dropped.
    pub perplexity: PerplexityRow,
    pub multi_key: ScoreRow,
}

/// That the later of two drops of everything ends lower: half after the start, late after half.
#[derive(Serialize)]
struct DropTimeVerdict {
    half_against_start: Option<Excess>,
    late_against_half: Option<Excess>,
    later_is_better: Verdict,
}

pub fn vary_drop_time(context: &ReportContext) -> Result<Section> {
    train(context)?;
    let budget = context.recipe_of("nano-rope")?;
    let (rows, verdict) = measure(context)?;
    let line = |row: &DropTimeRow| -> Vec<String> {
        let perplexity = format!("{:.2}", row.perplexity.perplexity);
        let scores = EXTENSIONS.iter().map(|&s| score::text(row.multi_key.at(s)));
        [row.dropped.title(), perplexity].into_iter().chain(scores).collect()
    };
    let header = EXTENSIONS.into_iter().map(|s| format!("multi-key {s}×"));
    let header: Vec<String> =
        ["dropped after", "perplexity at 1×"].map(str::to_owned).into_iter().chain(header).collect();
    let text = SectionText {
        paper: format!(
            "500 M parameters, 16 B tokens, perplexity at the end by the step of the drop: {}.",
            printed(&PRINTED, 2)
        ),
        body: format!(
            "{} steps of about {} tokens in all: RoPE by nano-rope's recipe up to the drop, then recipes/ablation/\
             drope-plain.toml (nano-drope's without copies and SSMax), or nano-p-drope's for the partial drop; temperatures \
             fitted by core fit-scale. {} questions a cell.\n\n{}",
            budget.steps,
            budget.tokens_per_step,
            score::questions(rows.iter().flat_map(|row| &row.multi_key.scores)),
            table(&header, &rows.iter().map(line).collect::<Vec<_>>())
        ),
        verdict: sentence(&rows, &verdict),
        charts: Vec::new(),
    };
    Section::new(&rows, &verdict, text)
}

impl DropTime {
    pub fn title(self) -> String {
        let late = 100.0 * LATE;
        match self {
            Self::FromTheStart => "0 % (NoPE)".to_owned(),
            Self::Half => "50 %".to_owned(),
            Self::Late => format!("{late} %"),
            Self::Never => "100 % (RoPE, never dropped)".to_owned(),
            Self::LatePartial => format!("{late} %, frequencies below 2π/C alone, with copies and SSMax"),
            Self::LatePartialGentle => "the same, at the learning rate of RoPE's schedule".to_owned(),
            Self::AtTheEnd => "100 %, dropped without recalibration".to_owned(),
        }
    }
}

/// Trains what is not measured: one run of nano-rope's recipe, paused at each drop.
fn train(context: &ReportContext) -> Result<()> {
    if context.args.render {
        return Ok(());
    }
    context.pretrained("nano-nope", "nano-rope.toml", PositionEmbedding::Nope)?;
    let rope = context.recipe("nano-rope.toml")?;
    let (paper, partial) = (context.recipe("ablation/drope-plain.toml")?, context.recipe("nano-p-drope.toml")?);
    let late = (LATE * rope.steps as f64) as usize;
    // At the rate that RoPE's schedule has there, in place of a fresh rise to its peak.
    let schedule = Schedule { peak: rope.schedule.at(late, rope.steps), ..partial.schedule.clone() };
    let gentle = Recipe { schedule, ..partial.clone() };
    // The trunk goes on from drop to drop, so the early ones come first.
    for (name, steps, recipe) in [
        ("drop-time-50", rope.steps / 2, &paper),
        ("drop-time-87", late, &paper),
        ("drop-time-partial-87", late, &partial),
        ("drop-time-gentle-87", late, &gentle),
    ] {
        let recipe = Recipe { steps: rope.steps - steps, ..recipe.clone() };
        if context.is_measured(FILE, name, &recipe, None)? {
            continue;
        }
        if !context.is_trained(name, &recipe, None)? {
            let from = context.paused("drop-time-trunk", "nano-rope.toml", steps)?;
            context.recalibrated(name, &recipe, &from)?;
        }
        context.fit_temperature(name)?;
    }
    Ok(())
}

/// The rows of every system whose perplexity is measured.
pub fn rows(context: &ReportContext) -> Result<Vec<DropTimeRow>> {
    Ok(measure(context)?.0)
}

fn measure(context: &ReportContext) -> Result<(Vec<DropTimeRow>, DropTimeVerdict)> {
    let mut losses = Vec::new();
    for (dropped, model, method) in SYSTEMS {
        let cells = context.perplexity(model, method, None, &EXTENSIONS)?;
        losses.extend(cells.into_iter().find(|cell| cell.extension == 1).map(|cell| (dropped, model, method, cell)));
    }
    let of = |wanted: DropTime| losses.iter().find(|(dropped, ..)| *dropped == wanted).map(|(.., cell)| cell);
    let rope = of(DropTime::Never).context("nano-rope is not measured")?;
    let mut rows = Vec::new();
    for (dropped, model, method, cell) in &losses {
        let ask = Ask::new(*method, Task::MultiKey, &EXTENSIONS, context.trials(100, 100));
        let scores = context.niah(FILE, model, &ask)?;
        rows.push(DropTimeRow {
            dropped: *dropped,
            perplexity: PerplexityRow::new(&dropped.title(), cell, Some(rope)),
            multi_key: ScoreRow::exact(dropped.title(), &scores),
        });
    }
    let excess = |ours, other| Some(Excess::new(of(ours)?, of(other)?));
    let half_against_start = excess(DropTime::Half, DropTime::FromTheStart);
    let late_against_half = excess(DropTime::Late, DropTime::Half);
    let steps = [&half_against_start, &late_against_half].map(|excess| Verdict::is_lower(excess.as_ref()));
    Ok((rows, DropTimeVerdict { half_against_start, late_against_half, later_is_better: Verdict::all(steps) }))
}

fn sentence(rows: &[DropTimeRow], verdict: &DropTimeVerdict) -> String {
    let beside_rope = |wanted: DropTime| {
        let row = rows.iter().find(|row| row.dropped == wanted);
        row.map_or_else(
            || Verdict::NotMeasured.words().to_owned(),
            |row| format!("{:.2} ({})", row.perplexity.perplexity, row.perplexity.excess_text()),
        )
    };
    let rope = rows.iter().find(|row| row.dropped == DropTime::Never);
    let rope = rope.map_or(f64::NAN, |row| row.perplexity.perplexity);
    format!(
        "Perplexity at 1x after 0, 50 and {} %, beside RoPE's {rope:.2}: {}, {}, {}; that the later drop is the better one {}. \
         The partial drop after {} %: {}, and {} at the learning rate that RoPE's schedule has there.",
        100.0 * LATE,
        beside_rope(DropTime::FromTheStart),
        beside_rope(DropTime::Half),
        beside_rope(DropTime::Late),
        verdict.later_is_better.words(),
        100.0 * LATE,
        beside_rope(DropTime::LatePartial),
        beside_rope(DropTime::LatePartialGentle)
    )
}
