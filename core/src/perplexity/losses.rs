//! The cross entropy of each token of a text.

use burn::tensor::activation::log_softmax;
use burn::tensor::s;

use crate::config::Config;
use crate::error::{Error, Result};
use crate::generate::{Flow, chunk_on, shared_beginning};
use crate::model::{Cache, Model, token_ids};
use crate::positions::Positions;
use crate::read_back::numbers;

/// Cross entropy in nats of each token but the first, given all before it. Perplexity is exp of the mean. `observe` is
/// called after every chunk with the number of losses so far, and may stop the run; the result then has these.
///
/// # Errors
/// If there are fewer than two tokens, one is outside the vocabulary, a loss is not finite, or the device fails.
pub async fn token_losses(
    model: &Model,
    config: &Config,
    positions: &Positions,
    ids: &[u32],
    observe: impl AsyncFnMut(usize) -> Flow,
) -> Result<Vec<f32>> {
    let all = Continuation { ids, count: ids.len().saturating_sub(1) };
    Ok(continuation_losses(model, config, positions, &[all], observe).await?.pop().unwrap_or_default())
}

/// A text whose last tokens are predicted.
#[derive(Clone, Copy, Debug)]
pub struct Continuation<'a> {
    /// All tokens of the text.
    pub ids: &'a [u32],
    /// Number of tokens that are predicted.
    pub count: usize,
}

/// Cross entropy in nats of the last tokens of several texts, given all before them, such as choices after a question.
/// The common beginning of the texts is read once, if the method and the model's windows allow it. `observe` is called
/// after every chunk with the number of tokens read in total, and may stop the run; the result then has the losses so
/// far.
///
/// # Errors
/// As [`token_losses`], and if a text has no token before those that are predicted.
pub async fn continuation_losses(
    model: &Model,
    config: &Config,
    positions: &Positions,
    texts: &[Continuation<'_>],
    mut observe: impl AsyncFnMut(usize) -> Flow,
) -> Result<Vec<Vec<f32>>> {
    for text in texts {
        if text.count == 0 || text.count >= text.ids.len() {
            return Err(Error::Zero("the number of tokens to predict"));
        }
        config.check_ids(text.ids)?;
    }
    // The last token before the predicted ones is read for every text, since the first prediction comes from it.
    let known = texts.iter().map(|text| text.ids.len() - text.count - 1).min().unwrap_or(0);
    let ids: Vec<&[u32]> = texts.iter().map(|text| text.ids).collect();
    let shared = shared_beginning(config, positions, &ids).min(known);
    let longest = ids.iter().map(|ids| ids.len()).max().unwrap_or(0);
    let mut cache = model.cache(config, positions, longest);
    let (mut all, mut read) = (Vec::new(), 0);
    for &text in texts {
        cache.rewind(shared.min(cache.len()));
        cache.expect_prompt(text.ids.len());
        let mut losses = Vec::with_capacity(text.count);
        let mut flow = Flow::Continue;
        for chunk in text.ids[cache.len()..text.ids.len() - 1].chunks(chunk_on(&model.device())) {
            losses.extend(chunk_losses(model, config, positions, &mut cache, text, chunk).await?);
            read += chunk.len();
            flow = observe(read).await;
            if flow == Flow::Stop {
                break;
            }
        }
        if !losses.iter().all(|loss| loss.is_finite()) {
            return Err(Error::ComputedNotFinite("losses"));
        }
        all.push(losses);
        if flow == Flow::Stop {
            break;
        }
    }
    Ok(all)
}

/// Reads the next tokens of a text, and returns the losses of the predicted ones that follow them.
async fn chunk_losses(
    model: &Model,
    config: &Config,
    positions: &Positions,
    cache: &mut Cache,
    Continuation { ids, count }: Continuation<'_>,
    chunk: &[u32],
) -> Result<Vec<f32>> {
    let (device, seq) = (model.device(), chunk.len());
    let hidden = model.hidden(token_ids(chunk, [1, seq], &device), positions, Some(cache)); // [1, seq, hidden]
    let end = cache.len();
    let predicting = (end + 1 + count).saturating_sub(ids.len()).min(seq);
    if predicting == 0 {
        return Ok(Vec::new());
    }
    let logits = model.logits(hidden.slice(s![.., seq - predicting.., ..])); // [1, predicting, vocab]
    let log_probabilities = log_softmax(logits.reshape([predicting, config.vocab_size]), 1);
    let targets = &ids[end + 1 - predicting..=end];
    let chosen = log_probabilities.gather(1, token_ids(targets, [predicting, 1], &device));
    Ok(numbers(chosen).await?.into_iter().map(|log_probability: f32| -log_probability).collect())
}
