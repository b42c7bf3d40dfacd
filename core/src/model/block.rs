//! A layer of the decoder: attention and MLP, their norms, and the residual stream.

use burn::module::Module;
use burn::nn::RmsNorm;
use burn::tensor::{Device, Tensor};

use super::attention::{Attention, LayerInputs};
use super::norm;
use super::projection::Projection;
use crate::config::{Activation, BlockNorms, Config};
use crate::kernels::{geglu, rms_norm, swiglu};

/// One layer: attention and MLP, each with norms and beside a residual.
#[derive(Module, Debug)]
pub(super) struct Block {
    pub(super) self_attn: Attention,
    pub(super) mlp: Mlp,
    input_layernorm: Option<RmsNorm>,
    /// Behind attention; where norms stand only before, it is the MLP's: Llama's files name it so.
    post_attention_layernorm: RmsNorm,
    pre_feedforward_layernorm: Option<RmsNorm>,
    post_feedforward_layernorm: Option<RmsNorm>,
    #[module(skip)]
    pub(super) norms: BlockNorms,
    pub(super) residual_multiplier: f64,
}

impl Block {
    /// All weights 0.
    pub(super) fn zeros(config: &Config, device: &Device) -> Self {
        let d = config.hidden_size;
        let architecture = &config.architecture;
        let norm_if = |has: bool| has.then(|| norm(config, d, device));
        let norms = architecture.block_norms;
        Self {
            self_attn: Attention::zeros(config, device),
            mlp: Mlp::zeros(config, device),
            input_layernorm: norm_if(norms != BlockNorms::After),
            post_attention_layernorm: norm(config, d, device),
            pre_feedforward_layernorm: norm_if(norms == BlockNorms::Both),
            post_feedforward_layernorm: norm_if(norms != BlockNorms::Before),
            norms,
            residual_multiplier: architecture.residual_multiplier,
        }
    }

    /// `[batch, seq, hidden]` to the same, or to `[batch, 1, hidden]` if the output of the last token alone is needed.
    pub(super) fn forward(&self, x: Tensor<3>, inputs: LayerInputs) -> Tensor<3> {
        let residual = inputs.with_output(x.clone());
        let y = self.self_attn.forward(normed(self.attention_input_norm(), x), inputs);
        self.feed_forward(self.add(residual, self.attention_output_norm(), y))
    }

    /// The second half of the block, behind attention.
    pub(super) fn feed_forward(&self, x: Tensor<3>) -> Tensor<3> {
        let y = self.mlp.forward(normed(self.mlp_input_norm(), x.clone()));
        self.add(x, self.post_feedforward_layernorm.as_ref(), y)
    }

    /// Adds what attention or the MLP computed to the residual stream; both `[batch, seq, hidden]`.
    pub(super) fn add(&self, x: Tensor<3>, norm: Option<&RmsNorm>, y: Tensor<3>) -> Tensor<3> {
        x + scaled(normed(norm, y), self.residual_multiplier)
    }

    pub(super) fn attention_input_norm(&self) -> Option<&RmsNorm> {
        self.input_layernorm.as_ref()
    }

    pub(super) fn attention_output_norm(&self) -> Option<&RmsNorm> {
        (self.norms != BlockNorms::Before).then_some(&self.post_attention_layernorm)
    }

    pub(super) fn mlp_input_norm(&self) -> Option<&RmsNorm> {
        match self.norms {
            BlockNorms::Before => Some(&self.post_attention_layernorm),
            BlockNorms::After => None,
            BlockNorms::Both => self.pre_feedforward_layernorm.as_ref(),
        }
    }
}

/// Gate and up multiplied, then down: down(silu(gate(x)) · up(x)), or with another activation.
#[derive(Module, Debug)]
pub(super) struct Mlp {
    pub(super) gate_proj: Projection,
    pub(super) up_proj: Projection,
    pub(super) down_proj: Projection,
    #[module(skip)]
    pub(super) activation: Activation,
}

impl Mlp {
    fn zeros(config: &Config, device: &Device) -> Self {
        let (d, inner) = (config.hidden_size, config.intermediate_size);
        Self {
            gate_proj: Projection::zeros(d, inner, false, device),
            up_proj: Projection::zeros(d, inner, false, device),
            down_proj: Projection::zeros(inner, d, false, device),
            activation: config.architecture.activation,
        }
    }

    /// `[batch, seq, hidden]` to the same.
    fn forward(&self, x: Tensor<3>) -> Tensor<3> {
        let (gate, up) = (self.gate_proj.forward(x.clone()), self.up_proj.forward(x));
        self.down_proj.forward(match self.activation {
            Activation::Silu => swiglu(gate, up),
            Activation::GeluTanh => geglu(gate, up),
        })
    }
}

/// After a norm, where there is one.
pub(super) fn normed(norm: Option<&RmsNorm>, x: Tensor<3>) -> Tensor<3> {
    match norm {
        None => x,
        Some(norm) => rms_norm(norm, x),
    }
}

/// Multiplied by a factor that is 1 in most models.
pub(super) fn scaled(x: Tensor<3>, factor: f64) -> Tensor<3> {
    if factor == 1.0 { x } else { x * factor }
}
