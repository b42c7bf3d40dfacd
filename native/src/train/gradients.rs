//! Gradients of a batch, shared among threads.
//!
//! At nano size a kernel is too small to be split, but the rows of a batch are independent: each
//! thread takes some through the whole model. Parts are added in their order, so that the sum is
//! the same in every run with the same number of threads.

use burn::module::Module;
use burn::optim::GradientsParams;
use burn::tensor::Device;
use drope_core::model::Model;
use drope_core::positions::Positions;
use drope_core::train::{Batch, add_gradients, weighted_cross_entropy};

/// What a batch gives.
pub struct BatchGradients {
    pub gradients: GradientsParams,
    /// Cross entropy of each predicted token, row after row.
    pub losses: Vec<f32>,
}

/// Gradients of the mean weighted loss.
pub fn of_batch(
    model: &Model,
    batch: &Batch,
    positions: &Positions,
    device: &Device,
    threads: usize,
) -> BatchGradients {
    let total = batch.total_weight();
    let part = |part: &Batch| {
        // Leaves of its own for every thread: Burn joins graphs that share one, and then either may consume both.
        let model = &model.clone().fork(device);
        let losses = weighted_cross_entropy(model, part, positions, device);
        let gradients = losses.weighted.div_scalar(total).backward();
        let per_token = losses.per_token.into_data().iter::<f32>().collect::<Vec<_>>();
        (GradientsParams::from_grads(gradients, model), per_token)
    };
    let parts = batch.split(threads);
    let done: Vec<(GradientsParams, Vec<f32>)> = match parts.as_slice() {
        [one] => vec![part(one)],
        many => std::thread::scope(|scope| {
            let workers: Vec<_> = many.iter().map(|rows| scope.spawn(|| part(rows))).collect();
            workers
                .into_iter()
                .map(|worker| worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
                .collect()
        }),
    };
    let (gradients, losses): (Vec<_>, Vec<_>) = done.into_iter().unzip();
    BatchGradients { gradients: add_gradients(model, gradients), losses: losses.concat() }
}
