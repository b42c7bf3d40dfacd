//! Rotary positions and factors of the logits, in one pass over queries or keys.

use burn::tensor::{Device, Tensor, TensorData};
use burn_flex::FlexTensor;
use pulp::Simd;

#[cfg(feature = "gpu")]
use super::gpu;
use super::math::mul_add;
use super::parts::rows_in_parts;
use super::views::{Heads, heads_inside, numbers};
use super::{Kernel, apply, constant, is_on_cpu};

/// Angles by which queries or keys are rotated.
pub struct RotaryTable {
    /// `[batch or 1, heads or 1, seq, width]` with equal halves, times the attention factor.
    cos: Tensor<4>,
    /// As `cos`.
    sin: Tensor<4>,
    /// What the reference form needs beside them.
    rotate_half: Option<Tensor<4>>,
}

impl RotaryTable {
    /// From cosines and sines, `[batch or 1, heads or 1, seq, width]` with equal halves.
    pub fn new(cos: Tensor<4>, sin: Tensor<4>) -> Self {
        let rotate_half = (!is_on_cpu(&cos)).then(|| rotate_half(cos.dims()[3], &cos.device()));
        Self { cos, sin, rotate_half }
    }

    /// Components that it rotates.
    pub fn width(&self) -> usize {
        self.cos.dims()[3]
    }

    /// Tokens that it has rows for.
    pub fn tokens(&self) -> usize {
        self.cos.dims()[2]
    }

    /// The same for the last tokens alone.
    #[must_use]
    pub fn of_last(&self, tokens: usize) -> Self {
        let rows = self.tokens();
        let last = |table: &Tensor<4>| table.clone().slice_dim(2, rows - tokens..rows);
        Self { cos: last(&self.cos), sin: last(&self.sin), rotate_half: self.rotate_half.clone() }
    }

    /// Rotates `[batch, heads, seq, head_dim]`: x·cos + rotate_half(x)·sin, where rotate_half(x₁, x₂) = (−x₂, x₁) as in
    /// Hugging Face's models.
    pub fn rotate(&self, x: Tensor<4>) -> Tensor<4> {
        #[cfg(feature = "gpu")]
        if let Some(output) = gpu::rotated(&x, &self.cos, &self.sin) {
            return output;
        }
        match &self.rotate_half {
            Some(rotate_half) => plain(x, &self.cos, &self.sin, rotate_half),
            None => {
                let (cos, sin) = (constant(&self.cos).to_contiguous(), constant(&self.sin).to_contiguous());
                apply(Rotate { cos, sin }, [x.into_dispatch()])
            }
        }
    }
}

fn plain(x: Tensor<4>, cos: &Tensor<4>, sin: &Tensor<4>, rotate_half: &Tensor<4>) -> Tensor<4> {
    let rotated = x.clone().matmul(rotate_half.clone());
    x * cos.clone() + rotated * sin.clone()
}

/// `[1, 1, head_dim, head_dim]`: x·rotate_half = (−x₂, x₁) for x = (x₁, x₂). One small product is fewer kernels on a GPU
/// than cutting, negating and joining, and its gradient is one product too.
fn rotate_half(head_dim: usize, device: &Device) -> Tensor<4> {
    let half = head_dim / 2;
    let mut values = vec![0.0f32; head_dim * head_dim];
    for m in 0..half {
        values[(m + half) * head_dim + m] = -1.0;
        values[m * head_dim + m + half] = 1.0;
    }
    Tensor::from_data(TensorData::new(values, [1, 1, head_dim, head_dim]), device)
}

#[derive(Clone, Debug)]
struct Rotate {
    cos: FlexTensor,
    sin: FlexTensor,
}

impl Rotate {
    /// Rotates every row, or with the sign −1 the other way.
    fn apply(&self, x: &FlexTensor, sign: f32) -> FlexTensor {
        let x = Heads::new(x);
        let [batch, heads, seq, width] = x.dims;
        let mut output = vec![0.0; batch * seq * heads * width];
        rows_in_parts(&mut output, heads * width, |first, output| turn(&x, self, sign, first, output));
        heads_inside(output, x.dims)
    }
}

impl Kernel<1> for Rotate {
    type Saved = ();

    fn forward(&self, [x]: &[FlexTensor; 1]) -> (FlexTensor, ()) {
        (self.apply(x, 1.0), ())
    }

    #[cfg(feature = "train")]
    fn backward(&self, _: &[FlexTensor; 1], (): (), gradient: FlexTensor) -> [FlexTensor; 1] {
        [self.apply(&gradient, -1.0)]
    }
}

/// The tokens of all texts from `first` on, as many as `output` holds: `[tokens, heads, head_dim]`.
#[pulp::with_simd(turn = pulp::Arch::new())]
#[inline(always)]
fn turn_rows<'a, S: Simd>(_: S, x: &'a Heads, table: &'a Rotate, sign: f32, first: usize, output: &'a mut [f32]) {
    let [_, heads, seq, width] = x.dims;
    let shape = table.cos.layout().shape();
    let (cos, sin) = (numbers(&table.cos), numbers(&table.sin));
    for (token, output) in output.chunks_exact_mut(heads * width).enumerate() {
        let (batch, at) = ((first + token) / seq, (first + token) % seq);
        for (head, output) in output.chunks_exact_mut(width).enumerate() {
            let angles = ((batch % shape[0] * shape[1] + head % shape[1]) * seq + at) * width;
            turn_row(x.row(batch, head, at), &cos[angles..][..width], &sin[angles..][..width], sign, output);
        }
    }
}

#[inline(always)]
fn turn_row(row: &[f32], cos: &[f32], sin: &[f32], sign: f32, output: &mut [f32]) {
    let half = row.len() / 2;
    let (first, second) = row.split_at(half);
    let (to_first, to_second) = output.split_at_mut(half);
    let inputs = first.iter().zip(second).zip(cos.iter().zip(sin));
    for ((to_first, to_second), ((&first, &second), (&cos, &sin))) in to_first.iter_mut().zip(to_second).zip(inputs) {
        *to_first = mul_add(first, cos, -(second * sin * sign));
        *to_second = mul_add(second, cos, first * sin * sign);
    }
}

#[cfg(all(test, feature = "train"))]
mod tests {
    use burn::tensor::Tensor;

    use super::RotaryTable;
    use crate::kernels::check::{check, random};

    #[test]
    fn the_fused_form_equals_the_plain_one() {
        // A table for all, for each text, for each head; rows in both orders of memory.
        for [batch, heads] in [[1, 1], [2, 1], [1, 3]] {
            let angles = random([batch, heads, 5, 4], 7);
            let both = Tensor::cat(vec![angles.clone(), angles], 3) * 3.0;
            let rotated = |x: Tensor<4>| {
                let tables = [both.clone().cos() * 1.1, both.clone().sin() * 1.1];
                let [cos, sin] = if x.device().is_autodiff() { tables.map(Tensor::autodiff) } else { tables };
                RotaryTable::new(cos, sin).rotate(x)
            };
            check(&[random([2, 3, 5, 8], 1)], |[x]| rotated(x));
            check(&[random([2, 5, 3, 8], 1)], |[x]| rotated(x.swap_dims(1, 2)));
        }
    }
}
