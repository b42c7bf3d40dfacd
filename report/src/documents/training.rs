//! Findings about training: what the models had, and what dropping costs within the context.

use std::collections::BTreeSet;

use anyhow::Result;
use drope_core::positions::Method;

use crate::markdown::{joined, list};
use crate::number::{Number, Row, questions};
use crate::results::Results;
use crate::sections::long::LONGEST;
use crate::sections::{BudgetRow, DopeRow, DropTimeRow, LossRow, drop_time};
use crate::verdict::within_margin;

/// Models trained from random weights.
const PRETRAINED: [&str; 4] = ["nano-rope", "nano-nope", "nano-alibi", "nano-rnope-swa"];
/// Models recalibrated from nano-rope.
const RECALIBRATED: [&str; 2] = ["nano-drope", "nano-p-drope"];

/// What the models are and were trained on.
pub struct Setting {
    parameters: u64,
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
    pub fn read(results: &Results) -> Result<Self> {
        let trained_on = |model| {
            let (record, training) = (results.model(model)?, results.training(model)?);
            Ok(TrainedOn {
                model,
                tokens: record.tokens().unwrap_or(f64::NAN),
                seed: training.seed,
                has_copies: training.max_copies > 1.0,
                has_ssmax: record.config()?.scalable_softmax,
            })
        };
        let models = PRETRAINED.into_iter().chain(RECALIBRATED).map(trained_on).collect::<Result<_>>()?;
        let rope = results.model(PRETRAINED[0])?;
        Ok(Self { parameters: rope.parameters, context: rope.config()?.max_position_embeddings, models })
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
        "Models have {:.2} M parameters and a training context C of {} tokens; 2× is a text of twice that. Questions ask for the \
         value of one of four keys, a number unless words are named; scores are exact answers in percent with 95 % intervals. The \
         tables: [docs/results](results/README.md), beside the papers' own: [docs/reproduction](reproduction/README.md).",
        setting.parameters as f64 / 1e6,
        setting.context
    )
}

/// Where the comparison favours one side.
pub fn uneven_comparison(setting: &Setting, multi_key: &[Row]) -> Option<String> {
    let (pretrained, recalibrated) = setting.models.split_at(PRETRAINED.len());
    let base = pretrained.first()?.tokens;
    let sum = |TrainedOn { model, tokens, .. }: &TrainedOn| {
        format!("{model} {} ({} + {})", millions(base + tokens), millions(base), millions(*tokens))
    };
    let recalibrated: Vec<String> = recalibrated.iter().map(sum).collect();
    let budgets: BTreeSet<String> = pretrained.iter().map(|model| millions(model.tokens)).collect();
    let seeds: BTreeSet<String> = pretrained.iter().map(|model| model.seed.to_string()).collect();
    Some(format!(
        "**The comparison is uneven.** Tokens of training: {}, but {} for each of the others. Trained with copies: {}; with \
         SSMax: {}. Seeds of pretraining: {}. Questions of one of four keys at each length: \
         {}; rivals are compared by their intervals, without a correction for their number.",
        list(&recalibrated),
        list(&Vec::from_iter(budgets)),
        setting.named(|model| model.has_copies),
        setting.named(|model| model.has_ssmax),
        list(&Vec::from_iter(seeds)),
        questions(multi_key)
    ))
}

/// What dropping costs in perplexity within the context.
pub fn perplexity_within_context(rows: &[LossRow]) -> Option<String> {
    let others = rows.iter().filter(|row| row.system.method != Method::Rope);
    let others = joined(others.map(|row| format!("{} {}", row.system.name, row.excess.difference())), ", ");
    (!others.is_empty()).then(|| {
        format!("**Perplexity within the context**, against RoPE's on the same texts, text by text: {others}.")
    })
}

/// Perplexity and reach of the systems that were trained as long as the longest.
pub fn equal_budget(rows: &[BudgetRow]) -> Option<String> {
    let steps = rows.iter().map(|row| row.steps).max()?;
    let sentence = |row: &BudgetRow| {
        let kept = if row.system.method == Method::Drope { "full DroPE" } else { "partial DroPE" };
        let copies = match row.copies {
            Some(copies) if copies > 1 => format!(" with up to {copies} copies"),
            _ => " without copies".to_owned(),
        };
        let reach = row.scores.at(LONGEST).map_or("–".to_owned(), |score| format!("{:.1}", 100.0 * score.value));
        let (excess, within) = (row.excess.difference(), within_margin(Some(&row.excess)));
        format!("{kept}{copies} {excess} ({within}) and {reach} % of numbers at {LONGEST}×")
    };
    let dropped = rows.iter().filter(|row| row.steps == steps && row.system.method != Method::Rope);
    let systems = joined(dropped.map(sentence), "; ");
    (!systems.is_empty()).then(|| {
        format!(
            "**Brief recalibration**: perplexity at 1× against that of RoPE, which was trained for {steps} updates too: {systems}."
        )
    })
}

/// Perplexity by the time of the drop.
pub fn drop_times(rows: &[DropTimeRow]) -> Option<String> {
    use drop_time::{HALF, LATE, LATE_PARTIAL, LATE_PARTIAL_GENTLE};
    let excess = |dropped: &str| Some(rows.iter().find(|row| row.dropped == dropped)?.excess.difference());
    Some(format!(
        "**When to drop**, with as many updates as RoPE, perplexity at 1× against RoPE's: dropping all positions after {HALF} of the \
         updates {}, after {LATE} {}; dropping the frequencies below 2π/C alone after {LATE}, with copies and SSMax, {}, and {} where \
         training then goes on at RoPE's learning rate instead of a higher one.",
        excess(HALF)?,
        excess(LATE)?,
        excess(LATE_PARTIAL)?,
        excess(LATE_PARTIAL_GENTLE)?
    ))
}

/// What each treatment of DoPE does to NTK's score, over all choices of heads.
pub fn treatments_of_heads(rows: &[DopeRow]) -> Option<String> {
    let [ntk, treated @ ..] = rows else { return None };
    let (extension, alone) = ntk.plain.numbers.last_key_value()?;
    let of = |method: Method| {
        let rows = treated.iter().filter(|row| row.treatment == method);
        let shares: Vec<&Number> = rows.filter_map(|row| row.plain.at(*extension)).collect();
        let share = |best: Option<&&Number>| Some(100.0 * best?.value);
        let least = share(shares.iter().min_by(|a, b| a.value.total_cmp(&b.value)))?;
        let most = share(shares.iter().max_by(|a, b| a.value.total_cmp(&b.value)))?;
        Some(format!("{} from {least:.1} to {most:.1} %", method.title()))
    };
    let treatments = [Method::DopeParts, Method::DopeAll, Method::DopeGaussian].into_iter().filter_map(of);
    let treatments = joined(treatments, ", ");
    (!treatments.is_empty()).then(|| {
        format!(
            "**DoPE** at {extension}×, over the choices of heads, where NTK alone answers {}: {treatments}.",
            alone.percent()
        )
    })
}
