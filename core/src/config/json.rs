//! `config.json` of a Hugging Face model folder, in and out.
//!
//! Read: `llama`, `qwen2` (whose queries, keys and values have biases) and `smollm3` with v4's `rope_theta` + `rope_scaling` or
//! v5's `rope_parameters`, and Sakana's `llama_drope` and `qwen2_drope` with `attention_type` and `softmax_scale`. Ours are
//! `rope_min_frequency` (partial drop), `rope_clipped_pairs` (CoPE), `training_context`, `rope_scaling_trained`,
//! `temperature_coefficient` (the c of β = 1 + c·ln s), `head_scales`, `scalable_softmax` and `dope_heads`; `alibi` is Falcon's, and in `llama_drope` alone `sliding_window` marks
//! RNoPE-SWA: transformers' Llama ignores it. Written: v4, which every version of transformers reads. Fields of others survive.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value, json};

use super::dope::DopeHeads;
use super::layer_types::MAX_SIZE;
use super::{AttentionType, Config, HeadScales, RopeParameters, RopeScaling, layer_types, proportional};
use crate::error::{Error, Result};

/// The file that transformers loads if `config.json` names it.
pub const MODELING_FILE: &str = "modeling_drope.py";

/// `config.json` as it stands in the file.
#[derive(Serialize, Deserialize)]
pub(super) struct ConfigJson {
    #[serde(default)]
    pub(super) architectures: Value,
    #[serde(default)]
    pub(super) model_type: String,
    #[serde(deserialize_with = "size")]
    vocab_size: usize,
    #[serde(deserialize_with = "size")]
    hidden_size: usize,
    #[serde(deserialize_with = "size")]
    intermediate_size: usize,
    #[serde(deserialize_with = "size")]
    num_hidden_layers: usize,
    #[serde(deserialize_with = "size")]
    num_attention_heads: usize,
    #[serde(default, deserialize_with = "optional_size")]
    num_key_value_heads: Option<usize>,
    #[serde(default, deserialize_with = "optional_size")]
    head_dim: Option<usize>,
    hidden_act: Option<String>,
    rms_norm_eps: Option<f64>,
    #[serde(deserialize_with = "size")]
    max_position_embeddings: usize,
    /// Ours: C, where `max_position_embeddings` is a multiple of it.
    #[serde(default, deserialize_with = "optional_size", skip_serializing_if = "Option::is_none")]
    training_context: Option<usize>,
    tie_word_embeddings: Option<bool>,
    attention_bias: Option<bool>,
    mlp_bias: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    partial_rotary_factor: Option<f64>,
    rope_theta: Option<f64>,
    pub(super) rope_scaling: Option<Map<String, Value>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rope_parameters: Option<Map<String, Value>>,
    /// Outside the scaling, as in Phi-3: transformers prefers it to the one inside.
    #[serde(default, deserialize_with = "optional_size", skip_serializing_if = "Option::is_none")]
    original_max_position_embeddings: Option<usize>,
    #[serde(default, deserialize_with = "token_ids", serialize_with = "one_or_many")]
    bos_token_id: Vec<u32>,
    #[serde(default, deserialize_with = "token_ids", serialize_with = "one_or_many")]
    eos_token_id: Vec<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    attention_type: Option<AttentionType>,
    #[serde(skip_serializing_if = "Option::is_none")]
    softmax_scale: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) rope_min_frequency: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rope_clipped_pairs: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rope_scaling_trained: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature_coefficient: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    head_scales: Option<HeadScales>,
    #[serde(skip_serializing_if = "Option::is_none")]
    scalable_softmax: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    alibi: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sliding_window: Option<Value>,
    /// Qwen 2: whether its layers have windows.
    #[serde(skip_serializing_if = "Option::is_none")]
    use_sliding_window: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dope_heads: Option<DopeHeads>,
    #[serde(flatten)]
    pub(super) other: Map<String, Value>,
}

const LLAMA: &str = "llama";
const DROPE: &str = "llama_drope";
const QWEN: &str = "qwen2";
const QWEN_DROPE: &str = "qwen2_drope";
const AUTO_MAP: &str = "auto_map";
pub(super) const SMOLLM3: &str = "smollm3";
const ORIGINAL_CONTEXT: &str = "original_max_position_embeddings";

