//! `config.json` as it stands in the file.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use super::dope::DopeHeads;
use super::layer_types::MAX_SIZE;
use super::{AttentionType, HeadScales};
use crate::error::Error;

/// `config.json` as it stands in the file.
#[derive(Serialize, Deserialize)]
pub(super) struct ConfigJson {
    #[serde(default)]
    pub(super) architectures: Value,
    #[serde(default)]
    pub(super) model_type: String,
    #[serde(deserialize_with = "size")]
    pub(super) vocab_size: usize,
    #[serde(deserialize_with = "size")]
    pub(super) hidden_size: usize,
    #[serde(deserialize_with = "size")]
    pub(super) intermediate_size: usize,
    #[serde(deserialize_with = "size")]
    pub(super) num_hidden_layers: usize,
    #[serde(deserialize_with = "size")]
    pub(super) num_attention_heads: usize,
    #[serde(default, deserialize_with = "optional_size")]
    pub(super) num_key_value_heads: Option<usize>,
    #[serde(default, deserialize_with = "optional_size")]
    pub(super) head_dim: Option<usize>,
    pub(super) hidden_act: Option<String>,
    pub(super) rms_norm_eps: Option<f64>,
    #[serde(deserialize_with = "size")]
    pub(super) max_position_embeddings: usize,
    /// Ours: C, where `max_position_embeddings` is a multiple of it.
    #[serde(default, deserialize_with = "optional_size", skip_serializing_if = "Option::is_none")]
    pub(super) training_context: Option<usize>,
    pub(super) tie_word_embeddings: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) attention_bias: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) mlp_bias: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) partial_rotary_factor: Option<f64>,
    pub(super) rope_theta: Option<f64>,
    pub(super) rope_scaling: Option<Map<String, Value>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) rope_parameters: Option<Map<String, Value>>,
    /// Outside the scaling, as in Phi-3: transformers prefers it to the one inside.
    #[serde(default, deserialize_with = "optional_size", skip_serializing_if = "Option::is_none")]
    pub(super) original_max_position_embeddings: Option<usize>,
    #[serde(default, deserialize_with = "token_ids", serialize_with = "one_or_many")]
    pub(super) bos_token_id: Vec<u32>,
    #[serde(default, deserialize_with = "token_ids", serialize_with = "one_or_many")]
    pub(super) eos_token_id: Vec<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) attention_type: Option<AttentionType>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) softmax_scale: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) rope_min_frequency: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) rope_clipped_pairs: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) rope_scaling_trained: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) temperature_coefficient: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) head_scales: Option<HeadScales>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) scalable_softmax: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) alibi: Option<bool>,
    /// `null` is a value of it: in some families a window that is left out is a usual one, and `null` is none.
    #[serde(default, deserialize_with = "even_null", skip_serializing_if = "Option::is_none")]
    pub(super) sliding_window: Option<Value>,
    /// Qwen: whether its layers have windows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) use_sliding_window: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) dope_heads: Option<DopeHeads>,
    #[serde(flatten)]
    pub(super) other: Map<String, Value>,
}

impl ConfigJson {
    /// Takes a number of a family's own out of the other fields.
    ///
    /// # Errors
    /// If it is there and not a number above 0.
    pub(super) fn take_number(&mut self, name: &str, default: f64) -> crate::Result<f64> {
        let Some(value) = self.other.remove(name).filter(|value| !value.is_null()) else { return Ok(default) };
        let number = value.as_f64().filter(|number| *number > 0.0 && number.is_finite());
        number.ok_or_else(|| Error::Config(format!("{name} is {value} but must be a number above 0")))
    }
}

/// A field that is there, whatever it says.
fn even_null<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

/// A size.
pub(super) fn size<'de, D: Deserializer<'de>>(deserializer: D) -> Result<usize, D::Error> {
    let value = Value::deserialize(deserializer)?;
    match value.as_u64() {
        Some(size @ 1..=MAX_SIZE) => Ok(size as usize),
        _ => Err(D::Error::custom(format!("{value} is not a whole number from 1 to {MAX_SIZE}"))),
    }
}

fn optional_size<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<usize>, D::Error> {
    match Value::deserialize(deserializer)? {
        Value::Null => Ok(None),
        value => size(value).map(Some).map_err(D::Error::custom),
    }
}

/// A token id, a list of them, or none.
fn token_ids<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u32>, D::Error> {
    let value = Value::deserialize(deserializer)?;
    let list = match &value {
        Value::Null => &[],
        Value::Array(list) => &list[..],
        id => std::slice::from_ref(id),
    };
    let ids = list.iter().map(|id| id.as_u64().and_then(|id| u32::try_from(id).ok()));
    ids.collect::<Option<_>>().ok_or_else(|| D::Error::custom(format!("{value} is not a token id")))
}

fn one_or_many<S: Serializer>(ids: &[u32], serializer: S) -> Result<S::Ok, S::Error> {
    match ids {
        [] => serializer.serialize_none(),
        [id] => id.serialize(serializer),
        ids => ids.serialize(serializer),
    }
}
