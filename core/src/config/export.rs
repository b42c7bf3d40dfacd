//! A model as other programs read it: by transformers' own classes, for texts beyond the training context.
//!
//! Dropped positions need no program of ours: SmolLM3's class has layers without rotary positions, and the `rope_type` "proportional"
//! leaves the lowest frequencies at rest (Gemma 4). A temperature becomes a factor of the queries' weights.

use serde_json::{Map, Value, json};

use super::json::ConfigJson;
use super::{AttentionType, Config, RopeScaling, layer_types};
use crate::error::{Error, Result};
use crate::positions::rope_frequencies;

impl Config {
    /// The config for texts of `extension` times the context, and the factor by which the weights of the queries have to be multiplied:
    /// it takes the place of the temperature at that length, and of `softmax_scale`. Whoever reads it finds that many times the context;
    /// the context of training stays in a field of ours.
    ///
    /// # Errors
    /// If what the model does depends on the length in a way that a factor of the weights does not say.
    pub fn exported(&self, extension: usize) -> Result<(Self, f64)> {
        let reasons = [
            (self.scalable_softmax, "a softmax that scales with the length (SSMax)"),
            (self.head_scales.is_some(), "a temperature for each head"),
            (self.alibi, "ALiBi"),
            (self.sliding_window.is_some(), "windows of RNoPE-SWA"),
            (
                matches!(self.rope.scaling, RopeScaling::Dynamic { .. }),
                "dynamic NTK, which takes its context from the field that grows",
            ),
            (self.rope.rope_clipped_pairs > 0, "softly clipped frequencies (CoPE)"),
            (
                self.attention != AttentionType::Rope && self.attention != AttentionType::Nope,
                "norms of queries or keys",
            ),
        ];
        if let Some((_, reason)) = reasons.iter().find(|(is_so, _)| *is_so) {
            return Err(Error::Config(format!(
                "a model with {reason} cannot be written for longer texts; leave out --extension"
            )));
        }
        let mut config = self.clone();
        config.extension = extension;
        config.softmax_scale = None;
        config.temperature_coefficient = 0.0;
        let original = match &mut config.rope.scaling {
            RopeScaling::Yarn(parameters) => Some(&mut parameters.original_max_position_embeddings),
            RopeScaling::Llama3(parameters) => Some(&mut parameters.original_max_position_embeddings),
            RopeScaling::Longrope(parameters) => Some(&mut parameters.original_max_position_embeddings),
            RopeScaling::Default | RopeScaling::Linear { .. } | RopeScaling::Dynamic { .. } => None,
        };
        if let Some(original) = original {
            // Others would take the context that grows for it.
            original.get_or_insert(self.max_position_embeddings);
        }
        let temperature = 1.0 + self.temperature_coefficient * (extension as f64).ln();
        Ok((config, temperature * self.attention_scale() * (self.head_dim as f64).sqrt()))
    }

    /// `config.json` for transformers' own classes; `None` where only [our program](Config::modeling) computes the same. Versions from
    /// 5 on know the form of a partial drop.
    pub fn to_plain_json(&self) -> Option<String> {
        let drops_all = self.attention == AttentionType::Nope && !self.qkv_bias && self.layer_types.is_empty();
        let mut plain = self.clone();
        plain.attention = AttentionType::Rope;
        plain.rope.rope_min_frequency = 0.0;
        if !plain.is_plain() || (self.attention != AttentionType::Rope && !drops_all) {
            return None;
        }
        let mut json = plain.as_json();
        if drops_all {
            json.become_smollm3_without_positions(self.num_hidden_layers);
        } else if self.rope.rope_min_frequency > 0.0 {
            if self.rope.scaling != RopeScaling::Default || !self.layer_types.is_empty() {
                return None;
            }
            json.become_proportional(kept_pairs(self), self.head_dim, self.rope.rope_min_frequency);
        }
        Some(json.text())
    }
}

/// Pairs whose frequencies a partial drop keeps.
fn kept_pairs(config: &Config) -> usize {
    let frequencies = rope_frequencies(config.rope.rope_theta, config.head_dim);
    frequencies.iter().filter(|&&omega| omega >= config.rope.rope_min_frequency).count()
}

impl ConfigJson {
    fn become_smollm3_without_positions(&mut self, layers: usize) {
        self.model_type = super::json::SMOLLM3.to_owned();
        self.architectures = json!(["SmolLM3ForCausalLM"]);
        self.other.extend(layer_types::without_positions(layers));
        // SmolLM3's own lies outside most vocabularies.
        self.other.entry("pad_token_id").or_insert(Value::Null);
    }

    fn become_proportional(&mut self, kept: usize, head_dim: usize, cut: f64) {
        // transformers rounds the factor times half of the head's width down; half a pair more leaves no doubt.
        let factor = (2 * kept + 1) as f64 / head_dim as f64;
        let fields = [("rope_type", json!(PROPORTIONAL)), (PARTIAL_FACTOR, json!(factor))];
        self.rope_scaling = Some(fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect());
        self.rope_min_frequency = Some(cut);
    }
}

pub(super) const PROPORTIONAL: &str = "proportional";
const PARTIAL_FACTOR: &str = "partial_rotary_factor";