impl Config {
    /// Reads `config.json`.
    ///
    /// # Errors
    /// If it is not JSON, is of an unknown `model_type` or `rope_type`, lacks a field, or a field has a value that no model can
    /// have; the message names the field.
    pub fn from_json(text: &str) -> Result<Self> {
        let value: Value =
            serde_json::from_str(text).map_err(|error| Error::Config(format!("this is not valid JSON ({error})")))?;
        let object = value.as_object().ok_or_else(|| Error::Config("the top level is not an object".into()))?;
        let model_type = object.get("model_type").and_then(Value::as_str).unwrap_or_default();
        if ![LLAMA, DROPE, QWEN, QWEN_DROPE, SMOLLM3].contains(&model_type) {
            return Err(Error::UnknownModelType(model_type.to_owned()));
        }
        let json: ConfigJson = serde_path_to_error::deserialize(value).map_err(|error| {
            let (field, inner) = (error.path().to_string(), error.inner().to_string());
            Error::Config(if field == "." { inner } else { format!("{field}: {inner}") })
        })?;
        let config = json.into_config()?;
        config.check()?;
        Ok(config)
    }

    /// Writes `config.json`, with the foreign fields that it was read with.
    pub fn to_json(&self) -> String {
        self.as_json().text()
    }

    /// The Python program with which transformers computes the same; `None` if its own Llama, Qwen 2 or SmolLM3 class
    /// does. `config.json` names the program, which has to be stored beside it as [`MODELING_FILE`].
    pub fn modeling(&self) -> Option<&'static str> {
        (!self.is_plain()).then_some(include_str!("modeling_drope.py"))
    }

    pub(super) fn is_plain(&self) -> bool {
        self.attention == AttentionType::Rope
            && self.rope.rope_min_frequency == 0.0
            && self.rope.rope_clipped_pairs == 0
            && !self.scalable_softmax
            && self.head_scales.is_none()
            && self.softmax_scale.is_none()
            && self.temperature_coefficient == 0.0
            && !self.alibi
            && self.sliding_window.is_none()
    }

    pub(super) fn as_json(&self) -> ConfigJson {
        let is_plain = self.is_plain();
        let (model_type, architecture) = match (is_plain, self.qkv_bias) {
            (true, false) if !self.layer_types.is_empty() => (SMOLLM3, "SmolLM3ForCausalLM"),
            (true, false) => (LLAMA, "LlamaForCausalLM"),
            (true, true) => (QWEN, "Qwen2ForCausalLM"),
            (false, false) => (DROPE, "DroPELlamaForCausalLM"),
            (false, true) => (QWEN_DROPE, "DroPEQwen2ForCausalLM"),
        };
        let number = |value: f64| (value != 0.0).then_some(value);
        let mut other = self.other.clone();
        if model_type == DROPE {
            // A plain Llama ignores them; here they would be windows, and layers without positions.
            other.remove("sliding_window");
            other.remove(layer_types::NO_ROPE_LAYERS);
        }
        other.extend(layer_types::fields(&self.layer_types));
        if !is_plain {
            let class = if self.qkv_bias { "DroPEQwen2" } else { "DroPELlama" };
            let module = MODELING_FILE.trim_end_matches(".py");
            let map = json!({
                "AutoConfig": format!("{module}.{class}Config"),
                "AutoModelForCausalLM": format!("{module}.{class}ForCausalLM"),
            });
            other.insert(AUTO_MAP.into(), map);
        }
        ConfigJson {
            architectures: json!([architecture]),
            model_type: model_type.to_owned(),
            vocab_size: self.vocab_size,
            hidden_size: self.hidden_size,
            intermediate_size: self.intermediate_size,
            num_hidden_layers: self.num_hidden_layers,
            num_attention_heads: self.num_attention_heads,
            num_key_value_heads: Some(self.num_key_value_heads),
            head_dim: Some(self.head_dim),
            hidden_act: Some("silu".to_owned()),
            rms_norm_eps: Some(self.rms_norm_eps),
            max_position_embeddings: self.max_position_embeddings * self.extension,
            training_context: (self.extension > 1).then_some(self.max_position_embeddings),
            tie_word_embeddings: Some(self.tie_word_embeddings),
            // Configs of Qwen 2 do not mention its biases.
            attention_bias: (!self.qkv_bias).then_some(false),
            mlp_bias: (!self.qkv_bias).then_some(false),
            partial_rotary_factor: None,
            rope_theta: Some(self.rope.rope_theta),
            rope_scaling: match serde_json::to_value(&self.rope.scaling) {
                Ok(Value::Object(fields)) if self.rope.scaling != RopeScaling::Default => Some(fields),
                _ => None,
            },
            rope_parameters: None,
            // One that was read outside the scaling is among the others.
            original_max_position_embeddings: None,
            bos_token_id: self.bos_token_id.into_iter().collect(),
            eos_token_id: self.eos_token_ids.clone(),
            attention_type: (!is_plain).then_some(self.attention),
            softmax_scale: self.softmax_scale,
            rope_min_frequency: number(self.rope.rope_min_frequency),
            rope_clipped_pairs: Some(self.rope.rope_clipped_pairs).filter(|&pairs| pairs > 0),
            rope_scaling_trained: self.rope.rope_scaling_trained.then_some(true),
            temperature_coefficient: number(self.temperature_coefficient),
            head_scales: self.head_scales.clone(),
            scalable_softmax: self.scalable_softmax.then_some(true),
            alibi: self.alibi.then_some(true),
            sliding_window: self.sliding_window.map(|window| json!(window)),
            use_sliding_window: self.qkv_bias.then(|| self.has_windows()),
            dope_heads: self.dope_heads.clone(),
            other,
        }
    }
}

