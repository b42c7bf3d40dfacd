//! What DoPE selects heads by: the truncated matrix entropy of their queries or keys
//! (Xiong et al. 2025, arXiv 2511.09146); how the paper is read: [`crate::config::dope`].

use nalgebra::DMatrix;

use crate::config::Config;
use crate::config::dope::{Criterion, DopeHead, ScoredVectors, Stage};
use crate::error::Result;
use crate::generate::CHUNK;
use crate::model::{Model, token_ids};
use crate::positions::{Method, ntk_frequencies, rope_frequencies};
use crate::read_back::numbers;

/// Sums over the queries or keys of one head.
#[derive(Clone)]
struct Sums {
    /// Σ x xᵀ.
    gram: DMatrix<f64>,
    /// Count of the numbers, their sum, and the sum of their squares.
    moments: [f64; 3],
}

/// Score of every query head, layer after layer, on texts that are read with NTK scaling by `factor`.
///
/// # Errors
/// If a text holds an id outside the vocabulary, or the device fails.
pub async fn truncated_entropies(
    model: &Model,
    config: &Config,
    criterion: &Criterion,
    factor: f64,
    texts: &[Vec<u32>],
) -> Result<Vec<DopeHead>> {
    let inv_freq = match criterion.stage {
        Stage::PreNtk => vec![0.0; config.rotary_dim() / 2],
        Stage::PostNtk => ntk_frequencies(config, factor),
        Stage::PostRope => rope_frequencies(config.rope.rope_theta, config.rotary_dim()),
    };
    let blank = Sums { gram: DMatrix::zeros(config.head_dim, config.head_dim), moments: [0.0; 3] };
    let mut queries = vec![vec![blank.clone(); config.num_attention_heads]; config.num_hidden_layers];
    let mut keys = vec![vec![blank; config.num_key_value_heads]; config.num_hidden_layers];
    for text in texts {
        accumulate(model, config, factor, text, &inv_freq, &mut queries, &mut keys).await?;
    }
    let mut heads = Vec::new();
    for layer in 0..config.num_hidden_layers {
        for head in 0..config.num_attention_heads {
            let (query, key) = (&queries[layer][head], &keys[layer][head / config.group_size()]);
            let judged = if criterion.from == ScoredVectors::Query { query } else { key };
            heads.push(DopeHead {
                layer,
                head,
                entropy: truncated_entropy(&spectrum(&judged.gram), criterion.rank),
                query_std: query.deviation(),
                key_std: key.deviation(),
            });
        }
    }
    Ok(heads)
}

async fn accumulate(
    model: &Model,
    config: &Config,
    factor: f64,
    text: &[u32],
    inv_freq: &[f64],
    queries: &mut [Vec<Sums>],
    keys: &mut [Vec<Sums>],
) -> Result<()> {
    config.check_ids(text)?;
    let device = model.device();
    let positions = Method::Ntk.positions(config, factor)?;
    let mut cache = model.cache(config, &positions, text.len());
    for (index, chunk) in text.chunks(CHUNK).enumerate() {
        let activations = model.capture(token_ids(chunk, [1, chunk.len()], &device), &positions, Some(&mut cache));
        for (sums, seen) in
            queries.iter_mut().chain(&mut *keys).zip(activations.queries.into_iter().chain(activations.keys))
        {
            let [_, _, seq, width] = seen.dims(); // [1, heads, seq, head_dim]
            let values: Vec<f64> = numbers(seen).await?;
            for (sums, rows) in sums.iter_mut().zip(values.chunks(seq * width)) {
                for (row, position) in rows.chunks(width).zip(index * CHUNK..) {
                    sums.add(&rotated(row, inv_freq, position));
                }
            }
        }
    }
    Ok(())
}

/// The pairs (m, m + width/2) of a row rotated by `position · inv_freq[m]`.
fn rotated(row: &[f64], inv_freq: &[f64], position: usize) -> Vec<f64> {
    let half = inv_freq.len();
    let mut rotated = row.to_vec();
    for (m, omega) in inv_freq.iter().enumerate() {
        let (sin, cos) = (position as f64 * omega).sin_cos();
        rotated[m] = row[m] * cos - row[m + half] * sin;
        rotated[m + half] = row[m + half] * cos + row[m] * sin;
    }
    rotated
}

impl Sums {
    fn add(&mut self, row: &[f64]) {
        for (i, a) in row.iter().enumerate() {
            for (j, b) in row.iter().enumerate() {
                self.gram[(i, j)] += a * b;
            }
            self.moments[0] += 1.0;
            self.moments[1] += a;
            self.moments[2] += a * a;
        }
    }

    fn deviation(&self) -> f64 {
        let [n, sum, squares] = self.moments;
        (squares / n - (sum / n).powi(2)).max(0.0).sqrt()
    }
}

/// Eigenvalues of a Gram matrix that is divided by its trace, largest first.
fn spectrum(gram: &DMatrix<f64>) -> Vec<f64> {
    let trace = gram.trace().max(f64::MIN_POSITIVE);
    let mut eigenvalues: Vec<f64> = gram.symmetric_eigenvalues().iter().map(|value| value / trace).collect();
    eigenvalues.sort_by(|a, b| b.total_cmp(a));
    eigenvalues
}

/// The truncated entropy in nats of a head whose queries or keys have these eigenvalues, largest first, of sum 1; for
/// r = 1 the largest itself.
pub fn truncated_entropy(eigenvalues: &[f64], rank: Option<usize>) -> f64 {
    match rank {
        Some(1) => eigenvalues.first().copied().unwrap_or(0.0),
        _ => {
            let counted = eigenvalues.iter().take(rank.unwrap_or(usize::MAX));
            counted.filter(|&&lambda| lambda > 0.0).map(|&lambda| -lambda * lambda.ln()).sum()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::truncated_entropy;

    #[test]
    fn entropy_counts_the_largest_eigenvalues() {
        let spectrum = [0.5, 0.25, 0.25];
        assert!((truncated_entropy(&spectrum, None) - 1.5 * 2f64.ln()).abs() < 1e-12);
        assert!((truncated_entropy(&spectrum, Some(2)) - 2f64.ln()).abs() < 1e-12);
        assert_eq!(truncated_entropy(&spectrum, Some(1)), 0.5);
        assert_eq!(truncated_entropy(&[1.0, 0.0], None), 0.0);
    }
}
