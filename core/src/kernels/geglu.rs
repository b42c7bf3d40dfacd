//! The gate of GeGLU (Shazeer 2020, arXiv 2002.05202): gelu(gate) · up, with the approximation of GELU by tanh.

use burn::tensor::{Tensor, activation::gelu_approximate};

/// gelu(gate) · up, of one shape.
pub fn geglu<const D: usize>(gate: Tensor<D>, up: Tensor<D>) -> Tensor<D> {
    gelu_approximate(gate) * up
}
