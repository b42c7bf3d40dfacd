//! What sets the layers of a model apart: layers without rotary positions, layers with a window, and layers with frequencies of their
//! own.

use serde_json::{Map, Value, json};

use crate::error::{Error, Result};

/// Larger than any model, small enough that no product of two sizes overflows.
pub(super) const MAX_SIZE: u64 = 0x4000_0000;

pub(super) const NO_ROPE_LAYERS: &str = "no_rope_layers";
const NO_ROPE_INTERVAL: &str = "no_rope_layer_interval";
pub(super) const LAYER_TYPES: &str = "layer_types";
const WINDOW: &str = "sliding_window";
const WINDOW_PATTERN: &str = "sliding_window_pattern";
pub(super) const MAX_WINDOW_LAYERS: &str = "max_window_layers";
pub(super) const FULL: &str = "full_attention";
const SLIDING: &str = "sliding_attention";

/// What transformers' SmolLM3 has where its config does not say: every fourth layer has no positions.
const SMOLLM3_INTERVAL: usize = 4;
/// What transformers' Qwen 2 and Gemma 3 have where their configs do not say.
const USUAL_WINDOW: u64 = 4096;
const QWEN_FULL_LAYERS: u64 = 28;
/// What transformers' Gemma 3 has where its config does not say: every sixth layer sees everything.
const GEMMA_PATTERN: u64 = 6;

/// How one layer differs from the others of its model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LayerType {
    /// Whether its queries and keys are rotated.
    pub rotates: bool,
    /// Keys that a query attends to, itself included; `None`: all before it.
    pub window: Option<usize>,
    /// Base of frequencies of its own, which no method scales or drops in part: with a window no angle is new in a longer text.
    /// `None`: those of the model.
    pub rope_theta: Option<f64>,
}

impl LayerType {
    /// Most layers.
    pub const COMMON: Self = Self { rotates: true, window: None, rope_theta: None };
}

/// Whether each layer rotates, where the fields of a config say so by `no_rope_layers`, which is removed: 1 for each layer that
/// rotates, 0 for one that does not.
///
/// # Errors
/// If it is not one number, 0 or 1, for each layer.
fn rotating(fields: &mut Map<String, Value>, layers: usize) -> Result<Option<Vec<bool>>> {
    match fields.remove(NO_ROPE_LAYERS).filter(|given| !given.is_null()) {
        Some(Value::Array(given)) => {
            let numbers = given.iter().map(|one| one.as_u64().filter(|&one| one <= 1).map(|one| one == 1));
            let rotates = numbers.collect::<Option<Vec<bool>>>().filter(|rotates| rotates.len() == layers);
            let fail = || Error::Config(format!("{NO_ROPE_LAYERS} needs 0 or 1 for each of the {layers} layers"));
            rotates.map(Some).ok_or_else(fail)
        }
        Some(_) => Err(Error::Config(format!("{NO_ROPE_LAYERS} is not a list"))),
        None => Ok(None),
    }
}

/// The layers of a SmolLM3.
///
/// # Errors
/// If a field is not of its kind.
pub(super) fn of_smollm3(fields: &mut Map<String, Value>, layers: usize) -> Result<Vec<LayerType>> {
    let interval = fields.get(NO_ROPE_INTERVAL).and_then(Value::as_u64);
    let interval = interval.map_or(SMOLLM3_INTERVAL, |interval| interval as usize).max(1);
    let usual = || (1..=layers).map(|layer| !layer.is_multiple_of(interval)).collect();
    let rotates = rotating(fields, layers)?.unwrap_or_else(usual);
    Ok(if_any(rotates.into_iter().map(|rotates| LayerType { rotates, ..LayerType::COMMON }).collect()))
}

/// Takes the positions of the layers away that `no_rope_layers` names.
///
/// # Errors
/// If the field is not of its kind.
pub(super) fn without_rotation(
    types: Vec<LayerType>,
    fields: &mut Map<String, Value>,
    layers: usize,
) -> Result<Vec<LayerType>> {
    let Some(rotates) = rotating(fields, layers)? else { return Ok(types) };
    let types = if types.is_empty() { vec![LayerType::COMMON; layers] } else { types };
    Ok(if_any(types.into_iter().zip(rotates).map(|(layer, rotates)| LayerType { rotates, ..layer }).collect()))
}

/// All layers with the same window, if there is one: Mistral.
///
/// # Errors
/// If it is not a number of tokens.
pub(super) fn all_with_window(layers: usize, window: Option<Value>) -> Result<Vec<LayerType>> {
    let Some(window) = window.filter(|window| !window.is_null()) else { return Ok(Vec::new()) };
    Ok(vec![LayerType { window: Some(tokens(&window)?), ..LayerType::COMMON }; layers])
}

fn tokens(window: &Value) -> Result<usize> {
    match window.as_u64() {
        Some(tokens @ 1..=MAX_SIZE) => Ok(tokens as usize),
        _ => Err(Error::Config(format!("{WINDOW} is {window}, which is not a number of tokens"))),
    }
}

