//! What attention does inside: how much of it a needle gets, and how spread it is.

use std::ops::Range;

use burn::tensor::{Int, Tensor, TensorData};
use serde::{Deserialize, Serialize};

use crate::config::Config;
use crate::error::{Error, Result};
use crate::generate::CHUNK;
use crate::model::{Cache, Model};
use crate::positions::Positions;

/// Attention weights of one head: for each query, one a key.
pub type HeadWeights = Vec<Vec<f32>>;

/// Attention weights of the last `queries` tokens: `[layer][head][query][key]`.
///
/// In a layer with a sliding window the keys are the last ones of the text.
///
/// # Errors
/// If the text is shorter or there are no queries, an id is outside the vocabulary, or the device fails.
pub async fn last_queries(
    model: &Model,
    config: &Config,
    positions: &Positions,
    ids: &[u32],
    queries: usize,
) -> Result<Vec<Vec<HeadWeights>>> {
    if queries == 0 || ids.len() < queries {
        return Err(Error::Zero("the number of tokens to look at"));
    }
    let (before, last) = ids.split_at(ids.len() - queries);
    if let Some(&id) = ids.iter().find(|&&id| id as usize >= config.vocab_size) {
        return Err(Error::TokenId { id, vocab_size: config.vocab_size });
    }
    let device = model.device();
    let read = |ids: &[u32]| {
        let values: Vec<i32> = ids.iter().map(|&id| id as i32).collect();
        Tensor::<2, Int>::from_data(TensorData::new(values, [1, ids.len()]), &device)
    };
    let mut cache = Cache::new(config, positions, ids.len(), &device);
    for chunk in before.chunks(CHUNK) {
        model.hidden(read(chunk), positions, Some(&mut cache));
    }
    let watch = model.watch(read(last), positions, Some(&mut cache));
    let mut layers = Vec::new();
    for weights in watch.attention {
        let [_, heads, _, keys] = weights.dims(); // [1, heads, queries, keys]
        let data = weights.into_data_async().await.map_err(|error| Error::Device(error.to_string()))?;
        let values: Vec<f32> = data.iter::<f32>().collect();
        let rows: Vec<Vec<f32>> = values.chunks(keys).map(<[f32]>::to_vec).collect();
        layers.push((0..heads).map(|head| rows[head * queries..][..queries].to_vec()).collect());
    }
    Ok(layers)
}

/// Positional bias A^c of attention weights `[batch, heads, seq, seq]`: how much more than its uniform share a query gives the
/// key `back` tokens before it (0: itself, 1: the one before), on average over heads and queries, `[1]` (Gelberg et al.
/// 2025, figure 4). Gradients flow through it.
pub fn positional_bias(attention: Tensor<4>, back: usize) -> Tensor<1> {
    let [batch, heads, seq, keys] = attention.dims();
    let counted = |query: usize, key: usize| query == key + back;
    let mask: Vec<f32> = (0..seq).flat_map(|query| (0..keys).map(move |key| f32::from(counted(query, key)))).collect();
    let mask = Tensor::<4>::from_data(TensorData::new(mask, [1, 1, seq, keys]), &attention.device());
    let uniform: f64 = (back..seq).map(|query| 1.0 / (query + 1) as f64).sum();
    let queries = seq.saturating_sub(back).max(1) as f64;
    ((attention * mask).sum() / (batch * heads) as f64 - uniform) / queries
}

/// Norms of the gradients that the query and key projections of each of `layers` layers get from a scalar, `[1]` on an autodiff
/// device.
#[cfg(feature = "train")]
pub fn query_key_gradients(model: &Model, layers: usize, scalar: &Tensor<1>) -> Vec<f64> {
    use burn::module::{Module, ModuleVisitor, Param};
    use burn::optim::GradientsParams;

    struct ByLayer {
        gradients: GradientsParams,
        path: Vec<String>,
        squares: Vec<f64>,
    }

    impl ModuleVisitor for ByLayer {
        fn enter_module(&mut self, name: &str, _: &str) {
            self.path.push(name.to_owned());
        }

        fn exit_module(&mut self, _: &str, _: &str) {
            self.path.pop();
        }

        fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
            let is_asked = self.path.iter().any(|name| name == "q_proj" || name == "k_proj");
            let layer = self.path.iter().find_map(|name| name.parse::<usize>().ok());
            if let (true, Some(layer), Some(gradient)) = (is_asked, layer, self.gradients.get::<D>(param.id)) {
                self.squares[layer] += f64::from(gradient.square().sum().into_scalar::<f32>());
            }
        }
    }

    let gradients = GradientsParams::from_grads(scalar.backward(), model);
    let mut visitor = ByLayer { gradients, path: Vec::new(), squares: vec![0.0; layers] };
    model.visit(&mut visitor);
    visitor.squares.into_iter().map(f64::sqrt).collect()
}