impl ConfigJson {
    /// As it stands in the file.
    pub(super) fn text(&self) -> String {
        let value = serde_json::to_value(self).expect("a config is plain data with string keys");
        format!("{value:#}\n")
    }

    /// C, and how many times it the file says.
    fn contexts(&self) -> Result<(usize, usize)> {
        let written = self.max_position_embeddings;
        match self.training_context {
            None => Ok((written, 1)),
            Some(context) if written.is_multiple_of(context) => Ok((context, written / context)),
            Some(context) => Err(Error::Config(format!(
                "max_position_embeddings is {written}, which is no multiple of training_context ({context})"
            ))),
        }
    }

    fn into_config(mut self) -> Result<Config> {
        for (name, bias) in [("attention_bias", self.attention_bias), ("mlp_bias", self.mlp_bias)] {
            if bias == Some(true) {
                return Err(Error::Config(format!("{name} is true, but models with biases are not supported")));
            }
        }
        if let Some(activation) = self.hidden_act.as_deref().filter(|name| !["silu", "swish"].contains(name)) {
            return Err(Error::Config(format!("hidden_act is {activation:?}, but only silu is supported")));
        }
        if self.partial_rotary_factor.is_some_and(|share| share != 1.0) {
            return Err(Error::Config("partial_rotary_factor is not 1, which is not supported".into()));
        }
        let is_drope = [DROPE, QWEN_DROPE].contains(&&*self.model_type);
        let is_qwen = [QWEN, QWEN_DROPE].contains(&&*self.model_type);
        let is_smollm3 = self.model_type == SMOLLM3;
        // A program that the config names may compute something else than what is read here.
        self.other.remove(AUTO_MAP);
        if is_smollm3 && self.use_sliding_window == Some(true) {
            return Err(Error::Config("use_sliding_window is true, but SmolLM3's windows are not supported".into()));
        }
        let mut window = self.sliding_window.take().filter(|window| !window.is_null());
        let layers = self.num_hidden_layers;
        let layer_types = if is_qwen && self.use_sliding_window == Some(true) {
            layer_types::with_windows(&mut self.other, layers, window.take())?
        } else if is_smollm3 || self.model_type == DROPE {
            layer_types::without_rotation(&mut self.other, layers, is_smollm3)?
        } else {
            Vec::new()
        };
        // The window of a plain Llama is one of the fields that transformers ignores; it survives as such.
        let sliding_window = match window {
            Some(window) if self.model_type == DROPE => {
                Some(size(window).map_err(|error| Error::Config(format!("sliding_window: {error}")))?)
            }
            Some(window) => {
                self.other.insert("sliding_window".into(), window);
                None
            }
            None => None,
        };
        let drops_all = is_smollm3 && layer_types::drop_all(&layer_types, &mut self.other);
        let layer_types = if drops_all { Vec::new() } else { layer_types };
        let (max_position_embeddings, extension) = self.contexts()?;
        let default_attention = if is_drope || drops_all { AttentionType::Nope } else { AttentionType::Rope };
        Ok(Config {
            rope: self.rope_parameters()?,
            vocab_size: self.vocab_size,
            hidden_size: self.hidden_size,
            intermediate_size: self.intermediate_size,
            num_hidden_layers: self.num_hidden_layers,
            num_attention_heads: self.num_attention_heads,
            num_key_value_heads: self.num_key_value_heads.unwrap_or(self.num_attention_heads),
            head_dim: self.head_dim.unwrap_or(self.hidden_size / self.num_attention_heads),
            rms_norm_eps: self.rms_norm_eps.unwrap_or(1e-6),
            max_position_embeddings,
            extension,
            // transformers' SmolLM3 is tied unless it says otherwise.
            tie_word_embeddings: self.tie_word_embeddings.unwrap_or(is_smollm3),
            attention: self.attention_type.unwrap_or(default_attention),
            softmax_scale: self.softmax_scale,
            temperature_coefficient: self.temperature_coefficient.unwrap_or(0.0),
            head_scales: self.head_scales,
            scalable_softmax: self.scalable_softmax.unwrap_or(false),
            alibi: self.alibi.unwrap_or(false),
            sliding_window,
            qkv_bias: is_qwen,
            layer_types,
            dope_heads: self.dope_heads,
            bos_token_id: self.bos_token_id.first().copied(),
            eos_token_ids: self.eos_token_id,
            other: self.other,
        })
    }

