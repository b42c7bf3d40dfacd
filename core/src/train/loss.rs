//! Cross entropy of the next token.

use burn::tensor::{Int, Tensor, TensorData};

use super::batch::{Batch, inputs, predicted};
use crate::kernels;
use crate::model::{Model, token_ids};
use crate::positions::Positions;

/// Losses of a batch's predicted tokens.
pub struct CrossEntropy {
    /// Σ weight · cross entropy, `[1]`, which gradients flow through; divide by [`Batch::total_loss_weight`] for a mean.
    pub weighted_sum: Tensor<1>,
    /// Cross entropy of each predicted token in nats, `[rows · (length − 1)]`, without a graph.
    pub per_token: Tensor<1>,
}

/// Cross entropy of a batch, whose multiplicities count in attention. The model is on an autodiff device.
pub fn cross_entropy(model: &Model, batch: &Batch, positions: &Positions) -> CrossEntropy {
    cross_entropy_with(model, batch, |ids| {
        if batch.multiplicity.is_empty() {
            model.hidden(ids, positions, None)
        } else {
            let multiplicity: Vec<f32> = inputs(&batch.multiplicity, batch.length).collect();
            model.hidden_with_multiplicity(ids, &multiplicity, positions)
        }
    })
}

/// The same with a residual stream computed by `hidden`, from `[rows, length − 1]` to `[rows, length − 1, hidden]`.
pub(super) fn cross_entropy_with(
    model: &Model,
    batch: &Batch,
    hidden: impl FnOnce(Tensor<2, Int>) -> Tensor<3>,
) -> CrossEntropy {
    let device = model.device();
    let (rows, length) = (batch.rows, batch.length);
    let tokens = rows * (length - 1);
    let ids: Vec<u32> = inputs(&batch.ids, length).collect();
    let targets: Vec<u32> = predicted(&batch.ids, length).collect();
    let weights: Vec<f32> = predicted(&batch.loss_weights, length).collect();
    let weights = Tensor::<1>::from_data(TensorData::new(weights, [tokens]), &device);
    let logits = model.logits(hidden(token_ids(&ids, [rows, length - 1], &device))); // [rows, length − 1, vocab]
    let vocab = logits.dims()[2];
    let per_token = kernels::cross_entropy(logits.reshape([tokens, vocab]), &targets);
    CrossEntropy { weighted_sum: (per_token.clone() * weights).sum(), per_token: per_token.inner() }
}
