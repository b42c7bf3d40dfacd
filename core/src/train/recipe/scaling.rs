//! The config of a model that is trained on with a scaling of RoPE: position interpolation and similar methods as their
//! papers use them, with fine-tuning (Chen et al. 2023, arXiv 2306.15595; Peng et al. 2023, arXiv 2309.00071).

use crate::config::{Config, Llama3Parameters, RopeScaling, YarnParameters};
use crate::error::{Error, Result};
use crate::positions::Method;
use crate::train::recipe::{ScalingMethod, ScalingSettings};

/// `config` with a scaling that training and every later reading use at its own factor.
///
/// # Errors
/// If the model is not one with plain RoPE in every layer.
pub fn with_scaling(mut config: Config, settings: Option<&ScalingSettings>) -> Result<Config> {
    let Some(&ScalingSettings { method, factor }) = settings else { return Ok(config) };
    let read_with = Method::of(&config);
    if read_with != Method::Rope {
        return Err(Error::Recipe(format!(
            "scaling is for a model with RoPE as trained in every layer, but this one would be read with {}",
            read_with.name()
        )));
    }
    config.rope.scaling = match method {
        ScalingMethod::Pi => RopeScaling::Linear { factor },
        ScalingMethod::Yarn => RopeScaling::Yarn(YarnParameters::new(factor)),
        ScalingMethod::Llama3 => RopeScaling::Llama3(Llama3Parameters::new(factor)),
    };
    config.rope.rope_scaling_trained = true;
    Ok(config)
}

#[cfg(test)]
mod tests {
    use crate::config::{Config, PositionScheme};
    use crate::positions::Method;

    use super::with_scaling;
    use crate::train::recipe::{ScalingMethod, ScalingSettings};

    /// C = 16.
    fn rope() -> Config {
        Config::from_json(include_str!("../../../../tests/fixtures/rope/config.json")).unwrap()
    }

    #[test]
    fn a_model_is_read_as_it_was_trained_on_at_every_length() {
        for (method, name) in
            [(ScalingMethod::Pi, "pi"), (ScalingMethod::Yarn, "yarn"), (ScalingMethod::Llama3, "llama3")]
        {
            let trained = with_scaling(rope(), Some(&ScalingSettings { method, factor: 4.0 })).unwrap();
            let trained = Config::from_json(&trained.to_json()).unwrap();
            let method = Method::of(&trained);
            assert_eq!(method.name(), name);
            // The positions for a model that was not trained with the scaling, at 4 times the context.
            let expected = method.positions(&rope(), 4.0).unwrap();
            for factor in [1.0, 2.0, 4.0, 8.0] {
                assert_eq!(method.positions(&trained, factor).unwrap(), expected, "{name} at {factor}");
            }
            assert_eq!(trained.extension_factor(), 1.0);
            // Its frequencies are no longer those of RoPE.
            let refused = Method::Rope.positions(&trained, 1.0).unwrap_err().to_string();
            assert!(refused.contains("already scaled by 4"), "{refused}");
        }
    }

    #[test]
    fn a_model_without_plain_rope_takes_no_scaling() {
        let yarn = ScalingSettings { method: ScalingMethod::Yarn, factor: 4.0 };
        let dropped = Config { positions: PositionScheme::None, ..rope() };
        let scaled = with_scaling(rope(), Some(&yarn)).unwrap();
        for (config, method) in [(dropped, "drope"), (scaled, "yarn")] {
            let refused = with_scaling(config.clone(), Some(&yarn)).unwrap_err().to_string();
            assert!(refused.ends_with(method), "{refused}");
            assert_eq!(with_scaling(config.clone(), None).unwrap(), config);
        }
    }
}
