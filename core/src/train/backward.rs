//! Gradients of a batch in bounded memory.
//!
//! A batch may go through the model in parts whose gradients add up (gradient accumulation). Of each part, logits exist for some
//! tokens at a time, and the forward pass may keep nothing but the input of each block: the backward pass then computes one block
//! at a time again (activation recomputation; Chen et al. 2016, arXiv 1604.06174). This needs the graph of one block only, on
//! every device.

use burn::module::Module;
use burn::optim::GradientsParams;
use burn::tensor::{Tensor, TensorData};
use serde::{Deserialize, Serialize};

use super::batch::{Batch, inputs, predicted};
use super::gradients::{BatchGradients, add};
use crate::kernels;
use crate::model::{Blocks, Model, token_ids};
use crate::positions::Positions;

/// Logits that exist at once, as numbers: 128 MB.
const LOGITS_AT_ONCE: usize = 1 << 25;

/// What bounds the memory of an update.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Memory {
    /// Tokens that go through the model at once, at least one row; where it is not given, the whole batch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub micro_batch_tokens: Option<usize>,
    /// Whether the backward pass computes each block again instead of keeping what it computed.
    #[serde(default)]
    pub recompute: bool,
}

/// Gradients of Σ weight · cross entropy / `total_loss_weight`; for some rows of a batch, the weight is that of the whole
/// batch. The model is on an autodiff device.
pub fn batch_gradients(
    model: &Model,
    rows: &Batch,
    total_loss_weight: f32,
    positions: &Positions,
    memory: Memory,
) -> BatchGradients {
    // Each call has its own leaves: Burn joins graphs that share a leaf, and threads would then consume each other's.
    let model = &model.clone().fork(&model.device());
    let mut pass = BackwardPass { model, total_loss_weight, sum: GradientsParams::new(), token_losses: Vec::new() };
    for part in &rows.in_parts_of(memory.micro_batch_tokens.unwrap_or(usize::MAX)) {
        if memory.recompute {
            pass.add_recomputed(part, positions);
        } else {
            pass.add(part, positions);
        }
    }
    BatchGradients { gradients: pass.sum, token_losses: Tensor::cat(pass.token_losses, 0) }
}

struct BackwardPass<'a> {
    /// With leaves of its own, on an autodiff device.
    model: &'a Model,
    total_loss_weight: f32,
    sum: GradientsParams,
    /// Cross entropy of each predicted token of the parts so far.
    token_losses: Vec<Tensor<1>>,
}

impl BackwardPass<'_> {
    /// Adds the gradients of a part, with the graph of all blocks.
    fn add(&mut self, part: &Batch, positions: &Positions) {
        let blocks = blocks(self.model, part, positions);
        let x = blocks.residual(ids(self.model, part)); // [rows, length − 1, hidden]
        let of_x = self.add_head(part, &blocks, x.clone().inner());
        self.add_stage(x, of_x);
    }

    /// The same with the graph of one block at a time.
    fn add_recomputed(&mut self, part: &Batch, positions: &Positions) {
        let without_graph = self.model.valid();
        let mut block_inputs = Vec::new();
        let x = {
            let blocks = blocks(&without_graph, part, positions);
            let embedded = blocks.embed(ids(&without_graph, part));
            (0..blocks.count()).fold(embedded, |x, index| {
                block_inputs.push(x.clone());
                blocks.forward(index, x)
            })
        };
        let blocks = blocks(self.model, part, positions);
        let mut of_x = self.add_head(part, &blocks, x);
        for (index, input) in block_inputs.into_iter().enumerate().rev() {
            let input = Tensor::from_inner(input).require_grad();
            let output = blocks.forward(index, input.clone());
            of_x = self.add_stage_from(&input, output, of_x);
        }
        self.add_stage(blocks.embed(ids(self.model, part)), of_x);
    }

    /// Adds the gradients of the last norm and of the projection onto the vocabulary, for some tokens at a time. Takes the residual
    /// stream `[rows, length − 1, hidden]` and returns its gradient; both have no graph.
    fn add_head(&mut self, part: &Batch, blocks: &Blocks, x: Tensor<3>) -> Tensor<3> {
        let shape = x.dims();
        let [rows, seq, hidden] = shape;
        let targets: Vec<u32> = predicted(&part.ids, part.length).collect();
        let weights: Vec<f32> = predicted(&part.loss_weights, part.length).collect();
        let x = x.reshape([1, rows * seq, hidden]);
        let chunk = (LOGITS_AT_ONCE / blocks.vocab_size()).max(1);
        let mut gradients = Vec::new();
        for from in (0..targets.len()).step_by(chunk) {
            let tokens = from..targets.len().min(from + chunk);
            let stream = Tensor::from_inner(x.clone().slice([0..1, tokens.clone()])).require_grad();
            let logits = blocks.logits(stream.clone()); // [1, tokens, vocab]
            let losses = kernels::cross_entropy(logits.squeeze_dim(0), &targets[tokens.clone()]);
            let weights = Tensor::<1>::from_data(TensorData::from(&weights[tokens]), &self.model.device());
            self.token_losses.push(losses.clone().inner());
            let loss = (losses * weights).sum().div_scalar(self.total_loss_weight);
            gradients.push(self.add_loss(&stream, loss));
        }
        Tensor::cat(gradients, 1).reshape(shape)
    }

    /// Adds the gradients of a stage whose output has the gradient `of_output`.
    fn add_stage(&mut self, output: Tensor<3>, of_output: Tensor<3>) {
        let gradients = (output * Tensor::from_inner(of_output)).sum().backward();
        add(self.model, &mut self.sum, GradientsParams::from_grads(gradients, self.model));
    }

    /// The same, and returns the gradient of the stage's input.
    fn add_stage_from(&mut self, input: &Tensor<3>, output: Tensor<3>, of_output: Tensor<3>) -> Tensor<3> {
        self.add_loss(input, (output * Tensor::from_inner(of_output)).sum())
    }

    /// Adds the gradients of a loss, `[1]`, and returns that of `input`, a leaf of its graph.
    fn add_loss(&mut self, input: &Tensor<3>, loss: Tensor<1>) -> Tensor<3> {
        let mut gradients = loss.backward();
        let of_input = input.grad_remove(&mut gradients).unwrap_or_else(|| input.clone().inner().zeros_like());
        add(self.model, &mut self.sum, GradientsParams::from_grads(gradients, self.model));
        of_input
    }
}

/// The blocks for the inputs of a batch.
fn blocks<'a>(model: &'a Model, batch: &Batch, positions: &Positions) -> Blocks<'a> {
    let multiplicity: Vec<f32> =
        if batch.multiplicity.is_empty() { Vec::new() } else { inputs(&batch.multiplicity, batch.length).collect() };
    Blocks::new(model, [batch.rows, batch.length - 1], &multiplicity, positions)
}

/// All tokens of a batch but the last of each row, `[rows, length − 1]`.
fn ids(model: &Model, batch: &Batch) -> Tensor<2, burn::tensor::Int> {
    let ids: Vec<u32> = inputs(&batch.ids, batch.length).collect();
    token_ids(&ids, [batch.rows, batch.length - 1], &model.device())
}
