//! Gradients of a batch, shared among threads and in bounded memory.
//!
//! At nano size a kernel is too small to be split, but the rows of a batch are independent: each thread of the caller's pool takes
//! some. Their gradients are added in the order of the rows, so that the sum is the same in every run with as many threads.
//!
//! Several GPUs share a batch in the same way (data parallelism): each gets a copy of the weights and some rows, and their gradients
//! come back to the model's device, which alone keeps the optimizer's state.
//!
//! A batch may go through the model in parts whose gradients add up (gradient accumulation). Of each part, logits exist for some
//! tokens at a time, and the forward pass may keep nothing but the input of each block (on GPUs the result of its attention too): the
//! backward pass then computes one block at a time again (activation recomputation; Chen et al. 2016, arXiv 1604.06174). This needs the graph of one block only, on
//! every device.

use burn::module::Module;
use burn::optim::GradientsParams;
use burn::tensor::{Device, Gradients, Int, Tensor, TensorData};
use serde::{Deserialize, Serialize};

use super::batch::{Batch, inputs, predicted};
use super::gradients::{BatchGradients, add};
use crate::kernels::{self, gradients_in_chunks, queries_at_once, with_gradient};
use crate::model::{Blocks, Model, SequenceLayout, token_ids};
use crate::positions::Positions;

/// Logits that exist at once in all threads, as numbers: 128 MB.
pub(super) const LOGITS_AT_ONCE: usize = 1 << 25;

/// The same on a device: four times as many where it has units for products of matrices, which longer ones keep busy.
pub(super) fn logits_at_once(device: &Device) -> usize {
    if kernels::has_matrix_units(device) { 4 * LOGITS_AT_ONCE } else { LOGITS_AT_ONCE }
}

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
    /// Queries whose attention is computed at once where blocks are computed again: on GPUs, where the logits of all queries of a row
    /// would be in memory together, and where it is 1,024 unless it is given (under CUDA as many as have 2²⁸ logits). The CPU's kernel
    /// needs no such bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attention_queries: Option<usize>,
}

/// Gradients of the mean cross entropy of a batch by its loss weights, on the device of the model, an autodiff device.
///
/// They are computed on `devices` beside each other, each of which takes as many rows as the others or one less;
/// `memory.micro_batch_tokens` counts the rows of all. A single device shares its rows among the threads of the caller's pool.
pub fn batch_gradients(
    model: &Model,
    devices: &[Device],
    batch: &Batch,
    positions: &Positions,
    memory: Memory,
) -> BatchGradients {
    let devices = match devices {
        [device] => vec![device; kernels::threads_for(device)],
        several => several.iter().collect(),
    };
    let mut total = BatchGradients { gradients: GradientsParams::new(), token_losses: Vec::new() };
    let total_loss_weight = batch.total_loss_weight();
    // Each slice has its own leaves: Burn joins graphs that share a leaf, and threads would consume each other's.
    let models: Vec<Model> = devices.iter().map(|&device| model.clone().fork(device)).collect();
    for micro_batch in batch.in_parts_of(memory.micro_batch_tokens.unwrap_or(usize::MAX)) {
        let rows = micro_batch.split(devices.len());
        let logits_at_once = logits_at_once(&model.device()) / rows.len();
        let slice = |(model, rows)| BatchSlice {
            model,
            rows,
            blocks: blocks(model, rows, positions),
            total_loss_weight,
            logits_at_once,
            attention_queries: memory.attention_queries.or_else(|| queries_at_once(&model.device())),
        };
        let slices: Vec<BatchSlice> = models.iter().zip(&rows).map(slice).collect();
        if memory.recompute {
            recomputed(micro_batch.rows, slices, positions, model, &mut total);
        } else {
            total.add_all(model, kernels::rows_in_threads(micro_batch.rows, slices, BatchSlice::whole));
        }
    }
    total
}

