//! DoPE (Xiong et al. 2025, arXiv 2511.09146): NTK scaling in all heads but a few, whose encoding is removed in part, as a
//! whole, or together with their queries and keys.

use super::method_info::MethodInfo;
use super::rope::SCALING;
use super::{Encoding, HeadNoise, HeadRotation, LayerPositions, Positions, ntk, p_drope, rope};
use crate::config::Config;
use crate::config::dope::{DopeHead, DopeHeads, Noise, Parts, Removal};
use crate::error::{Error, Result};

pub(super) const DOPE_PARTS: MethodInfo = MethodInfo {
    name: "dope-parts",
    title: "DoPE by parts",
    explanation: "NTK scaling, but in a few heads of low entropy the low frequencies are removed.",
    is_dope: true,
    positions: |config, factor| positions(config, factor, Treatment::Parts),
    ..SCALING
};

pub(super) const DOPE_ALL: MethodInfo = MethodInfo {
    name: "dope-all",
    title: "DoPE by all",
    explanation: "NTK scaling, but a few heads of low entropy have no positions.",
    positions: |config, factor| positions(config, factor, Treatment::All),
    ..DOPE_PARTS
};

pub(super) const DOPE_GAUSSIAN: MethodInfo = MethodInfo {
    name: "dope-gaussian",
    title: "DoPE by Gaussian",
    explanation: "NTK scaling, but the queries and keys of a few heads of low entropy are replaced by noise.",
    positions: |config, factor| positions(config, factor, Treatment::Gaussian),
    ..DOPE_PARTS
};

/// How the chosen heads are treated.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Treatment {
    Parts,
    All,
    Gaussian,
}

impl Treatment {
    fn method(self) -> &'static str {
        match self {
            Self::Parts => DOPE_PARTS.name,
            Self::All => DOPE_ALL.name,
            Self::Gaussian => DOPE_GAUSSIAN.name,
        }
    }
}

/// α of the NTK scaling is the extension factor, the same for a whole run.
fn positions(config: &Config, factor: f64, treatment: Treatment) -> Result<Positions> {
    let method = treatment.method();
    let dope = config.dope_heads.as_ref().ok_or_else(|| Error::Method {
        method,
        reason: "the heads are not chosen; choose them first (`core dope select`), and give the file that it writes or save them in the config".into(),
    })?;
    let has_own = config.layer_types.iter().any(|layer| layer.rope_theta.is_some() || !layer.rotates);
    if has_own || config.rotary_dim() < config.head_dim {
        let reason =
            "DoPE treats whole heads of layers that all have the model's frequencies; this one has others".into();
        return Err(Error::Method { method, reason });
    }
    let scaled = ntk::frequencies(config, factor);
    let plain = Encoding::Rotary { inv_freq: scaled.clone(), attention_factor: 1.0 };
    let layer = |layer: usize| {
        let chosen: Vec<&DopeHead> = dope.heads.iter().filter(|head| head.layer == layer).collect();
        if chosen.is_empty() {
            return plain.clone();
        }
        let rotation = |head: usize| match chosen.iter().find(|chosen| chosen.head == head) {
            None => HeadRotation { inv_freq: scaled.clone(), gain: vec![1.0; scaled.len()], noise: None },
            Some(chosen) => treated(config, dope, chosen, &scaled, treatment),
        };
        Encoding::PerHead((0..config.num_attention_heads).map(rotation).collect())
    };
    let layers =
        (0..config.num_hidden_layers).map(|index| LayerPositions { encoding: layer(index), window: None }).collect();
    Ok(Positions { layers, logit_scale: 1.0, head_scales: Vec::new() })
}

fn treated(config: &Config, dope: &DopeHeads, head: &DopeHead, scaled: &[f64], treatment: Treatment) -> HeadRotation {
    // Bands are those of the trained frequencies: what rotated less than once in training.
    let cut = p_drope::cutoff(config.max_position_embeddings);
    let trained = rope::frequencies(config.rope.rope_theta, config.rotary_dim());
    let is_removed = |m: usize| match treatment {
        Treatment::All | Treatment::Gaussian => true,
        Treatment::Parts => (trained[m] < cut) == (dope.parts == Parts::Low),
    };
    // Noise takes the place of what it removes; elsewhere a removed encoding leaves the vectors as they are.
    let removed_gain = if treatment == Treatment::Gaussian || dope.removal == Removal::Zero { 0.0 } else { 1.0 };
    let pick = |kept: f64, removed: f64, m: usize| if is_removed(m) { removed } else { kept };
    let (query_std, key_std) = match dope.noise {
        Noise::Matched => (head.query_std, head.key_std),
        Noise::Unit => (1.0, 1.0),
    };
    HeadRotation {
        inv_freq: scaled.iter().enumerate().map(|(m, &omega)| pick(omega, 0.0, m)).collect(),
        gain: (0..scaled.len()).map(|m| pick(1.0, removed_gain, m)).collect(),
        noise: (treatment == Treatment::Gaussian).then(|| HeadNoise {
            seed: dope.seed,
            stream: (head.layer * config.num_attention_heads + head.head) as u64,
            query_std,
            key_std,
        }),
    }
}