    /// v5 keeps everything in `rope_parameters`; v4 kept θ beside `rope_scaling`; the oldest configs said `type`.
    fn rope_parameters(&mut self) -> Result<RopeParameters> {
        let mut parameters = self.rope_parameters.take().or(self.rope_scaling.take()).unwrap_or_default();
        if let Some(kind) = parameters.remove("type") {
            parameters.entry("rope_type").or_insert(kind);
        }
        let default_theta = if self.model_type == SMOLLM3 { 2_000_000.0 } else { 10_000.0 };
        let theta = parameters.entry("rope_theta").or_insert(json!(self.rope_theta.unwrap_or(default_theta))).as_f64();
        let head_dim = self.head_dim.unwrap_or(self.hidden_size / self.num_attention_heads);
        let cut = proportional::cut(&mut parameters, theta.unwrap_or(default_theta), head_dim)?;
        let kind = parameters.entry("rope_type").or_insert_with(|| json!("default"));
        let kind = kind.as_str().unwrap_or_default();
        if !["default", "linear", "dynamic", "yarn", "llama3", "longrope"].contains(&kind) {
            return Err(Error::UnknownRopeType(kind.to_owned()));
        }
        parameters.entry("rope_min_frequency").or_insert(json!(self.rope_min_frequency.or(cut).unwrap_or(0.0)));
        parameters.entry("rope_clipped_pairs").or_insert(json!(self.rope_clipped_pairs.unwrap_or(0)));
        parameters.entry("rope_scaling_trained").or_insert(json!(self.rope_scaling_trained.unwrap_or(false)));
        if let Some(original) = self.original_max_position_embeddings {
            parameters.insert(ORIGINAL_CONTEXT.into(), json!(original));
            self.other.insert(ORIGINAL_CONTEXT.into(), json!(original));
        }
        serde_json::from_value(Value::Object(parameters))
            .map_err(|error| Error::Config(format!("rope parameters: {error}")))
    }
}

fn size<'de, D: Deserializer<'de>>(deserializer: D) -> std::result::Result<usize, D::Error> {
    let value = Value::deserialize(deserializer)?;
    match value.as_u64() {
        Some(size @ 1..=MAX_SIZE) => Ok(size as usize),
        _ => Err(D::Error::custom(format!("{value} is not a whole number from 1 to {MAX_SIZE}"))),
    }
}

fn optional_size<'de, D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Option<usize>, D::Error> {
    match Value::deserialize(deserializer)? {
        Value::Null => Ok(None),
        value => size(value).map(Some).map_err(D::Error::custom),
    }
}

/// A token id, a list of them, or none.
fn token_ids<'de, D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Vec<u32>, D::Error> {
    let value = Value::deserialize(deserializer)?;
    let list = match &value {
        Value::Null => &[],
        Value::Array(list) => &list[..],
        id => std::slice::from_ref(id),
    };
    let ids = list.iter().map(|id| id.as_u64().and_then(|id| u32::try_from(id).ok()));
    ids.collect::<Option<_>>().ok_or_else(|| D::Error::custom(format!("{value} is not a token id")))
}

fn one_or_many<S: serde::Serializer>(ids: &[u32], serializer: S) -> std::result::Result<S::Ok, S::Error> {
    match ids {
        [] => serializer.serialize_none(),
        [id] => id.serialize(serializer),
        ids => ids.serialize(serializer),
    }
}