/// Adds the gradients of slices of a batch that go through the model side by side, with the graph of one block at a time.
fn recomputed(rows: usize, slices: Vec<BatchSlice>, positions: &Positions, model: &Model, total: &mut BatchGradients) {
    let (mut slices, head_gradients): (Vec<RecomputedSlice>, Vec<_>) =
        kernels::rows_in_threads(rows, slices, |slice| slice.without_graph(positions)).into_iter().unzip();
    total.add_all(model, head_gradients);
    for index in (0..model.blocks()).rev() {
        total.add_all(model, kernels::rows_in_threads(rows, &mut slices, |slice| slice.block(index)));
    }
    total.add_all(model, kernels::rows_in_threads(rows, slices, RecomputedSlice::embedding));
}

/// The rows of a batch that one thread takes through the model.
struct BatchSlice<'a> {
    /// With leaves of its own, on an autodiff device.
    model: &'a Model,
    rows: &'a Batch,
    blocks: Blocks<'a>,
    total_loss_weight: f32,
    logits_at_once: usize,
    /// Where blocks are computed again: queries of attention at a time.
    attention_queries: Option<usize>,
}

/// Rows whose blocks the backward pass computes again.
struct RecomputedSlice<'a> {
    slice: BatchSlice<'a>,
    /// What goes into each block that is still to be computed, `[rows, length − 1, hidden]`.
    block_inputs: Vec<Tensor<3>>,
    /// Where attention is computed for some queries at a time, what it gave in each of these blocks,
    /// `[rows, heads, length − 1, head_dim]`: to compute it again would take longest.
    attended: Vec<Tensor<4>>,
    /// Gradient of the loss by the output of the last block whose backward pass is still to run, `[rows, length − 1, hidden]`.
    grad_output: Tensor<3>,
}

impl<'a> BatchSlice<'a> {
    /// All gradients, with the graph of all blocks.
    fn whole(self) -> BatchGradients {
        let x = self.blocks.residual(ids(self.model, self.rows)); // [rows, length − 1, hidden]
        let (grad_x, mut found) = self.head(x.clone().inner());
        let gradients = with_gradient(x, grad_x).backward();
        add(self.model, &mut found.gradients, GradientsParams::from_grads(gradients, self.model));
        found
    }

    /// The forward pass without a graph, and the gradients behind the last block.
    fn without_graph(self, positions: &Positions) -> (RecomputedSlice<'a>, BatchGradients) {
        let model = self.model.valid();
        let blocks = blocks(&model, self.rows, positions);
        let (mut block_inputs, mut attended) = (Vec::with_capacity(blocks.count()), Vec::new());
        let x = (0..blocks.count()).fold(blocks.embed(ids(&model, self.rows)), |x, index| {
            block_inputs.push(x.clone());
            match self.attention_queries {
                None => blocks.forward(index, x),
                Some(queries) => {
                    let y = blocks.attended_in_chunks(index, x.clone(), queries);
                    attended.push(y.clone());
                    blocks.finish_block(index, x, y)
                }
            }
        });
        let (grad_output, found) = self.head(x);
        (RecomputedSlice { slice: self, block_inputs, attended, grad_output }, found)
    }

    /// Gradients of the last norm and of the projection onto the vocabulary, for some tokens at a time. Takes the residual
    /// stream `[rows, length − 1, hidden]` and returns its gradient; both have no graph.
    fn head(&self, x: Tensor<3>) -> (Tensor<3>, BatchGradients) {
        let shape = x.dims();
        let [rows, seq, hidden] = shape;
        let targets: Vec<u32> = predicted(&self.rows.ids, self.rows.length).collect();
        let weights: Vec<f32> = predicted(&self.rows.loss_weights, self.rows.length).collect();
        let x = x.reshape([1, rows * seq, hidden]);
        let chunk = (self.logits_at_once / self.blocks.vocab_size()).max(1);
        let mut found = BatchGradients { gradients: GradientsParams::new(), token_losses: Vec::new() };
        let mut grad_x = Vec::new();
        for from in (0..targets.len()).step_by(chunk) {
            let tokens = from..targets.len().min(from + chunk);
            let stream = Tensor::from_inner(x.clone().slice([0..1, tokens.clone()])).require_grad();
            let logits = self.blocks.logits(stream.clone()); // [1, tokens, vocab]
            let losses = kernels::cross_entropy(logits.squeeze_dim(0), &targets[tokens.clone()]);
            let weights = Tensor::<1>::from_data(TensorData::from(&weights[tokens]), &self.model.device());
            found.token_losses.push(losses.clone().inner());
            let mut gradients = (losses * weights).sum().div_scalar(self.total_loss_weight).backward();
            grad_x.push(leaf_gradient(&stream, &mut gradients));
            add(self.model, &mut found.gradients, GradientsParams::from_grads(gradients, self.model));
        }
        (Tensor::cat(grad_x, 1).reshape(shape), found)
    }
}

