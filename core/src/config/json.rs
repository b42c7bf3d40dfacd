//! `config.json` of a Hugging Face model folder.
//!
//! Read: `llama` with v4's `rope_theta` + `rope_scaling` or v5's `rope_parameters`, and Sakana's
//! `llama_drope` with `attention_type` and `softmax_scale`. Ours are `rope_min_frequency` (partial drop),
//! `temperature_coefficient` (the c of β = 1 + c·ln s), `head_scales`, `scalable_softmax` and `dope_heads`; `alibi` is
//! Falcon's, and `sliding_window` marks RNoPE-SWA. Written: v4, which every version of transformers reads.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::{AttentionType, Config, RopeParameters, RopeScaling};
use crate::error::{Error, Result};

impl Config {
    /// Reads `config.json`.
    ///
    /// # Errors
    /// If it is not JSON, is of an unknown `model_type` or `rope_type`, lacks a field, or its sizes do not fit together.
    pub fn from_json(text: &str) -> Result<Self> {
        let value: Value =
            serde_json::from_str(text).map_err(|error| Error::Config(format!("this is not valid JSON ({error})")))?;
        let fields = Fields(value.as_object().ok_or_else(|| Error::Config("the top level is not an object".into()))?);
        let model_type = fields.string("model_type").unwrap_or_default();
        if !["llama", "llama_drope"].contains(&model_type) {
            return Err(Error::UnknownModelType(model_type.to_owned()));
        }
        for bias in ["attention_bias", "mlp_bias"] {
            if fields.is_true(bias) {
                return Err(Error::Config(format!("{bias} is true, but models with biases are not supported")));
            }
        }
        if let Some(activation) = fields.string("hidden_act").filter(|name| !["silu", "swish"].contains(name)) {
            return Err(Error::Config(format!("hidden_act is {activation:?}, but only silu is supported")));
        }
        if fields.number("partial_rotary_factor")?.is_some_and(|share| share != 1.0) {
            return Err(Error::Config("partial_rotary_factor is not 1, which is not supported".into()));
        }
        let hidden_size = fields.size("hidden_size")?;
        let num_attention_heads = fields.size("num_attention_heads")?;
        let config = Self {
            vocab_size: fields.size("vocab_size")?,
            hidden_size,
            intermediate_size: fields.size("intermediate_size")?,
            num_hidden_layers: fields.size("num_hidden_layers")?,
            num_attention_heads,
            num_key_value_heads: fields.size_or("num_key_value_heads", num_attention_heads)?,
            head_dim: fields.size_or("head_dim", hidden_size / num_attention_heads)?,
            rms_norm_eps: fields.number("rms_norm_eps")?.unwrap_or(1e-6),
            max_position_embeddings: fields.size("max_position_embeddings")?,
            tie_word_embeddings: fields.is_true("tie_word_embeddings"),
            rope: rope_parameters(&fields)?,
            attention: attention_type(&fields, model_type)?,
            softmax_scale: fields.number("softmax_scale")?,
            temperature_coefficient: fields.number("temperature_coefficient")?.unwrap_or(0.0),
            head_scales: fields.structure("head_scales")?,
            dope_heads: fields.structure("dope_heads")?,
            scalable_softmax: fields.is_true("scalable_softmax"),
            alibi: fields.is_true("alibi"),
            sliding_window: match fields.0.get("sliding_window") {
                None | Some(Value::Null) => None,
                Some(_) => Some(fields.size("sliding_window")?),
            },
            bos_token_id: fields.ids("bos_token_id")?.first().copied(),
            eos_token_ids: fields.ids("eos_token_id")?,
        };
        config.check()?;
        Ok(config)
    }

    /// Writes `config.json`.
    pub fn to_json(&self) -> String {
        // A model that transformers' own Llama computes alike says so; all others have the authors' model type.
        let plain = self.attention == AttentionType::Rope
            && self.rope.rope_min_frequency == 0.0
            && !self.scalable_softmax
            && self.head_scales.is_none()
            && self.softmax_scale.is_none()
            && self.temperature_coefficient == 0.0
            && !self.alibi
            && self.sliding_window.is_none();
        let (model_type, architecture) =
            if plain { ("llama", "LlamaForCausalLM") } else { ("llama_drope", "DroPELlamaForCausalLM") };
        let mut value = json!({
            "architectures": [architecture],
            "model_type": model_type,
            "vocab_size": self.vocab_size,
            "hidden_size": self.hidden_size,
            "intermediate_size": self.intermediate_size,
            "num_hidden_layers": self.num_hidden_layers,
            "num_attention_heads": self.num_attention_heads,
            "num_key_value_heads": self.num_key_value_heads,
            "head_dim": self.head_dim,
            "hidden_act": "silu",
            "rms_norm_eps": self.rms_norm_eps,
            "max_position_embeddings": self.max_position_embeddings,
            "tie_word_embeddings": self.tie_word_embeddings,
            "attention_bias": false,
            "mlp_bias": false,
            "rope_theta": self.rope.rope_theta,
            "rope_scaling": match &self.rope.scaling {
                RopeScaling::Default => Value::Null,
                scaling => json!(scaling),
            },
            "bos_token_id": self.bos_token_id,
            "eos_token_id": match &self.eos_token_ids[..] {
                [] => Value::Null,
                [id] => json!(id),
                ids => json!(ids),
            },
        });
        if !plain {
            value["attention_type"] = json!(self.attention);
            value["rope_min_frequency"] = json!(self.rope.rope_min_frequency);
            value["temperature_coefficient"] = json!(self.temperature_coefficient);
            value["head_scales"] = json!(self.head_scales);
            value["scalable_softmax"] = json!(self.scalable_softmax);
            value["alibi"] = json!(self.alibi);
            value["sliding_window"] = json!(self.sliding_window);
        }
        if let Some(heads) = &self.dope_heads {
            value["dope_heads"] = json!(heads);
        }
        if let Some(scale) = self.softmax_scale {
            value["softmax_scale"] = json!(scale);
        }
        format!("{value:#}\n")
    }
}

