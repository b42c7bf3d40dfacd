//! Dropped positions in a form that llama.cpp can compute: it divides the angles of each frequency by a factor of the
//! tensor `rope_freqs.weight`, and a huge factor makes all angles practically 0.

use crate::config::{Config, PositionScheme, RopeScaling, cut_below};
use crate::error::{Error, Result};
use crate::positions::{llama3_frequencies, rope_frequencies};

/// Far larger than any position: angles that are divided by it are practically 0, and no product overflows.
pub(super) const NO_ANGLES: f64 = 1e30;

/// The factors that the angles are divided by; `None` if all are 1, as in plain RoPE.
pub(super) fn factors(config: &Config) -> Option<Vec<f32>> {
    let plain = rope_frequencies(config.rope.rope_theta, config.head_dim);
    let scaled = match &config.rope.scaling {
        RopeScaling::Llama3(parameters) => {
            llama3_frequencies(config.rope.rope_theta, config.head_dim, parameters, config.max_position_embeddings)
        }
        _ => plain.clone(),
    };
    let is_dropped = |frequency: f64| match config.positions {
        PositionScheme::None => true,
        PositionScheme::Partial { min_frequency } => frequency < min_frequency,
        _ => false,
    };
    let factors = plain.iter().zip(&scaled).map(|(&plain, scaled)| {
        let is_dropped = is_dropped(plain);
        if is_dropped { NO_ANGLES } else { plain / scaled }
    });
    let factors: Vec<f32> = factors.map(|factor| factor as f32).collect();
    factors.iter().any(|&factor| factor != 1.0).then_some(factors)
}

/// The positions that the factors drop; `None` if they drop none.
///
/// # Errors
/// If a dropped frequency is higher than one that is kept, or a kept one has a factor other than 1.
pub(super) fn dropped(theta: f64, head_dim: usize, factors: &[f32]) -> Result<Option<PositionScheme>> {
    let stands_still = |&factor: &f32| f64::from(factor) >= NO_ANGLES / 2.0;
    let kept = factors.iter().take_while(|factor| **factor == 1.0).count();
    if kept == factors.len() || !factors.iter().any(stands_still) {
        return Ok(None);
    }
    if !factors[kept..].iter().all(stands_still) || factors.len() != head_dim / 2 {
        return Err(Error::Gguf(
            "it drops frequencies (rope_freqs.weight) that are not the lowest, which is not read".into(),
        ));
    }
    Ok(Some(match kept {
        0 => PositionScheme::None,
        _ => PositionScheme::Partial { min_frequency: cut_below(&rope_frequencies(theta, head_dim), kept) },
    }))
}