impl RecomputedSlice<'_> {
    /// Gradients of the block that is the last still to be computed.
    fn block(&mut self, index: usize) -> BatchGradients {
        let input = self.block_inputs.pop().expect("there is an input for each block");
        if let Some(queries) = self.slice.attention_queries {
            let y = self.attended.pop().expect("attention was computed in each block");
            return self.block_in_chunks(index, input, y, queries);
        }
        let input = Tensor::from_inner(input).require_grad();
        let output = self.slice.blocks.forward(index, input.clone());
        let mut gradients = with_gradient(output, self.grad_output.clone()).backward();
        self.grad_output = leaf_gradient(&input, &mut gradients);
        BatchGradients::of(gradients, self.slice.model)
    }

    /// The same from three graphs one after the other: behind attention, of a few queries of it at a time, and before it.
    fn block_in_chunks(&mut self, index: usize, input: Tensor<3>, y: Tensor<4>, queries: usize) -> BatchGradients {
        let BatchSlice { model, blocks, .. } = &self.slice;
        let stream = Tensor::from_inner(input.clone()).require_grad();
        let read = blocks.attention_inputs(index, stream.clone());
        let inputs = read.clone().map(Tensor::inner);
        let (bias, compute) = (blocks.bias(index), blocks.compute(index));
        let (y, block_input) = (Tensor::from_inner(y).require_grad(), Tensor::from_inner(input).require_grad());
        let output = blocks.finish_block(index, block_input.clone(), y.clone());
        let mut gradients = with_gradient(output, self.grad_output.clone()).backward();
        let (grad_y, grad_block_input) =
            (leaf_gradient(&y, &mut gradients), leaf_gradient(&block_input, &mut gradients));
        let mut found = BatchGradients::of(gradients, model);

        let grad_inputs = gradients_in_chunks(inputs, bias, queries, compute, &grad_y);
        let [q, k, v] = std::array::from_fn(|at| with_gradient(read[at].clone(), grad_inputs[at].clone()));
        let mut gradients = (q + k + v).backward();
        self.grad_output = grad_block_input + leaf_gradient(&stream, &mut gradients);
        add(model, &mut found.gradients, GradientsParams::from_grads(gradients, *model));
        found
    }

    /// Gradients of the embedding.
    fn embedding(self) -> BatchGradients {
        let embedded = self.slice.blocks.embed(ids(self.slice.model, self.slice.rows));
        BatchGradients::of(with_gradient(embedded, self.grad_output).backward(), self.slice.model)
    }
}

/// The gradient of a leaf.
fn leaf_gradient<const D: usize>(leaf: &Tensor<D>, gradients: &mut Gradients) -> Tensor<D> {
    leaf.grad_remove(gradients).expect("the output depends on the leaf")
}

/// The blocks for the inputs of a batch.
pub(super) fn blocks<'a>(model: &'a Model, batch: &Batch, positions: &Positions) -> Blocks<'a> {
    let copies: Vec<f32> = inputs(&batch.multiplicity, batch.length).collect();
    let if_used = |is_used| if is_used { &copies[..] } else { &[] };
    let document_starts: Vec<usize> = inputs(&batch.document_starts, batch.length).collect();
    let layout = SequenceLayout {
        multiplicity: if_used(batch.copies_change.counts()),
        copies: if_used(batch.copies_change.positions()),
        document_starts: &document_starts,
    };
    Blocks::new(model, [batch.rows, batch.length - 1], layout, positions)
}

/// All tokens of a batch but the last of each row, `[rows, length − 1]`.
pub(super) fn ids(model: &Model, batch: &Batch) -> Tensor<2, Int> {
    let ids: Vec<u32> = inputs(&batch.ids, batch.length).collect();
    token_ids(&ids, [batch.rows, batch.length - 1], &model.device())
}
