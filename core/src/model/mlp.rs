//! SwiGLU (Shazeer 2020, arXiv 2002.05202).

use burn::module::Module;
use burn::nn::Linear;
use burn::tensor::{Device, Tensor, activation::silu};

use super::linear;
use crate::config::Config;

/// down(silu(gate(x)) · up(x)).
#[derive(Module, Debug)]
pub(super) struct Mlp {
    gate_proj: Linear,
    up_proj: Linear,
    down_proj: Linear,
}

impl Mlp {
    pub(super) fn zeros(config: &Config, device: &Device) -> Self {
        let (d, inner) = (config.hidden_size, config.intermediate_size);
        Self {
            gate_proj: linear(d, inner, device),
            up_proj: linear(d, inner, device),
            down_proj: linear(inner, d, device),
        }
    }

    /// `[batch, seq, hidden]` to the same.
    pub(super) fn forward(&self, x: Tensor<3>) -> Tensor<3> {
        let gate = silu(self.gate_proj.forward(x.clone()));
        self.down_proj.forward(gate * self.up_proj.forward(x))
    }
}
