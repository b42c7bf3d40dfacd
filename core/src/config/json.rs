//! `config.json` of a Hugging Face model folder, in and out.
//!
//! Read: the families of `families/`, with v4's `rope_theta` + `rope_scaling` or v5's `rope_parameters`, and Sakana's `llama_drope` and
//! `qwen2_drope` with `attention_type` and `softmax_scale`; ours end in `_drope` likewise. Ours are `rope_min_frequency` (partial drop),
//! `rope_clipped_pairs` (CoPE), `training_context`, `rope_scaling_trained`, `temperature_coefficient` (the c of β = 1 + c·ln s),
//! `head_scales`, `scalable_softmax` and `dope_heads`; `alibi` is Falcon's, `no_rope_layers` SmolLM3's, and in `llama_drope` alone
//! `sliding_window` marks RNoPE-SWA: transformers' Llama ignores it. Written: v4, which every version of transformers reads. Fields of
//! others survive.

use serde_json::{Map, Value, json};

use super::architecture::Activation;
use super::families::{Decoder, Family, LLAMA, SMOLLM3};
use super::fields::{ConfigJson, size};
use super::{
    AttentionType, Config, LARGEST_HEAD, MOST_LAYERS, PositionScheme, RopeParameters, RopeScaling, WIDEST, at_most,
    layer_types, proportional,
};
use crate::error::{Error, Result};

/// The file that transformers loads if `config.json` names it.
pub const MODELING_FILE: &str = "modeling_drope.py";

