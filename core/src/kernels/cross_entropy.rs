//! Cross entropy of the next token.

use std::sync::Arc;

use burn::tensor::{Int, Tensor, TensorData, activation::log_softmax};
use burn_flex::FlexTensor;
use pulp::Simd;

#[cfg(feature = "gpu")]
use super::gpu;
use super::math::{exp_all, max, sum};
use super::parts::in_parts;
use super::views::{numbers, tensor};
use super::{Kernel, apply, is_on_cpu};

/// Tokens that a thread takes at a time.
const ROWS: usize = 16;
/// Gradients below this change nothing, but products with them are subnormal, which processors compute some ten times slower.
const TINY: f32 = 1e-30;

/// Cross entropy of each target token in nats, `[tokens]`, of logits `[tokens, vocab]`.
pub fn cross_entropy(logits: Tensor<2>, targets: &[u32]) -> Tensor<1> {
    #[cfg(feature = "gpu")]
    if let Some(losses) = gpu::cross_entropy(&logits, targets) {
        return losses;
    }
    if is_on_cpu(&logits) {
        apply(FusedCrossEntropy { targets: targets.into() }, [logits.into_dispatch()])
    } else {
        plain(logits, targets)
    }
}

fn plain(logits: Tensor<2>, targets: &[u32]) -> Tensor<1> {
    let [tokens, _] = logits.dims();
    let ids = targets.iter().map(|&id| id as i32).collect();
    let targets = Tensor::<2, Int>::from_data(TensorData::new(ids, [tokens, 1]), &logits.device());
    -log_softmax(logits, 1).gather(1, targets).reshape([tokens])
}

#[derive(Clone, Debug)]
struct FusedCrossEntropy {
    targets: Arc<[u32]>,
}

impl Kernel<1> for FusedCrossEntropy {
    /// Softmax of the logits.
    type Saved = Arc<Vec<f32>>;

    fn forward(&self, [logits]: &[FlexTensor; 1]) -> (FlexTensor, Self::Saved) {
        let logits = logits.to_contiguous();
        let shape = logits.layout().shape();
        let (tokens, vocab) = (shape[0], shape[1]);
        let mut probabilities = numbers(&logits).to_vec();
        let mut losses = vec![0.0; tokens];
        let size = probabilities.len();
        let rows = probabilities.chunks_mut(ROWS * vocab).zip(self.targets.chunks(ROWS)).zip(losses.chunks_mut(ROWS));
        in_parts(size, rows, |((rows, targets), losses)| softmax_and_losses(rows, targets, losses));
        (tensor(losses, [tokens].into()), Arc::new(probabilities))
    }

    /// (softmax − target) · gradient.
    fn backward(&self, [logits]: &[FlexTensor; 1], saved: Self::Saved, gradient: FlexTensor) -> [FlexTensor; 1] {
        let shape = logits.layout().shape().clone();
        let gradient = gradient.to_contiguous();
        let mut of_logits = Arc::unwrap_or_clone(saved);
        let size = of_logits.len();
        let of_tokens = self.targets.chunks(ROWS).zip(numbers(&gradient).chunks(ROWS));
        let rows = of_logits.chunks_mut(ROWS * shape[1]).zip(of_tokens);
        in_parts(size, rows, |(rows, (targets, gradient))| differentiate(rows, targets, gradient));
        [tensor(of_logits, shape)]
    }
}

/// Makes probabilities of rows of logits, `[tokens, vocab]`.
#[pulp::with_simd(softmax_and_losses = pulp::Arch::new())]
#[inline(always)]
fn softmax_rows<'a, S: Simd>(_: S, logits: &'a mut [f32], targets: &'a [u32], losses: &'a mut [f32]) {
    let vocab = logits.len() / targets.len().max(1);
    for ((row, &target), loss) in logits.chunks_exact_mut(vocab).zip(targets).zip(losses) {
        let (largest, logit) = (max(row), row[target as usize]);
        let sum = sum(exp_all(row, largest));
        *loss = sum.ln() + largest - logit;
        let scale = 1.0 / sum;
        row.iter_mut().for_each(|p| *p *= scale);
    }
}

/// Makes gradients of rows of probabilities, `[tokens, vocab]`.
#[pulp::with_simd(differentiate = pulp::Arch::new())]
#[inline(always)]
fn differentiate_rows<'a, S: Simd>(_: S, probabilities: &'a mut [f32], targets: &'a [u32], gradient: &'a [f32]) {
    let vocab = probabilities.len() / targets.len().max(1);
    for ((row, &target), &gradient) in probabilities.chunks_exact_mut(vocab).zip(targets).zip(gradient) {
        row[target as usize] -= 1.0;
        for p in row {
            let of_logit = *p * gradient;
            *p = if of_logit.abs() < TINY { 0.0 } else { of_logit };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::cross_entropy;
    use crate::kernels::check::{check, random};

    #[test]
    fn the_fused_form_equals_the_plain_one() {
        let targets = [0, 99, 3, 3, 50];
        let logits = random([5, 100], 1) * 20.0;
        check(&[logits], |[logits]| cross_entropy(logits, &targets));
    }
}
