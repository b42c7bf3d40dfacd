//! One retrieval question: drawn, answered by the model, and scored.

use anyhow::{Result, bail};
use drope_core::generate::{Options, generate};
use drope_core::niah::{self, Score, Sinks, Spec};
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
    let sample = niah::sample(&Spec { sinks, ..*spec }, tokenizer)?;
    let prompt = tokenizer.prompt(&sample.prompt())?;
    if let Some(word) = tokenizer.unknown_word(&sample.question)? {
        bail!(
            "the tokenizer of {name} does not know {word:?}, which the task {} needs; use a model trained with its words",
            spec.task.name()
        );
    }
    let max_new_tokens = spec.task.max_answer_tokens(spec.difficulty.digits);
    let options = Options {
        max_new_tokens,
        stop: tokenizer.sentence_ends(),
        context: spec.context + max_new_tokens,
        crop_length: reading.method.crop_length(config),
        temperature: 0.0,
        seed: 0,
    };
    // After Ctrl-C the answer may be incomplete; it is not kept.
    let answer = generate(&loaded.model, config, &reading.positions, &prompt, &options, interrupt::observe).await?;
    Ok(sample.score(&tokenizer.decode(&answer)?))
}
