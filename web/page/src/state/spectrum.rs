//! The frequencies of the page's models, which all have the same or had them before they were dropped.

use std::f64::consts::TAU;
use std::sync::LazyLock;

use drope_core::config::Config;
use drope_core::positions::rope_frequencies;

/// Config of the model that the others came from.
const CONFIG: &str = include_str!("../../../../models/nano-rope/config.json");

/// That config. A test reads it, so that parsing it here cannot fail.
pub fn config() -> &'static Config {
    static PARSED: LazyLock<Config> =
        LazyLock::new(|| Config::from_json(CONFIG).expect("the config of a shipped model"));
    &PARSED
}

/// Frequencies in radians a token, the fastest first.
pub fn frequencies() -> Vec<f64> {
    rope_frequencies(config().rope.rope_theta, config().head_dim)
}

/// How often a frequency turns over a text.
pub fn turns(frequency: f64, tokens: usize) -> f64 {
    frequency * tokens as f64 / TAU
}

#[cfg(test)]
mod tests {
    use super::{config, frequencies, turns};

    #[test]
    fn nine_of_sixteen_do_not_turn_once_in_training() {
        // 10000^(−2m/32)·256/2π is below 1 from m = 7 on.
        let context = config().max_position_embeddings;
        let slow = frequencies().into_iter().filter(|&frequency| turns(frequency, context) < 1.0);
        assert_eq!((frequencies().len(), slow.count()), (16, 9));
    }

    #[test]
    fn models_of_the_study_have_the_same() {
        let study = include_str!("../../../../models/study-rope/config.json");
        let study = drope_core::config::Config::from_json(study).unwrap();
        let of = |config: &drope_core::config::Config| {
            (config.rope.rope_theta, config.head_dim, config.max_position_embeddings)
        };
        assert_eq!(of(&study), of(config()));
    }
}
