//! Findings about training: what the models had, and what dropping costs within the context.

use std::collections::BTreeSet;

use anyhow::Result;
use drope_core::positions::Method;

use super::super::budget::BudgetRow;
use super::super::context::ReportContext;
use super::super::dope::DopeRow;
use super::super::drop_time::{DropTime, DropTimeRow};
use super::super::long::LONGEST;
use super::super::markdown::{DASH, list};
use super::super::perplexities::PerplexityRow;
use super::super::score::{self, ScoreRow};
use drope_core::train::recipe::Dropped;

/// Models trained from random weights.
const PRETRAINED: [&str; 4] = ["nano-rope", "nano-nope", "nano-alibi", "nano-rnope-swa"];
/// Models recalibrated from nano-rope.
const RECALIBRATED: [&str; 2] = ["nano-drope", "nano-p-drope"];

/// What the models are and were trained on.
pub struct Setting {
    parameters: usize,
    context: usize,
    models: Vec<TrainedOn>,
}

struct TrainedOn {
    model: &'static str,
    /// Tokens of its own run.
    tokens: f64,
    seed: u64,
    has_copies: bool,
    has_ssmax: bool,
}

impl Setting {
    pub fn read(context: &ReportContext) -> Result<Self> {
        let mut models = Vec::new();
        for model in PRETRAINED.into_iter().chain(RECALIBRATED) {
            let (recipe, config) = (context.recipe_of(model)?, context.config(model)?);
            models.push(TrainedOn {
                model,
                tokens: context.tokens(model).unwrap_or(f64::NAN),
                seed: recipe.seed,
                has_copies: recipe.documents.max_copies > 1.0,
                has_ssmax: config.scalable_softmax,
            });
        }
        let context_length = context.config("nano-rope")?.max_position_embeddings;
        Ok(Self { parameters: context.parameters("nano-rope")?, context: context_length, models })
    }

    fn named(&self, test: impl Fn(&TrainedOn) -> bool) -> String {
        let names: Vec<&str> = self.models.iter().filter(|model| test(model)).map(|model| model.model).collect();
        if names.is_empty() { "no model".to_owned() } else { list(&names) }
    }
}

/// `31.3 M`
fn millions(tokens: f64) -> String {
    format!("{:.1} M", tokens / 1e6)
}

/// What the questions and scores are.
pub fn introduction(setting: &Setting) -> String {
    format!(
        "Models have {:.2} M parameters and a training context C of {} tokens; 2× is a text of twice that. Questions ask for one \
         of four keys and are numbers where nothing else is said; scores are exact answers in percent with 95 % intervals. The \
         tables: [docs/results](results/README.md), beside the papers' own: [docs/reproduction](reproduction/README.md).",
        setting.parameters as f64 / 1e6,
        setting.context
    )
}

/// Where the comparison favours one side.
pub fn uneven_comparison(setting: &Setting, multi_key: &[ScoreRow]) -> Option<String> {
    let is_pretrained = |model: &TrainedOn| PRETRAINED.contains(&model.model);
    let base = setting.models.iter().find(|model| model.model == PRETRAINED[0])?.tokens;
    let recalibrated: Vec<String> = setting
        .models
        .iter()
        .filter(|model| !is_pretrained(model))
        .map(|model| {
            format!(
                "{} {} ({} + {})",
                model.model,
                millions(base + model.tokens),
                millions(base),
                millions(model.tokens)
            )
        })
        .collect();
    let pretrained = setting.models.iter().filter(|model| is_pretrained(model));
    let budgets: BTreeSet<String> = pretrained.clone().map(|model| millions(model.tokens)).collect();
    let seeds: BTreeSet<String> = pretrained.map(|model| model.seed.to_string()).collect();
    Some(format!(
        "**The comparison is uneven.** Tokens of training: {}, but {} for each of the others. Trained with copies: {}; with \
         SSMax: {}. Seeds of pretraining: {}. Questions of one of four keys at each length: \
         {}; rivals are compared by their intervals, without a correction for their number.",
        list(&recalibrated),
        list(&Vec::from_iter(budgets)),
        setting.named(|model| model.has_copies),
        setting.named(|model| model.has_ssmax),
        list(&Vec::from_iter(seeds)),
        score::questions(multi_key.iter().flat_map(|row| &row.scores))
    ))
}

