//! Cross entropy of the next token in a launch, and its gradient in another: nothing as large as the logits is kept beside them.

use burn::tensor::{Int, Tensor, TensorData};
use burn_cubecl::kernel::into_contiguous;
use burn_cubecl::tensor::CubeTensor;
use burn_cubecl::{Cube, cubecl};

use super::matrix::integers;
use super::softmax::ExpSum;
use super::subgroups::lanes;
use super::{MOST_WORKGROUPS, has_kernels, output_like, units_for};
use crate::kernels::{Kernel, apply};
use cubecl::prelude::*;

/// Units of a workgroup, which has a row of logits.
const UNITS: usize = 256;

/// Cross entropy of each target token in nats, `[tokens]`, of logits `[tokens, vocab]`; `None` where the kernels do not take the logits.
pub fn cross_entropy(logits: &Tensor<2>, targets: &[u32]) -> Option<Tensor<1>> {
    if !has_kernels(logits) || targets.len() > MOST_WORKGROUPS {
        return None;
    }
    let ids = targets.iter().map(|&id| id.cast_signed()).collect();
    let device = logits.device().without_autodiff();
    let targets = Tensor::<1, Int>::from_data(TensorData::new(ids, [targets.len()]), &device);
    Some(apply(CrossEntropy { targets: integers(targets) }, [logits.clone().into_dispatch()]))
}

#[derive(Clone, Debug)]
struct CrossEntropy {
    /// `[tokens]`
    targets: CubeTensor,
}

impl Kernel<1, Cube> for CrossEntropy {
    /// ln Σ e^logit of each row, `[tokens]`.
    type Saved = CubeTensor;

    fn forward(&self, [logits]: &[CubeTensor; 1]) -> (CubeTensor, CubeTensor) {
        let logits = into_contiguous(logits.clone());
        let [tokens, vocab] = [logits.meta.shape()[0], logits.meta.shape()[1]];
        let (losses, log_sums) = (output_like(&logits, [tokens]), output_like(&logits, [tokens]));
        losses_of_rows::launch(
            &logits.client.clone(),
            CubeCount::Static(tokens as u32, 1, 1),
            CubeDim::new_1d(UNITS as u32),
            logits.into_buffer_arg(),
            self.targets.clone().into_buffer_arg(),
            losses.clone().into_buffer_arg(),
            log_sums.clone().into_buffer_arg(),
            vocab,
            lanes(),
        );
        (losses, log_sums)
    }

    /// (softmax − target) · gradient.
    fn backward(&self, [logits]: &[CubeTensor; 1], log_sums: CubeTensor, gradient: CubeTensor) -> [CubeTensor; 1] {
        let logits = into_contiguous(logits.clone());
        let shape = logits.meta.shape().clone();
        let (vocab, size) = (shape[1], shape.num_elements());
        let (count, dim) = units_for(size);
        let output = output_like(&logits, shape);
        differentiate::launch(
            &logits.client.clone(),
            count,
            dim,
            logits.into_buffer_arg(),
            self.targets.clone().into_buffer_arg(),
            log_sums.into_buffer_arg(),
            into_contiguous(gradient).into_buffer_arg(),
            output.clone().into_buffer_arg(),
            vocab,
            size,
        );
        [output]
    }
}

/// A workgroup for each row.
#[cube(launch)]
fn losses_of_rows(
    logits: &[f32],
    targets: &[i32],
    losses: &mut [f32],
    log_sums: &mut [f32],
    vocab: usize,
    #[comptime] lanes: usize,
) {
    let mut shared = Shared::new_slice(UNITS);
    let row = CUBE_POS_X as usize;
    let start = row * vocab;
    let mut exponentials = ExpSum::new();
    let mut i = UNIT_POS as usize;
    while i < vocab {
        exponentials.add(logits[start + i]);
        i += UNITS;
    }
    let row_sum = exponentials.of_units(&mut shared, UNITS, lanes);
    if UNIT_POS == 0 {
        let log_sum = f32::ln(row_sum.sum) + row_sum.largest;
        log_sums[row] = log_sum;
        losses[row] = log_sum - logits[start + targets[row] as usize];
    }
}

/// A unit for each number, or for several.
#[cube(launch)]
fn differentiate(
    logits: &[f32],
    targets: &[i32],
    log_sums: &[f32],
    gradient: &[f32],
    output: &mut [f32],
    vocab: usize,
    size: usize,
) {
    let mut at = ABSOLUTE_POS_X as usize;
    while at < size {
        let row = at / vocab;
        let mut probability = f32::exp(logits[at] - log_sums[row]);
        if at % vocab == targets[row] as usize {
            probability -= 1.0f32;
        }
        output[at] = probability * gradient[row];
        at += (CUBE_COUNT_X * CUBE_DIM_X) as usize;
    }
}
