//! One retrieval question: drawn, answered by the model, and scored.

use anyhow::{Context, Result, bail};
use drope_core::niah::{AskedModel, Score, Sinks, Spec, ask};
use drope_core::results::RetrievalCell;

use crate::interrupt;
use crate::reading::{MeasuredModel, PlannedReading};

/// The seed of a question. Each length and fixed depth has its own seeds; methods, tasks and values share them.
pub fn question_seed(cell: &RetrievalCell, trial: usize) -> u64 {
    let depth = cell.depth.map_or(0, |depth| (depth * 1e6).round() as u64 + 1);
    cell.seed.wrapping_mul(1_000_003).wrapping_add((trial as u64) << 8).wrapping_add(depth << 40)
        + cell.extension as u64
}

/// Draws a question, lets the model answer it, and scores the answer.
///
/// `sinks` attention-sink tokens stand after each queried needle.
pub async fn answer(model: &MeasuredModel, reading: &PlannedReading, spec: &Spec<'_>, sinks: usize) -> Result<Score> {
    let MeasuredModel { name, loaded, .. } = model;
    let (config, tokenizer) = (&loaded.config, &loaded.tokenizer);
    let sink = tokenizer.bos().and_then(|id| tokenizer.token(id));
    let sinks = match sink.as_deref() {
        Some(token) => Some(Sinks { token, count: sinks }),
        None if sinks > 0 => {
            bail!("{name} has no beginning-of-text token to be an attention sink; leave out --sinks")
        }
        None => None,
    };
    let asked = AskedModel {
        model: &loaded.model,
        config,
        tokenizer,
        positions: &reading.positions,
        crop_length: reading.method.crop_length(config),
    };
    // After Ctrl-C the answer may be incomplete; it is not kept.
    ask(asked, &Spec { sinks, ..*spec }, interrupt::observe).await.with_context(|| name.clone())
}
