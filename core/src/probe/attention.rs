//! Attention weights of a long text, read in chunks through the cache.

use std::ops::Range;

use burn::tensor::Tensor;

use super::bias::band;
use super::spread::prefix_spread;
use crate::config::Config;
use crate::error::{Error, Result};
use crate::generate::{CHUNK, Flow};
use crate::model::{Model, token_ids};
use crate::positions::Positions;
use crate::read_back::numbers;

/// Attention weights of one head: for each query, one a key.
pub type HeadWeights = Vec<Vec<f32>>;

/// Statistics of the attention of all heads on a text.
#[derive(Clone, Debug, Default)]
pub struct AttentionStatistics {
    /// Weights of the last tokens, `[layer][head][query][key]`. In a layer with a sliding window the keys are the last ones of
    /// the text.
    pub last: Vec<Vec<HeadWeights>>,
    /// Entropy of each token's attention in nats, `[layer][head][token]`.
    pub entropies: Vec<Vec<Vec<f32>>>,
    /// Positional bias A^c towards the token itself and the one before it, `[layer][head]`, over the keys that are seen; see
    /// [`positional_bias`](super::positional_bias).
    pub bias: Vec<Vec<[f64; 2]>>,
    /// Prefix spread of the residual stream after each layer; see [`prefix_spread`](super::prefix_spread).
    pub spread: Vec<f64>,
}

/// Reads `ids` and keeps the weights of the last `queries` tokens. Calls `observe` with the number of tokens read; `None` if it stops.
///
/// # Errors
/// If the text is shorter or there are no queries, an id is outside the vocabulary, or the device fails.
pub async fn attention(
    model: &Model,
    config: &Config,
    positions: &Positions,
    ids: &[u32],
    queries: usize,
    mut observe: impl AsyncFnMut(usize) -> Flow,
) -> Result<Option<AttentionStatistics>> {
    if queries == 0 {
        return Err(Error::Zero("the number of tokens to look at"));
    }
    if ids.len() < queries {
        return Err(Error::Question(format!("the text has {} tokens, fewer than the {queries} to look at", ids.len())));
    }
    config.check_ids(ids)?;
    let device = model.device();
    let (layers, heads) = (config.num_hidden_layers, config.num_attention_heads);
    let mut seen = AttentionStatistics {
        entropies: vec![vec![Vec::with_capacity(ids.len()); heads]; layers],
        bias: vec![vec![[0.0; 2]; heads]; layers],
        last: vec![vec![Vec::with_capacity(queries); heads]; layers],
        ..AttentionStatistics::default()
    };
    let mut streams: Vec<Vec<Tensor<3>>> = vec![Vec::new(); layers];
    let mut cache = model.cache(config, positions, ids.len());
    cache.expect_prompt(ids.len());
    for read in chunks(ids.len(), queries) {
        let activations =
            model.capture(token_ids(&ids[read.clone()], [1, read.len()], &device), positions, Some(&mut cache));
        for (layer, (weights, hidden)) in activations.attention.into_iter().zip(activations.hidden).enumerate() {
            streams[layer].push(hidden);
            let window = positions.layer(layer).window.unwrap_or(usize::MAX);
            let rows: Vec<f32> = numbers(measures(&weights)).await?;
            if !rows.iter().all(|number| number.is_finite()) {
                return Err(Error::ComputedNotFinite("attention weights"));
            }
            for (head, rows) in rows.chunks(3 * read.len()).enumerate() {
                let [entropy, own, previous] = [0, 1, 2].map(|row| &rows[row * read.len()..][..read.len()]);
                seen.entropies[layer][head].extend(entropy);
                for (at, (own, previous)) in read.clone().zip(own.iter().zip(previous)) {
                    let uniform = 1.0 / (at + 1).min(window) as f64;
                    seen.bias[layer][head][0] += (f64::from(*own) - uniform) / ids.len() as f64;
                    if at > 0 {
                        seen.bias[layer][head][1] += (f64::from(*previous) - uniform) / (ids.len() - 1) as f64;
                    }
                }
            }
            if read.start >= ids.len() - queries {
                let keys = weights.dims()[3];
                let rows: Vec<f32> = numbers(weights).await?;
                for (index, row) in rows.chunks(keys).enumerate() {
                    seen.last[layer][index / read.len()].push(row.to_vec());
                }
            }
        }
        if observe(cache.len()).await == Flow::Stop {
            return Ok(None);
        }
    }
    for stream in streams {
        let spread: Vec<f32> = numbers(prefix_spread(Tensor::cat(stream, 1))).await?;
        seen.spread.push(f64::from(spread[0]));
    }
    Ok(Some(seen))
}

/// How a text is cut into passes: chunks of the prompt, and the last `queries` tokens in a pass of their own.
fn chunks(tokens: usize, queries: usize) -> impl Iterator<Item = Range<usize>> {
    let before = tokens - queries;
    let chunks = (0..before).step_by(CHUNK).map(move |start| start..(start + CHUNK).min(before));
    chunks.chain(std::iter::once(before..tokens))
}

/// For each query its entropy, its weight on itself and on the token before: `[1, heads, seq, keys]` to `[heads, 3, seq]`.
fn measures(weights: &Tensor<4>) -> Tensor<3> {
    let [_, heads, seq, keys] = weights.dims();
    // Weights of 0 add nothing, and have no logarithm.
    let entropy = -(weights.clone() * (weights.clone() + 1e-30).log());
    let on = |back| weights.clone() * band(seq, keys, back, &weights.device());
    let rows = [entropy, on(0), on(1)].map(|numbers| numbers.sum_dim(3).reshape([heads, 1, seq]));
    Tensor::cat(rows.to_vec(), 1)
}
