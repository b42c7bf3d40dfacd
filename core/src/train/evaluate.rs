//! The loss of a model on text, without gradients.

use burn::module::Module;
use burn::tensor::Tensor;

use super::backward::{blocks, ids, logits_at_once};
use super::batch::{Batch, predicted};
use crate::error::Result;
use crate::kernels;
use crate::model::Model;
use crate::positions::Positions;
use crate::read_back::numbers;

/// Mean cross entropy of each row of a batch, in nats. Threads of the caller's pool take a row at a time.
///
/// # Errors
/// If the device fails.
pub async fn row_losses(model: &Model, batch: &Batch, positions: &Positions) -> Result<Vec<f64>> {
    let model = model.valid();
    let rows = batch.in_parts_of(batch.length);
    let at_once = logits_at_once(&model.device()) / kernels::threads_for(&model.device());
    let means = kernels::rows_in_threads(rows.len(), &rows, |row| {
        let blocks = blocks(&model, row, positions);
        let x = blocks.residual(ids(&model, row)); // [1, length − 1, hidden]
        let targets: Vec<u32> = predicted(&row.ids, row.length).collect();
        let chunk = (at_once / blocks.vocab_size()).max(1);
        let losses = (0..targets.len()).step_by(chunk).map(|from| {
            let tokens = from..targets.len().min(from + chunk);
            let logits = blocks.logits(x.clone().slice([0..1, tokens.clone()])); // [1, tokens, vocab]
            kernels::cross_entropy(logits.squeeze_dim(0), &targets[tokens])
        });
        Tensor::cat(losses.collect(), 0).mean()
    });
    numbers(Tensor::cat(means, 0)).await
}