/// Whether each layer has a window, where the fields of a config say so by `layer_types`, which is removed.
///
/// # Errors
/// If there is not a known name for each layer.
fn named(fields: &mut Map<String, Value>, layers: usize) -> Result<Option<Vec<bool>>> {
    let Some(types) = fields.remove(LAYER_TYPES).filter(|types| !types.is_null()) else { return Ok(None) };
    let names: Vec<&str> = types.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    if names.len() != layers || names.iter().any(|name| ![FULL, SLIDING].contains(name)) {
        let message = format!("{LAYER_TYPES} needs {FULL} or {SLIDING} for each of the {layers} layers");
        return Err(Error::Config(message));
    }
    Ok(Some(names.iter().map(|&name| name == SLIDING).collect()))
}

fn windowed(has_window: Vec<bool>, window: usize) -> Vec<LayerType> {
    let window = |has_window: bool| has_window.then_some(window);
    if_any(has_window.into_iter().map(|has| LayerType { window: window(has), ..LayerType::COMMON }).collect())
}

/// Takes Qwen 2's windows out of the fields of a config, whose `use_sliding_window` is true. `layer_types` names the layers that
/// have one; in older configs these are the layers from `max_window_layers` on.
///
/// # Errors
/// If a field is not of its kind.
pub(super) fn with_windows(
    fields: &mut Map<String, Value>,
    layers: usize,
    window: Option<Value>,
) -> Result<Vec<LayerType>> {
    let window = tokens(&window.unwrap_or(json!(USUAL_WINDOW)))?;
    let first = fields.remove(MAX_WINDOW_LAYERS).filter(|first| !first.is_null()).unwrap_or(json!(QWEN_FULL_LAYERS));
    let Some(first) = first.as_u64() else {
        return Err(Error::Config(format!("{MAX_WINDOW_LAYERS} is {first}, which is not a number of layers")));
    };
    let has_window = named(fields, layers)?.unwrap_or_else(|| (0..layers as u64).map(|layer| layer >= first).collect());
    Ok(windowed(has_window, window))
}

/// Takes Gemma 3's windows out of the fields of a config: `layer_types` names the layers that have one; in older configs these are all but
/// every `sliding_window_pattern`th.
///
/// # Errors
/// If a field is not of its kind.
pub(super) fn of_gemma3(
    fields: &mut Map<String, Value>,
    layers: usize,
    window: Option<Value>,
) -> Result<Vec<LayerType>> {
    let window = tokens(&window.unwrap_or(json!(USUAL_WINDOW)))?;
    let pattern = fields.remove(WINDOW_PATTERN).and_then(|pattern| pattern.as_u64()).unwrap_or(GEMMA_PATTERN).max(1);
    let usual = || (1..=layers as u64).map(|layer| !layer.is_multiple_of(pattern)).collect();
    let has_window = named(fields, layers)?.unwrap_or_else(usual);
    Ok(windowed(has_window, window))
}

/// Fields of a SmolLM3 whose layers all have no positions and no window.
pub(super) fn without_positions(layers: usize) -> Map<String, Value> {
    let mut fields = Map::new();
    fields.insert(NO_ROPE_LAYERS.into(), json!(vec![0; layers]));
    fields.insert(LAYER_TYPES.into(), json!(vec![FULL; layers]));
    fields
}

/// Whether no layer has positions; the fields of a config then lose what says so.
pub(super) fn drop_all(types: &[LayerType], fields: &mut Map<String, Value>) -> bool {
    let drops_all = !types.is_empty() && types.iter().all(|layer| !layer.rotates && layer.window.is_none());
    if drops_all {
        fields.remove(LAYER_TYPES);
    }
    drops_all
}

/// The list, or an empty one if no layer differs from the common type.
fn if_any(types: Vec<LayerType>) -> Vec<LayerType> {
    if types.iter().all(|&layer| layer == LayerType::COMMON) { Vec::new() } else { types }
}

/// The layers of a model without positions, of which none is set apart by having none.
pub(super) fn without_difference_in_rotation(types: &[LayerType]) -> Vec<LayerType> {
    if_any(types.iter().map(|&layer| LayerType { rotates: true, ..layer }).collect())
}

/// The field of `config.json` that names the layers without positions, if there are some.
pub(super) fn rotation_fields(types: &[LayerType]) -> Map<String, Value> {
    let mut fields = Map::new();
    if types.iter().any(|layer| !layer.rotates) {
        fields.insert(NO_ROPE_LAYERS.into(), types.iter().map(|layer| u64::from(layer.rotates)).collect());
    }
    fields
}

/// The fields of `config.json` that describe the windows of these layers, if there are some.
pub(super) fn window_fields(types: &[LayerType]) -> Map<String, Value> {
    let mut fields = Map::new();
    if let Some(window) = types.iter().find_map(|layer| layer.window) {
        let name = |layer: &LayerType| if layer.window.is_some() { SLIDING } else { FULL };
        fields.insert(WINDOW.into(), json!(window));
        fields.insert(LAYER_TYPES.into(), types.iter().map(name).collect());
    }
    fields
}
