//! A question asked of a model.

use super::{Score, Spec, sample};
use crate::config::Config;
use crate::error::{Error, Result};
use crate::generate::{Event, Flow, Options, generate};
use crate::model::Model;
use crate::positions::Positions;
use crate::tokenizer::Tokenizer;

/// A model that is asked.
#[derive(Clone, Copy)]
pub struct AskedModel<'a> {
    /// Its weights.
    pub model: &'a Model,
    /// Its shape.
    pub config: &'a Config,
    /// Its tokenizer.
    pub tokenizer: &'a Tokenizer,
    /// How it reads positions.
    pub positions: &'a Positions,
    /// Most tokens that it is given ([`Options::crop_length`]).
    pub crop_length: Option<usize>,
}

/// How a model answers a question: greedily, up to the end of a sentence or of the text, in as many tokens as a right answer
/// can need.
pub fn answer_options(spec: &Spec<'_>, config: &Config, tokenizer: &Tokenizer, crop_length: Option<usize>) -> Options {
    let max_new_tokens = spec.task.max_answer_tokens(spec.difficulty.digits);
    Options {
        max_new_tokens,
        stop: [tokenizer.sentence_ends(), config.eos_token_ids.clone()].concat(),
        context: spec.context + max_new_tokens,
        crop_length,
        ..Options::default()
    }
}

/// Draws a question, lets the model answer it, and scores the answer. If `observe` stops the answer, the score is of what was said.
///
/// # Errors
/// If the question cannot be drawn, the tokenizer does not know its words, or the model fails.
pub async fn ask(asked: AskedModel<'_>, spec: &Spec<'_>, observe: impl AsyncFnMut(Event) -> Flow) -> Result<Score> {
    let AskedModel { model, config, tokenizer, positions, crop_length } = asked;
    let question = sample(spec, tokenizer)?;
    let prompt = tokenizer.prompt(&question.prompt())?;
    if let Some(word) = tokenizer.unknown_word(&question.question)? {
        return Err(Error::Question(format!(
            "the tokenizer does not know {word:?}, which the task {} needs; use a model trained with its words",
            spec.task.name()
        )));
    }
    let options = answer_options(spec, config, tokenizer, crop_length);
    let answer = generate(model, config, positions, &prompt, &options, observe).await?;
    Ok(question.score(&tokenizer.decode(&answer)?))
}