fn attention_type(fields: &Fields, model_type: &str) -> Result<AttentionType> {
    match fields.0.get("attention_type") {
        None | Some(Value::Null) if model_type == "llama_drope" => Ok(AttentionType::Nope),
        None | Some(Value::Null) => Ok(AttentionType::Rope),
        Some(name) => serde_json::from_value(name.clone()).map_err(|_| {
            Error::Config(format!(
                "attention_type {name} is not known; use rope, qk_norm_rope, nope, qk_norm_nope, q_norm_nope or k_norm_nope"
            ))
        }),
    }
}

fn rope_parameters(fields: &Fields) -> Result<RopeParameters> {
    let object = |name: &str| fields.0.get(name).and_then(Value::as_object);
    let mut parameters = object("rope_parameters").or_else(|| object("rope_scaling")).cloned().unwrap_or_default();
    // v4 kept θ beside the scaling; oldest configs said `type`.
    if let Some(kind) = parameters.remove("type") {
        parameters.entry("rope_type").or_insert(kind);
    }
    let kind = parameters.entry("rope_type").or_insert_with(|| json!("default"));
    let kind = kind.as_str().unwrap_or_default();
    if !["default", "linear", "dynamic", "yarn", "llama3", "longrope"].contains(&kind) {
        return Err(Error::UnknownRopeType(kind.to_owned()));
    }
    for name in ["rope_theta", "rope_min_frequency"] {
        if let Some(value) = fields.0.get(name) {
            parameters.entry(name).or_insert_with(|| value.clone());
        }
    }
    parameters.entry("rope_theta").or_insert_with(|| json!(10_000.0));
    serde_json::from_value(Value::Object(parameters))
        .map_err(|error| Error::Config(format!("rope parameters: {error}")))
}

/// The top-level object, with errors that name the field.
struct Fields<'a>(&'a Map<String, Value>);

impl Fields<'_> {
    fn string(&self, name: &str) -> Option<&str> {
        self.0.get(name).and_then(Value::as_str)
    }

    fn is_true(&self, name: &str) -> bool {
        self.0.get(name).and_then(Value::as_bool).unwrap_or(false)
    }

    fn number(&self, name: &str) -> Result<Option<f64>> {
        match self.0.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => {
                value.as_f64().map(Some).ok_or_else(|| Error::Config(format!("{name} is {value}, not a number")))
            }
        }
    }

    /// A token id, a list of them, or none.
    fn ids(&self, name: &str) -> Result<Vec<u32>> {
        let value = self.0.get(name).unwrap_or(&Value::Null);
        let list = match value {
            Value::Null => Vec::new(),
            Value::Array(list) => list.clone(),
            id => vec![id.clone()],
        };
        let id = |id: &Value| id.as_u64().and_then(|id| u32::try_from(id).ok());
        list.iter()
            .map(id)
            .collect::<Option<_>>()
            .ok_or_else(|| Error::Config(format!("{name} is {value}, not a token id")))
    }

    fn structure<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>> {
        match self.0.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => serde_json::from_value(value.clone())
                .map(Some)
                .map_err(|error| Error::Config(format!("{name}: {error}"))),
        }
    }

    fn size(&self, name: &str) -> Result<usize> {
        let value = self.0.get(name).ok_or_else(|| Error::Config(format!("the field {name} is missing")))?;
        match value.as_u64() {
            // Larger than any model, small enough that no product of two sizes overflows.
            Some(size @ 1..=0x4000_0000) => Ok(size as usize),
            _ => Err(Error::Config(format!("{name} is {value} but must be a whole number of at least 1"))),
        }
    }

    fn size_or(&self, name: &str, default: usize) -> Result<usize> {
        match self.0.get(name) {
            None | Some(Value::Null) => Ok(default),
            Some(_) => self.size(name),
        }
    }
}
