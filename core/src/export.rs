//! A model for texts beyond its training context, as other programs read it: they take the context from a field of the file, and know no
//! temperature of long texts.

use crate::config::{Config, PositionScheme, RopeScaling};
use crate::error::{Error, Result};
use crate::positions::Method;

/// A config whose `max_position_embeddings` is `extension` times the training context, which `training_context` keeps, and the factor
/// by which the weights of the queries have to be multiplied (`model::ScaledQueries`) so that logits are as with the temperature of that
/// length and with `softmax_scale`, which the config does not have.
///
/// # Errors
/// If one constant factor cannot express what the model does: SSMax, a temperature for each head, ALiBi, RNoPE-SWA, dynamic NTK, CoPE, and
/// norms of queries or keys that its family does not have.
pub fn config_for_length(config: &Config, extension: usize) -> Result<(Config, f64)> {
    let reasons = [
        (config.scalable_softmax, "a softmax that scales with the length (SSMax)"),
        (config.head_scales.is_some(), "a temperature for each head"),
        (config.positions == PositionScheme::Alibi, "ALiBi"),
        (matches!(config.positions, PositionScheme::RnopeSwa { .. }), "windows of RNoPE-SWA"),
        (
            matches!(config.rope.scaling, RopeScaling::Dynamic { .. }),
            "dynamic NTK, which takes its context from the field that grows",
        ),
        (matches!(config.positions, PositionScheme::Clipped { .. }), "softly clipped frequencies (CoPE)"),
        (config.has_added_norms(), "norms of queries or keys that its family does not have"),
    ];
    if let Some((_, reason)) = reasons.iter().find(|(is_so, _)| *is_so) {
        return Err(Error::Config(format!(
            "a model with {reason} cannot be written for longer texts; leave out the extension factor"
        )));
    }
    let mut exported = config.clone();
    exported.extension = extension;
    exported.softmax_scale = None;
    exported.temperature_coefficient = 0.0;
    let original = match &mut exported.rope.scaling {
        RopeScaling::Yarn(parameters) => Some(&mut parameters.original_max_position_embeddings),
        RopeScaling::Llama3(parameters) => Some(&mut parameters.original_max_position_embeddings),
        RopeScaling::Longrope(parameters) => Some(&mut parameters.original_max_position_embeddings),
        RopeScaling::Default | RopeScaling::Linear { .. } | RopeScaling::Dynamic { .. } => None,
    };
    if let Some(original) = original {
        // Others would take the context that grows for it.
        original.get_or_insert(config.max_position_embeddings);
    }
    let temperature = Method::of(config).positions(config, extension as f64)?.logit_scale;
    let factor = temperature * config.attention_scale() / exported.attention_scale();
    Ok((exported, factor))
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::config_for_length;
    use crate::config::{Config, PositionScheme, RopeScaling, YarnParameters};
    use crate::positions::Method;

    /// C = 16, heads of 16.
    fn rope() -> Config {
        Config::from_json(include_str!("../../tests/fixtures/rope/config.json")).unwrap()
    }

    fn dropped() -> Config {
        Config { positions: PositionScheme::None, ..rope() }
    }

    fn written(config: &Config) -> Value {
        serde_json::from_str(&config.to_plain_json().unwrap()).unwrap()
    }

    #[test]
    fn the_context_of_training_survives_a_longer_one() {
        let mut tempered = dropped();
        tempered.temperature_coefficient = 0.5;
        tempered.softmax_scale = Some(0.5);
        let (config, factor) = config_for_length(&tempered, 4).unwrap();
        // (1 + 0.5·ln 4) · 0.5 · √16
        assert!((factor - (1.0 + 0.5 * 4f64.ln()) * 2.0).abs() < 1e-12);
        assert_eq!(written(&config)["max_position_embeddings"], 64);
        let again = Config::from_json(&config.to_plain_json().unwrap()).unwrap();
        assert_eq!((again.max_position_embeddings, again.extension, again.temperature_coefficient), (16, 4, 0.0));
        assert_eq!(Config { other: config.other.clone(), ..again }, config);
        // What another scaling counts from does not grow.
        let mut yarn = rope();
        yarn.rope.scaling = RopeScaling::Yarn(YarnParameters::new(4.0));
        let (config, factor) = config_for_length(&yarn, 4).unwrap();
        assert_eq!(
            (written(&config)["rope_scaling"]["original_max_position_embeddings"].as_u64(), factor),
            (Some(16), 1.0)
        );
        let again = Config::from_json(&config.to_plain_json().unwrap()).unwrap();
        assert_eq!(Method::Yarn.positions(&again, 4.0).unwrap(), Method::Yarn.positions(&yarn, 4.0).unwrap());
        let wrong = written(&config).to_string().replace("\"training_context\":16", "\"training_context\":15");
        assert!(Config::from_json(&wrong).unwrap_err().to_string().contains("no multiple of training_context"));
    }

    #[test]
    fn a_temperature_counts_where_the_method_of_the_model_has_one() {
        let tempered = Config { temperature_coefficient: 0.5, ..rope() };
        assert_eq!(config_for_length(&tempered, 4).unwrap().1, 1.0, "RoPE as trained has none");
    }

    #[test]
    fn what_a_factor_of_the_weights_does_not_say_is_refused() {
        let mut dynamic = rope();
        dynamic.rope.scaling = RopeScaling::Dynamic { factor: 4.0 };
        let ssmax = Config { scalable_softmax: true, ..dropped() };
        let alibi = Config { positions: PositionScheme::Alibi, ..rope() };
        for (config, words) in [(ssmax, "SSMax"), (dynamic, "dynamic NTK"), (alibi, "ALiBi")] {
            let refused = config_for_length(&config, 4).unwrap_err().to_string();
            assert!(refused.contains(words) && refused.contains("leave out the extension factor"), "{refused}");
        }
    }
}
