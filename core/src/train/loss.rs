//! Cross entropy of the next token.

use burn::tensor::{Device, Int, Tensor, TensorData, activation::log_softmax};

use super::batch::Batch;
use crate::model::{Model, token_ids};
use crate::positions::Positions;

/// Sums over a batch's predicted tokens; divide by [`Batch::total_weight`] for a mean.
pub struct Losses {
    /// Σ weight · cross entropy, `[1]`; what is trained on.
    pub weighted: Tensor<1>,
    /// Cross entropy of each predicted token, `[rows · (length − 1)]`, cut from the graph.
    pub per_token: Tensor<1>,
}

/// Weighted cross entropy of a batch, summed.
pub fn weighted_cross_entropy(model: &Model, batch: &Batch, positions: &Positions, device: &Device) -> Losses {
    let predicted = batch.length - 1;
    let copies: Vec<f32> = batch.copies.chunks(batch.length).flat_map(|row| row[..predicted].iter().copied()).collect();
    cross_entropy(model, batch, device, |inputs| {
        if copies.is_empty() {
            model.hidden(inputs, positions, None)
        } else {
            model.hidden_with_multiplicity(inputs, &copies, positions)
        }
    })
}

/// The same with a residual stream computed by `hidden`, `[rows, length − 1]` to `[rows, length − 1, hidden]`.
pub(super) fn cross_entropy(
    model: &Model,
    batch: &Batch,
    device: &Device,
    hidden: impl FnOnce(Tensor<2, Int>) -> Tensor<3>,
) -> Losses {
    let (rows, length) = (batch.rows, batch.length);
    let predicted = length - 1;
    let cut = |from: usize| -> Vec<u32> {
        batch.ids.chunks(length).flat_map(|row| row[from..from + predicted].to_vec()).collect()
    };
    let weights: Vec<f32> = batch.weights.chunks(length).flat_map(|row| row[1..].iter().copied()).collect();
    let inputs = token_ids(&cut(0), [rows, predicted], device);
    let targets = token_ids(&cut(1), [rows * predicted, 1], device);
    let weights = Tensor::<1>::from_data(TensorData::new(weights, [rows * predicted]), device);
    let logits = model.logits(hidden(inputs)); // [rows, predicted, vocab]
    let vocab = logits.dims()[2];
    let log_probabilities = log_softmax(logits.reshape([rows * predicted, vocab]), 1);
    let per_token = -log_probabilities.gather(1, targets).reshape([rows * predicted]);
    Losses { weighted: (per_token.clone() * weights).sum(), per_token: per_token.detach() }
}
