//! `config.json` for transformers' own classes. Dropped positions need no program of ours: SmolLM3's class has layers without rotary
//! positions, and the `rope_type` "proportional" leaves the lowest frequencies at rest, or all.

use serde_json::{Value, json};

use super::families::{LLAMA, SMOLLM3};
use super::fields::ConfigJson;
use super::{Config, PositionScheme, RopeScaling, layer_types, proportional};

impl Config {
    /// `config.json` for transformers' own classes; `None` where only [our program](Config::modeling) computes the same. A fully dropped
    /// Llama is one of a class that versions from 4.53 on have; other drops need version 5.
    pub fn to_plain_json(&self) -> Option<String> {
        let plain = Self { positions: PositionScheme::Rotary, ..self.clone() };
        if !plain.is_plain() {
            return None;
        }
        let mut json = plain.as_json();
        let kept = match self.positions {
            PositionScheme::Rotary => return Some(json.text()),
            PositionScheme::None if self.family == &LLAMA && self.layer_types.is_empty() => {
                json.become_smollm3_without_positions(self.num_hidden_layers);
                return Some(json.text());
            }
            PositionScheme::None => 0,
            PositionScheme::Partial { min_frequency } => {
                json.rope_min_frequency = Some(min_frequency);
                self.pairs_above(min_frequency)
            }
            PositionScheme::Clipped { .. } | PositionScheme::Alibi | PositionScheme::RnopeSwa { .. } => return None,
        };
        // The form says nothing of scalings or single layers, and drops nothing in layers with frequencies of their own.
        let is_sayable = !self.has_layers_without_positions()
            && match self.positions {
                PositionScheme::None => self.layer_types.iter().all(|layer| layer.rope_theta.is_none()),
                _ => self.rope.scaling == RopeScaling::Default,
            };
        if !is_sayable {
            return None;
        }
        json.rope_scaling = Some(proportional::scaling(kept, self.head_dim));
        json.rope_scaling_trained = None;
        Some(json.text())
    }
}

impl ConfigJson {
    fn become_smollm3_without_positions(&mut self, layers: usize) {
        self.model_type = SMOLLM3.model_type.to_owned();
        self.architectures = json!(["SmolLM3ForCausalLM"]);
        self.other.extend(layer_types::without_positions(layers));
        // SmolLM3's own lies outside most vocabularies.
        self.other.entry("pad_token_id").or_insert(Value::Null);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use crate::config::{Config, PositionScheme, RopeScaling};

    /// C = 16, heads of 16.
    fn rope() -> Config {
        Config::from_json(include_str!("../../../tests/fixtures/rope/config.json")).unwrap()
    }

    fn dropped() -> Config {
        Config { positions: PositionScheme::None, ..rope() }
    }

    fn partial() -> Config {
        rope().with_cut(Some(std::f64::consts::TAU / 16.0))
    }

    fn written(config: &Config) -> Value {
        serde_json::from_str(&config.to_plain_json().unwrap()).unwrap()
    }

    #[test]
    fn dropped_positions_are_written_for_classes_of_transformers_and_read_back() {
        for config in [rope(), dropped(), partial()] {
            let again = Config::from_json(&config.to_plain_json().unwrap()).unwrap();
            assert_eq!(Config { other: config.other.clone(), ..again }, config);
            assert!(written(&config).get("auto_map").is_none());
        }
        let all = written(&dropped());
        assert_eq!((&all["model_type"], &all["no_rope_layers"]), (&"smollm3".into(), &serde_json::json!([0, 0])));
        assert_eq!(all["tie_word_embeddings"], false);
        // 10000^(-2m/16) is above 2π/16 for m = 0 alone, so that transformers has to keep one of 8 pairs.
        let share = written(&partial())["rope_scaling"]["partial_rotary_factor"].as_f64().unwrap();
        assert_eq!((share * 16.0 / 2.0).floor(), 1.0);
    }

    #[test]
    fn what_transformers_does_not_compute_keeps_its_program() {
        let mut dynamic = partial();
        dynamic.rope.scaling = RopeScaling::Dynamic { factor: 4.0 };
        let ssmax = Config { scalable_softmax: true, ..dropped() };
        let alibi = Config { positions: PositionScheme::Alibi, ..rope() };
        for config in [dynamic, ssmax, alibi] {
            assert!(config.to_plain_json().is_none() && config.modeling().is_some());
        }
    }
}