/// Prefix spread of hidden states `[1, seq, hidden]`: the largest distance of a token from the mean of a prefix that it belongs
/// to, `[1]` (Gelberg et al. 2025, theorem 3.4: small embeddings stay together in models without positions).
pub fn prefix_spread(hidden: Tensor<3>) -> Tensor<1> {
    let [_, seq, width] = hidden.dims();
    let device = hidden.device();
    let hidden = hidden.reshape([seq, width]);
    // Row i averages the tokens up to i.
    let share = |query: usize| (0..seq).map(move |key| if key <= query { 1.0 / (query + 1) as f32 } else { 0.0 });
    let shares: Vec<f32> = (0..seq).flat_map(share).collect();
    let means = Tensor::<2>::from_data(TensorData::new(shares, [seq, seq]), &device).matmul(hidden.clone());
    // Each mean less each token, [seq, seq, hidden].
    let differences = means.unsqueeze_dim::<3>(1) - hidden.unsqueeze_dim::<3>(0);
    let distances = differences.square().sum_dim(2).reshape([seq, seq]);
    let belongs: Vec<f32> = (0..seq).flat_map(|i| (0..seq).map(move |j| f32::from(j <= i))).collect();
    let belongs = Tensor::<2>::from_data(TensorData::new(belongs, [seq, seq]), &device);
    (distances * belongs).max().sqrt()
}

/// Share of the attention that falls on the keys `at` of a text of `tokens` (Gelberg et al. 2025, figure 8); `weights` are
/// of its last keys.
pub fn mass(weights: &[f32], at: &Range<usize>, tokens: usize) -> f64 {
    let first = tokens - weights.len();
    at.clone().filter(|&key| key >= first).map(|key| f64::from(weights[key - first])).sum()
}

/// Entropy of attention weights in nats; at most ln of their number, where all are alike (Wang et al. 2024, figure 3).
pub fn entropy(weights: &[f32]) -> f64 {
    weights.iter().map(|&p| f64::from(p)).filter(|&p| p > 0.0).map(|p| -p * p.ln()).sum()
}

/// What one head of a model read with a method does at a length, on average over questions: a line of `core probe`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HeadCell {
    /// Name of the model's folder.
    pub model: String,
    /// Name of the position method.
    pub method: String,
    /// s.
    pub extension: usize,
    /// Layer, from 0.
    pub layer: usize,
    /// Query head, from 0.
    pub head: usize,
    /// Attention of the last query on the needle that is asked for.
    pub needle: f64,
    /// The same of the token of the question that looks at it most: models may look it up where its key is said.
    pub needle_of_question: f64,
    /// On all other needles.
    pub distractors: f64,
    /// On the first token.
    pub first: f64,
    /// Entropy in nats.
    pub entropy: f64,
    /// Its bound: ln of the number of keys.
    pub entropy_bound: f64,
    /// Questions.
    pub trials: usize,
    /// Seed of the questions.
    pub seed: u64,
}

#[cfg(test)]
mod tests {
    use super::{entropy, mass};

    #[test]
    fn uniform_weights_have_the_largest_entropy() {
        assert!((entropy(&[0.125; 8]) - 8f64.ln()).abs() < 1e-6);
        assert_eq!(entropy(&[0.0, 1.0, 0.0]), 0.0);
        assert!(entropy(&[0.5, 0.25, 0.25]) < 3f64.ln());
    }

    #[test]
    fn mass_counts_keys_from_the_start_of_the_text() {
        assert!((mass(&[0.1, 0.2, 0.3, 0.4], &(1..3), 4) - 0.5).abs() < 1e-6);
        // The window holds the last four keys of ten.
        assert!((mass(&[0.1, 0.2, 0.3, 0.4], &(5..8), 10) - 0.3).abs() < 1e-6);
    }
}