/// Makes RoPE with a cut of the rope parameters of a `rope_type` "proportional": `rope_min_frequency`, where the config has none of
/// its own.
///
/// # Errors
/// If frequencies are scaled beside that, or the factor is no share.
pub(super) fn cut_of_proportional(
    parameters: &mut Map<String, Value>,
    theta: f64,
    head_dim: usize,
) -> Result<Option<f64>> {
    if parameters.get("rope_type").and_then(Value::as_str) != Some(PROPORTIONAL) {
        return Ok(None);
    }
    let number = |value: Option<Value>| value.map_or(Some(1.0), |value| value.as_f64());
    let (share, factor) = (number(parameters.remove(PARTIAL_FACTOR)), number(parameters.remove("factor")));
    parameters.insert("rope_type".into(), json!("default"));
    let Some(share) = share.filter(|share| (0.0..=2.0).contains(share)) else {
        return Err(Error::Config(format!("{PARTIAL_FACTOR} is not a share from 0 to 1")));
    };
    if factor != Some(1.0) {
        return Err(Error::Config("rope_type is \"proportional\" with a factor, which is not supported".into()));
    }
    let frequencies = rope_frequencies(theta, head_dim);
    let kept = ((share * head_dim as f64 / 2.0) as usize).min(frequencies.len());
    Ok(Some(match (kept.checked_sub(1).map(|last| frequencies[last]), frequencies.get(kept)) {
        (_, None) => 0.0,
        // Above the highest, which is 1.
        (None, _) => 2.0,
        (Some(lowest_kept), Some(highest_dropped)) => (lowest_kept * highest_dropped).sqrt(),
    }))
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use crate::config::{AttentionType, Config, RopeScaling, YarnParameters};
    use crate::positions::{Method, partial_drop_cutoff};

    /// C = 16, heads of 16.
    fn rope() -> Config {
        Config::from_json(include_str!("../../../tests/fixtures/rope/config.json")).unwrap()
    }

    fn dropped() -> Config {
        Config { attention: AttentionType::Nope, ..rope() }
    }

    fn partial() -> Config {
        rope().with_cut(Some(partial_drop_cutoff(16)))
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
    fn a_proportional_model_of_others_is_a_partial_drop() {
        let read = |fields: &str| {
            let text = include_str!("../../../tests/fixtures/rope/config.json");
            Config::from_json(&text.replacen(
                '{',
                &format!("{{ \"rope_parameters\": {{ \"rope_type\": \"proportional\", {fields} }},"),
                1,
            ))
        };
        let kept = |config: &Config| {
            let positions = Method::of(config).positions(config, 1.0).unwrap();
            let crate::positions::Encoding::Rotary { inv_freq, .. } = &positions.layer(0).encoding else { panic!() };
            inv_freq.iter().filter(|&&omega| omega > 0.0).count()
        };
        for (share, pairs) in [("0.25", 2), ("0.3", 2), ("1.0", 8), ("0.0", 0)] {
            assert_eq!(
                kept(&read(&format!("\"partial_rotary_factor\": {share}, \"rope_theta\": 10000.0")).unwrap()),
                pairs
            );
        }
        for (fields, words) in [("\"factor\": 2.0", "with a factor"), ("\"partial_rotary_factor\": -1", "not a share")]
        {
            let refused = read(fields).unwrap_err().to_string();
            assert!(refused.contains(words), "{refused}");
        }
    }

    #[test]
    fn the_context_of_training_survives_a_longer_one() {
        let mut tempered = dropped();
        tempered.temperature_coefficient = 0.5;
        tempered.softmax_scale = Some(0.5);
        let (config, factor) = tempered.exported(4).unwrap();
        // (1 + 0.5·ln 4) · 0.5 · √16
        assert!((factor - (1.0 + 0.5 * 4f64.ln()) * 2.0).abs() < 1e-12);
        assert_eq!(written(&config)["max_position_embeddings"], 64);
        let again = Config::from_json(&config.to_plain_json().unwrap()).unwrap();
        assert_eq!((again.max_position_embeddings, again.extension, again.temperature_coefficient), (16, 4, 0.0));
        assert_eq!(Config { other: config.other.clone(), ..again }, config);
        // What another scaling counts from does not grow.
        let mut yarn = rope();
        yarn.rope.scaling = RopeScaling::Yarn(YarnParameters::new(4.0));
        let (config, factor) = yarn.exported(4).unwrap();
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
    fn what_a_factor_of_the_weights_does_not_say_is_refused_or_keeps_its_program() {
        let ssmax = Config { scalable_softmax: true, ..dropped() };
        let dynamic = |mut config: Config| {
            config.rope.scaling = RopeScaling::Dynamic { factor: 4.0 };
            config
        };
        for (config, words) in
            [(ssmax.clone(), "SSMax"), (dynamic(rope()), "dynamic NTK"), (Config { alibi: true, ..rope() }, "ALiBi")]
        {
            let refused = config.exported(4).unwrap_err().to_string();
            assert!(refused.contains(words) && refused.contains("leave out --extension"), "{refused}");
        }
        assert!(ssmax.to_plain_json().is_none() && dynamic(partial()).to_plain_json().is_none());
        assert!(Config { qkv_bias: true, ..dropped() }.to_plain_json().is_none());
    }
}