/// What dropping costs in perplexity within the context.
pub fn perplexity_within_context(rows: &[PerplexityRow]) -> Option<String> {
    let others: Vec<String> = rows
        .iter()
        .filter(|row| row.method != Method::Rope)
        .map(|row| format!("{} {}", row.system, row.excess_text()))
        .collect();
    (!others.is_empty()).then(|| {
        format!(
            "**Perplexity within the context**, against RoPE's on the same texts, text by text: {}.",
            others.join(", ")
        )
    })
}

/// Perplexity and reach of the systems that were trained as long as the longest.
pub fn equal_budget(rows: &[BudgetRow]) -> Option<String> {
    let steps = rows.iter().map(|row| row.steps).max()?;
    let systems: Vec<String> = rows
        .iter()
        .filter(|row| row.steps == steps && row.system != "RoPE")
        .map(|row| {
            let reach =
                row.multi_key.at(LONGEST).map_or(DASH.to_owned(), |score| format!("{:.1}", 100.0 * score.share));
            let (excess, within) = (row.perplexity.excess_text(), row.is_within_margin.within_words());
            format!("{} {excess} ({within}) and {reach} % of numbers at {LONGEST}×", named(row))
        })
        .collect();
    (!systems.is_empty()).then(|| {
        format!(
            "**At one budget** of {steps} steps, perplexity at 1× against RoPE's that is trained as long: {}.",
            systems.join("; ")
        )
    })
}

fn named(row: &BudgetRow) -> String {
    let kept = if row.dropped == Dropped::All { "no frequency kept" } else { "some frequencies kept" };
    let copies = row.copies.map_or(String::new(), |copies| format!(", up to {copies} copies"));
    format!("{kept}{copies}")
}

/// Perplexity by the time of the drop.
pub fn drop_times(rows: &[DropTimeRow]) -> Option<String> {
    let excess = |dropped: DropTime| {
        let row = rows.iter().find(|row| row.dropped == dropped)?;
        Some(row.perplexity.excess_text())
    };
    Some(format!(
        "**When to drop**, of one budget, perplexity at 1× against RoPE's: everything after {} of the steps {}, after {} {}; \
         the frequencies below 2π/C alone, as late, with copies and SSMax {}, and {} at the learning rate that RoPE's schedule has \
         there.",
        DropTime::Half.title(),
        excess(DropTime::Half)?,
        DropTime::Late.title(),
        excess(DropTime::Late)?,
        excess(DropTime::LatePartial)?,
        excess(DropTime::LatePartialGentle)?
    ))
}

/// What each treatment of DoPE does to NTK's score, over all choices of heads.
pub fn treatments_of_heads(rows: &[DopeRow]) -> Option<String> {
    let [ntk, treated @ ..] = rows else { return None };
    let extension = ntk.plain.scores.iter().map(|score| score.extension).max()?;
    let of = |method: Method| {
        let shares: Vec<f64> = treated
            .iter()
            .filter(|row| row.treatment == Some(method))
            .filter_map(|row| Some(100.0 * row.plain.at(extension)?.share))
            .collect();
        let (least, most) =
            (shares.iter().copied().min_by(f64::total_cmp)?, shares.iter().copied().max_by(f64::total_cmp)?);
        Some(format!("{} from {least:.1} to {most:.1} %", method.name()))
    };
    let treatments: Vec<String> =
        [Method::DopeParts, Method::DopeAll, Method::DopeGaussian].into_iter().filter_map(of).collect();
    (!treatments.is_empty()).then(|| {
        format!(
            "**DoPE** at {extension}×, over the choices of heads, where NTK alone answers {}: {}.",
            score::text(ntk.plain.at(extension)),
            treatments.join(", ")
        )
    })
}
