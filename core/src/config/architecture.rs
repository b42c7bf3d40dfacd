//! What a decoder is made of, apart from its sizes and its positions.

/// The parts of a decoder in which families of models differ. Llama's has the values of [`Architecture::LLAMA`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Architecture {
    /// Where a block has norms.
    pub block_norms: BlockNorms,
    /// Added to the weight of every norm as files have it: norms of Gemma multiply by 1 + w.
    pub norm_offset: f64,
    /// Norm of the queries, before they are rotated.
    pub query_norm: ProjectionNorm,
    /// Norm of the keys, before they are rotated.
    pub key_norm: ProjectionNorm,
    /// Whether the projections of queries, keys and values have biases.
    pub qkv_bias: bool,
    /// Between the projections of the MLP.
    pub activation: Activation,
    /// Share of a head's components that rotate: the first ones. They are an even number.
    pub partial_rotary_factor: f64,
    /// Multiplies the embedding of a token.
    pub embedding_multiplier: f64,
    /// Replaces 1/√head_dim.
    pub attention_multiplier: Option<f64>,
    /// Multiplies what attention and MLP add to the residual stream.
    pub residual_multiplier: f64,
    /// Divides the logits.
    pub logits_scaling: f64,
}

impl Architecture {
    /// Llama (Touvron et al. 2023, arXiv 2302.13971).
    pub const LLAMA: Self = Self {
        block_norms: BlockNorms::Before,
        norm_offset: 0.0,
        query_norm: ProjectionNorm::None,
        key_norm: ProjectionNorm::None,
        qkv_bias: false,
        activation: Activation::Silu,
        partial_rotary_factor: 1.0,
        embedding_multiplier: 1.0,
        attention_multiplier: None,
        residual_multiplier: 1.0,
        logits_scaling: 1.0,
    };
}

/// Where a block has norms: around attention and around the MLP alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockNorms {
    /// Before: x + f(norm(x)).
    Before,
    /// After: x + norm(f(x)).
    After,
    /// Both: x + norm(f(norm(x))).
    Both,
}

/// An RMSNorm of queries or keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProjectionNorm {
    /// There is none.
    None,
    /// Over the whole projection, before the heads are split.
    Whole,
    /// Over each head, all with the same weight.
    PerHead,
}

/// What is applied to the gate of an MLP, which then multiplies the other projection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activation {
    /// SwiGLU (Shazeer 2020, arXiv 2002.05202).
    Silu,
    /// GeGLU, with the approximation of GELU by tanh.
    GeluTanh,
}

impl Activation {
    /// Name in `config.json`.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Silu => "silu",
            Self::GeluTanh => "gelu_pytorch_tanh",
        }
    }
}