const AUTO_MAP: &str = "auto_map";
const ORIGINAL_CONTEXT: &str = "original_max_position_embeddings";
const ROTARY_SHARE: &str = "partial_rotary_factor";

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
        refuse_other_decoders(object)?;
        let model_type = object.get("model_type").and_then(Value::as_str).unwrap_or_default();
        let (family, is_drope) = Family::of_model_type(model_type)
            .ok_or_else(|| Error::UnknownModelType { name: model_type.to_owned(), choices: Family::choices() })?;
        let mut value = value;
        if let (Some(window), Some(fields)) = (family.defaults.sliding_window, value.as_object_mut()) {
            fields.entry("sliding_window").or_insert(json!(window));
        }
        let json: ConfigJson = serde_path_to_error::deserialize(value).map_err(|error| {
            let (field, inner) = (error.path().to_string(), error.inner().to_string());
            Error::Config(if field == "." { inner } else { format!("{field}: {inner}") })
        })?;
        let config = json.into_config(family, is_drope)?;
        config.check()?;
        Ok(config)
    }

    /// Writes `config.json`, with the foreign fields that it was read with.
    pub fn to_json(&self) -> String {
        self.as_json().text()
    }

    /// The Python program with which transformers computes the same; `None` if a class of its own
    /// does. `config.json` names the program, which has to be stored beside it as [`MODELING_FILE`].
    pub fn modeling(&self) -> Option<&'static str> {
        (!self.is_plain()).then_some(include_str!("modeling_drope.py"))
    }

    pub(super) fn is_plain(&self) -> bool {
        self.positions == PositionScheme::Rotary
            && !self.has_added_norms()
            && self.architecture.partial_rotary_factor == 1.0
            && (self.family == &LLAMA || self.layer_types.iter().all(|layer| layer.rotates))
            && !self.scalable_softmax
            && self.head_scales.is_none()
            && self.softmax_scale.is_none()
            && self.temperature_coefficient == 0.0
    }

    pub(super) fn as_json(&self) -> ConfigJson {
        let is_plain = self.is_plain();
        let mut other = self.other.clone();
        if self.family == &LLAMA && !is_plain {
            // A plain Llama ignores them; here they would be windows, and layers without positions.
            other.remove("sliding_window");
            other.remove(layer_types::NO_ROPE_LAYERS);
        }
        other.extend((self.family.write)(self));
        other.extend(layer_types::rotation_fields(&self.layer_types));
        // Layers of a Llama that have no positions make it a SmolLM3.
        let family =
            if is_plain && self.family == &LLAMA && !self.layer_types.is_empty() { &SMOLLM3 } else { self.family };
        if family == &SMOLLM3 {
            // SmolLM3's own lies outside most vocabularies.
            other.entry("pad_token_id").or_insert(Value::Null);
        }
        let (model_type, architecture) = if is_plain {
            (family.model_type.to_owned(), format!("{}ForCausalLM", family.class))
        } else {
            let class = format!("DroPE{}", family.class);
            let module = MODELING_FILE.trim_end_matches(".py");
            let map = json!({
                "AutoConfig": format!("{module}.{class}Config"),
                "AutoModelForCausalLM": format!("{module}.{class}ForCausalLM"),
            });
            other.insert(AUTO_MAP.into(), map);
            (family.dropped_model_type(), format!("{class}ForCausalLM"))
        };
        let positions = self.positions;
        let attention_type =
            AttentionType::of(positions == PositionScheme::None, &self.architecture, &self.family.architecture);
        let has_no_bias = self.family.mentions_biases.then_some(false);
        // Else it is the window of some layers, which the family has written, or a field that transformers ignores.
        let sliding_window = match positions {
            PositionScheme::RnopeSwa { window } => Some(json!(window)),
            _ => other.remove("sliding_window"),
        };
        ConfigJson {
            architectures: json!([architecture]),
            model_type,
            vocab_size: self.vocab_size,
            hidden_size: self.hidden_size,
            intermediate_size: self.intermediate_size,
            num_hidden_layers: self.num_hidden_layers,
            num_attention_heads: self.num_attention_heads,
            num_key_value_heads: Some(self.num_key_value_heads),
            head_dim: Some(self.head_dim),
            hidden_act: Some(self.architecture.activation.name().to_owned()),
            rms_norm_eps: Some(self.rms_norm_eps),
            max_position_embeddings: self.max_position_embeddings * self.extension,
            training_context: (self.extension > 1).then_some(self.max_position_embeddings),
            tie_word_embeddings: Some(self.tie_word_embeddings),
            attention_bias: has_no_bias,
            mlp_bias: has_no_bias,
            partial_rotary_factor: Some(self.architecture.partial_rotary_factor).filter(|&share| share != 1.0),
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
            attention_type: (!is_plain).then_some(attention_type),
            softmax_scale: self.softmax_scale,
            rope_min_frequency: match positions {
                PositionScheme::Partial { min_frequency } => Some(min_frequency),
                _ => None,
            },
            rope_clipped_pairs: match positions {
                PositionScheme::Clipped { pairs } => Some(pairs),
                _ => None,
            },
            rope_scaling_trained: match self.rope.scaling {
                RopeScaling::Linear { .. } => Some(self.rope.rope_scaling_trained),
                _ => self.rope.rope_scaling_trained.then_some(true),
            },
            temperature_coefficient: Some(self.temperature_coefficient).filter(|&c| c != 0.0),
            head_scales: self.head_scales.clone(),
            scalable_softmax: self.scalable_softmax.then_some(true),
            alibi: (positions == PositionScheme::Alibi).then_some(true),
            sliding_window,
            use_sliding_window: None,
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

    fn into_config(mut self, family: &'static Family, is_drope: bool) -> Result<Config> {
        // A program that the config names may compute something else than what is read here.
        self.other.remove(AUTO_MAP);
        let layers = self.num_hidden_layers;
        // What follows makes lists of these sizes.
        at_most(&[
            ("num_hidden_layers", layers, MOST_LAYERS),
            ("hidden_size", self.hidden_size, WIDEST),
            ("head_dim", self.head_dim.unwrap_or_default(), LARGEST_HEAD),
        ])
        .map_err(Error::Config)?;
        let mut decoder = Decoder { family, architecture: family.architecture, layer_types: Vec::new() };
        (family.read)(&mut self, &mut decoder)?;
        // A family that supports one of them has taken it out of `self` (Seed-OSS: attention_bias).
        for (name, bias) in [("attention_bias", self.attention_bias), ("mlp_bias", self.mlp_bias)] {
            if bias == Some(true) {
                return Err(Error::Config(format!("{name} is true, but models with biases are not supported")));
            }
        }
        let Decoder { family: written_as, mut architecture, mut layer_types } = decoder;
        self.check_activation(architecture.activation)?;
        let head_dim =
            self.head_dim.or(family.defaults.head_dim).unwrap_or(self.hidden_size / self.num_attention_heads);
        architecture.partial_rotary_factor = self.rotary_share(head_dim, is_drope || family.has_partial_rotation)?;
        if is_drope {
            layer_types = layer_types::without_rotation(layer_types, &mut self.other, layers)?;
        }
        // The window of a plain Llama is one of the fields that transformers ignores; it survives as such.
        let rnope_window = match self.sliding_window.take().filter(|window| !window.is_null()) {
            Some(window) if is_drope && family == &LLAMA => {
                Some(size(window).map_err(|error| Error::Config(format!("sliding_window: {error}")))?)
            }
            Some(window) => {
                self.other.insert("sliding_window".into(), window);
                None
            }
            None => None,
        };
        let drops_all = family == &SMOLLM3 && layer_types::drop_all(&layer_types, &mut self.other);
        if drops_all {
            layer_types = Vec::new();
        }
        let (max_position_embeddings, extension) = self.contexts()?;
        let default_attention = if is_drope || drops_all { AttentionType::Nope } else { AttentionType::Rope };
        let attention_type = self.attention_type.unwrap_or(default_attention);
        attention_type.add_norms(&mut architecture);
        let (rope, proportional) = self.rope_parameters(family, head_dim)?;
        let positions = match (attention_type.drops_positions(), rnope_window) {
            _ if self.alibi == Some(true) => PositionScheme::Alibi,
            (true, _) => PositionScheme::None,
            (false, Some(window)) => PositionScheme::RnopeSwa { window },
            (false, None) => self.changed_frequencies()?.or(proportional).unwrap_or(PositionScheme::Rotary),
        };
        if positions == PositionScheme::None {
            layer_types = layer_types::without_difference_in_rotation(&layer_types);
        }
        Ok(Config {
            family: written_as,
            architecture,
            positions,
            layer_types,
            rope,
            vocab_size: self.vocab_size,
            hidden_size: self.hidden_size,
            intermediate_size: self.intermediate_size,
            num_hidden_layers: self.num_hidden_layers,
            num_attention_heads: self.num_attention_heads,
            num_key_value_heads: self
                .num_key_value_heads
                .or(family.defaults.num_key_value_heads)
                .unwrap_or(self.num_attention_heads),
            head_dim,
            rms_norm_eps: self.rms_norm_eps.unwrap_or(family.defaults.rms_norm_eps),
            max_position_embeddings,
            extension,
            tie_word_embeddings: self.tie_word_embeddings.unwrap_or(family.defaults.tie_word_embeddings),
            softmax_scale: self.softmax_scale,
            temperature_coefficient: self.temperature_coefficient.unwrap_or(0.0),
            head_scales: self.head_scales,
            scalable_softmax: self.scalable_softmax.unwrap_or(false),
            dope_heads: self.dope_heads,
            bos_token_id: self.bos_token_id.first().copied(),
            eos_token_ids: self.eos_token_id,
            other: self.other,
        })
    }

    fn check_activation(&self, activation: Activation) -> Result<()> {
        // Another name for the same.
        let given = self.hidden_act.as_deref().map(|name| if name == "swish" { "silu" } else { name });
        match given.filter(|given| *given != activation.name()) {
            Some(given) => {
                let name = activation.name();
                Err(Error::Config(format!(
                    "hidden_act is {given:?}, but only {name} is supported in this family of models"
                )))
            }
            None => Ok(()),
        }
    }

    /// The share of a head's components that rotate.
    fn rotary_share(&mut self, head_dim: usize, is_known: bool) -> Result<f64> {
        let scaling = self.rope_parameters.as_mut().or(self.rope_scaling.as_mut());
        let inside = scaling
            .filter(|scaling| !proportional::is_proportional(scaling))
            .and_then(|scaling| scaling.remove(ROTARY_SHARE))
            .filter(|share| !share.is_null());
        let number = |share: Value| {
            share.as_f64().ok_or_else(|| Error::Config(format!("{ROTARY_SHARE} is {share} but must be a number")))
        };
        // As in transformers, the one beside the other parameters of RoPE counts before the older place.
        let share = inside.map(number).transpose()?.or(self.partial_rotary_factor.take()).unwrap_or(1.0);
        if share == 1.0 {
            return Ok(share);
        }
        if !is_known {
            return Err(Error::Config(format!(
                "{ROTARY_SHARE} is not 1, which is not supported in this family of models"
            )));
        }
        let rotated = (head_dim as f64 * share) as usize;
        if !(0.0..=1.0).contains(&share) || rotated < 2 || !rotated.is_multiple_of(2) {
            return Err(Error::Config(format!(
                "{ROTARY_SHARE} is {share}, so that {rotated} of {head_dim} components of a head rotate; their number must be \
                 even, from 2 to {head_dim}"
            )));
        }
        Ok(share)
    }

    /// What fields of ours say about the lowest frequencies.
    fn changed_frequencies(&self) -> Result<Option<PositionScheme>> {
        let min_frequency = self.rope_min_frequency.filter(|&cut| cut != 0.0);
        let pairs = self.rope_clipped_pairs.filter(|&pairs| pairs > 0);
        match (min_frequency, pairs) {
            (Some(_), Some(_)) => Err(Error::Config(
                "rope_clipped_pairs and rope_min_frequency both change the lowest frequencies; give one of them".into(),
            )),
            (Some(min_frequency), None) => Ok(Some(PositionScheme::Partial { min_frequency })),
            (None, Some(pairs)) => Ok(Some(PositionScheme::Clipped { pairs })),
            (None, None) => Ok(None),
        }
    }

    /// v5 keeps everything in `rope_parameters`; v4 kept θ beside `rope_scaling`; the oldest configs said `type`. Also what a `rope_type`
    /// "proportional" drops.
    fn rope_parameters(
        &mut self,
        family: &Family,
        head_dim: usize,
    ) -> Result<(RopeParameters, Option<PositionScheme>)> {
        let mut parameters = self.rope_parameters.take().or(self.rope_scaling.take()).unwrap_or_default();
        if let Some(kind) = parameters.remove("type") {
            parameters.entry("rope_type").or_insert(kind);
        }
        let default_theta = family.defaults.rope_theta;
        let theta = parameters.entry("rope_theta").or_insert(json!(self.rope_theta.unwrap_or(default_theta))).as_f64();
        let dropped = proportional::dropped(&mut parameters, theta.unwrap_or(default_theta), head_dim)?;
        let kind = parameters.entry("rope_type").or_insert_with(|| json!("default"));
        let kind = kind.as_str().unwrap_or_default().to_owned();
        if !["default", "linear", "dynamic", "yarn", "llama3", "longrope"].contains(&&*kind) {
            return Err(Error::UnknownRopeType(kind));
        }
        // Interpolated positions are trained, and read at every length, as by transformers and llama.cpp. A model that says how its
        // frequencies were changed was trained with those.
        let is_interpolated = kind == "linear" && self.changed_frequencies()?.is_none();
        let is_trained = self.rope_scaling_trained.unwrap_or(is_interpolated);
        parameters.entry("rope_scaling_trained").or_insert(json!(is_trained));
        if let Some(original) = self.original_max_position_embeddings {
            parameters.insert(ORIGINAL_CONTEXT.into(), json!(original));
            self.other.insert(ORIGINAL_CONTEXT.into(), json!(original));
        }
        let rope = serde_json::from_value(Value::Object(parameters))
            .map_err(|error| Error::Config(format!("rope parameters: {error}")))?;
        Ok((rope, dropped))
    }
}

/// Refuses decoders that are computed in another way than those of the families, by what their configs say.
fn refuse_other_decoders(fields: &Map<String, Value>) -> Result<()> {
    let is_given = |name: &&str| fields.get(*name).is_some_and(|value| !value.is_null() && value != &json!(0));
    let refuse = |name: &str, is: &str| Err(Error::Config(format!("{name} says that {is}, which is not supported")));
    if let Some(name) = ["num_experts", "num_local_experts", "n_routed_experts"].into_iter().find(|name| is_given(name))
    {
        return refuse(name, "the model is a mixture of experts");
    }
    if let Some(name) = ["vision_config", "text_config"].into_iter().find(|name| is_given(name)) {
        return refuse(name, "the model reads more than text");
    }
    let caps = ["attn_logit_softcapping", "final_logit_softcapping"];
    if let Some(name) = caps.into_iter().find(|name| is_given(name)) {
        return refuse(name, "logits are capped softly");
    }
    if fields.get("use_bidirectional_attention") == Some(&Value::Bool(true)) {
        return refuse("use_bidirectional_attention", "tokens see those behind them");
    }
    Ok(())
}
