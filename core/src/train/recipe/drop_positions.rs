//! The config of a model whose positions are dropped.

use crate::config::{AttentionType, Config};
use crate::error::{Error, Result};
use crate::positions::{Encoding, Method, partial_drop_cutoff};

use crate::train::recipe::{DropSettings, Dropped};

/// `config` without the positions that the recipe drops.
///
/// # Errors
/// If the model has none of them: a run that drops nothing says so with `positions = "none"`.
pub fn drop_positions(config: &Config, drop: &DropSettings) -> Result<Config> {
    let mut dropped = config.clone();
    match drop.positions {
        Dropped::All => {
            let has_positions = config.alibi || !config.attention.drops_positions();
            if !has_positions {
                return refuse(
                    "drop.positions is \"all\" but the model has no positions; use \"none\" to train it on as it is",
                );
            }
            dropped.attention = drop.attention_type.unwrap_or_else(|| without_positions(config.attention));
            dropped.alibi = false;
            dropped.sliding_window = None;
            dropped.rope.rope_min_frequency = 0.0;
            dropped.rope.rope_clipped_pairs = 0;
        }
        Dropped::Low => {
            let method = Method::of(config);
            if matches!(method, Method::Alibi | Method::Drope | Method::RnopeSwa) {
                return refuse(format!(
                    "drop.positions is \"low\" but the model is read with {}, not with RoPE in every layer; use \"all\" or \"none\"",
                    method.name()
                ));
            }
            let cut = drop.cut.unwrap_or_else(|| partial_drop_cutoff(config.max_position_embeddings));
            dropped.rope.rope_min_frequency = cut;
            dropped.rope.rope_clipped_pairs = 0;
            if rotating_pairs(&dropped)? >= rotating_pairs(config)? {
                return refuse(format!(
                    "drop.positions is \"low\" but the model has no frequency below {cut} that is not dropped yet; raise drop.cut, or \
                     use \"none\""
                ));
            }
        }
        Dropped::None => {}
    }
    dropped.scalable_softmax = drop.scalable_softmax.unwrap_or(config.scalable_softmax);
    Ok(dropped)
}

fn refuse(reason: impl Into<String>) -> Result<Config> {
    Err(Error::Recipe(reason.into()))
}

/// The same norms, no positions.
fn without_positions(attention: AttentionType) -> AttentionType {
    match (attention.norms_queries(), attention.norms_keys()) {
        (true, true) => AttentionType::QkNormNope,
        (true, false) => AttentionType::QNormNope,
        (false, true) => AttentionType::KNormNope,
        (false, false) => AttentionType::Nope,
    }
}

/// Pairs of a head's components that rotate in the first layer.
fn rotating_pairs(config: &Config) -> Result<usize> {
    Ok(match &Method::of(config).positions(config, 1.0)?.layer(0).encoding {
        Encoding::Rotary { inv_freq, .. } => inv_freq.iter().filter(|&&omega| omega > 0.0).count(),
        _ => 0,
    })
}

#[cfg(test)]
mod tests {
    use crate::config::{AttentionType, Config};
    use crate::positions::{Method, partial_drop_cutoff};

    use super::drop_positions;
    use crate::train::recipe::{DropSettings, Dropped};

    /// C = 16 and 8 frequencies from 1 down to 3e-4.
    fn rope() -> Config {
        Config::from_json(include_str!("../../../../tests/fixtures/rope/config.json")).unwrap()
    }

    fn settings(positions: Dropped) -> DropSettings {
        DropSettings { positions, cut: None, attention_type: None, scalable_softmax: None }
    }

    fn refused(config: &Config, drop: &DropSettings) -> String {
        drop_positions(config, drop).expect_err("drops nothing").to_string()
    }

    #[test]
    fn all_positions_of_every_kind_of_model_are_dropped() {
        let alibi = Config { alibi: true, ..rope() };
        let windowed = Config { sliding_window: Some(4), ..rope() };
        let mut partial = rope();
        partial.rope.rope_min_frequency = 0.1;
        for config in [rope(), alibi, windowed, partial] {
            let dropped = drop_positions(&config, &settings(Dropped::All)).unwrap();
            assert_eq!((Method::of(&dropped), dropped.attention), (Method::Drope, AttentionType::Nope));
            assert_eq!((dropped.alibi, dropped.sliding_window), (false, None));
            assert!(refused(&dropped, &settings(Dropped::All)).contains("has no positions"));
        }
    }

    #[test]
    fn norms_and_ssmax_stay_unless_the_recipe_says_otherwise() {
        let normed = Config { attention: AttentionType::QkNormRope, scalable_softmax: true, ..rope() };
        let dropped = drop_positions(&normed, &settings(Dropped::All)).unwrap();
        assert_eq!((dropped.attention, dropped.scalable_softmax), (AttentionType::QkNormNope, true));
        let other = DropSettings {
            attention_type: Some(AttentionType::QNormNope),
            scalable_softmax: Some(false),
            ..settings(Dropped::All)
        };
        let dropped = drop_positions(&normed, &other).unwrap();
        assert_eq!((dropped.attention, dropped.scalable_softmax), (AttentionType::QNormNope, false));
        assert_eq!(drop_positions(&normed, &settings(Dropped::None)).unwrap(), normed);
    }

    #[test]
    fn low_frequencies_are_dropped_where_there_are_any() {
        let low = settings(Dropped::Low);
        let dropped = drop_positions(&rope(), &low).unwrap();
        assert_eq!(dropped.rope.rope_min_frequency, partial_drop_cutoff(16));
        assert_eq!(dropped.attention, AttentionType::Rope);
        assert!(refused(&dropped, &low).contains("no frequency below"));
        let fewer = drop_positions(&rope(), &DropSettings { cut: Some(0.05), ..low.clone() }).unwrap();
        assert_eq!(drop_positions(&fewer, &low).unwrap(), dropped, "those that are left below the cut");
        assert!(refused(&rope(), &DropSettings { cut: Some(1e-6), ..low.clone() }).contains("no frequency below"));
        for config in [
            Config { alibi: true, ..rope() },
            Config { sliding_window: Some(4), ..rope() },
            Config { attention: AttentionType::Nope, ..rope() },
        ] {
            assert!(refused(&config, &low).contains("not with RoPE in every layer"));
        }
    }
}
