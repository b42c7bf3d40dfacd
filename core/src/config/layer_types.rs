//! What sets the layers of a model apart: SmolLM3's layers without rotary positions, and Qwen 2's with a window.

use serde_json::{Map, Value, json};

use crate::error::{Error, Result};

/// Larger than any model, small enough that no product of two sizes overflows.
pub(super) const MAX_SIZE: u64 = 0x4000_0000;

pub(super) const NO_ROPE_LAYERS: &str = "no_rope_layers";
const NO_ROPE_INTERVAL: &str = "no_rope_layer_interval";
const LAYER_TYPES: &str = "layer_types";
const WINDOW: &str = "sliding_window";
const MAX_WINDOW_LAYERS: &str = "max_window_layers";
const FULL: &str = "full_attention";
const SLIDING: &str = "sliding_attention";

/// What transformers' SmolLM3 has where its config does not say: every fourth layer has no positions.
const SMOLLM3_INTERVAL: usize = 4;
/// What transformers' Qwen 2 has where its config does not say.
const QWEN_WINDOW: u64 = 4096;
const QWEN_FULL_LAYERS: u64 = 28;

/// How one layer differs from the others of its model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LayerType {
    /// Whether its queries and keys are rotated.
    pub rotates: bool,
    /// Keys that a query attends to, itself included; `None`: all before it.
    pub window: Option<usize>,
}

impl LayerType {
    const COMMON: Self = Self { rotates: true, window: None };
}

/// Removes `no_rope_layers` from the fields of a config: it has 1 for each layer that rotates, 0 for one that does not.
/// The result is empty if all layers rotate.
///
/// # Errors
/// If it is not one number, 0 or 1, for each layer.
pub(super) fn without_rotation(
    fields: &mut Map<String, Value>,
    layers: usize,
    is_smollm3: bool,
) -> Result<Vec<LayerType>> {
    let interval = fields.get(NO_ROPE_INTERVAL).and_then(Value::as_u64);
    let rotates: Option<Vec<bool>> = match fields.remove(NO_ROPE_LAYERS).filter(|given| !given.is_null()) {
        Some(Value::Array(given)) => {
            let numbers = given.iter().map(|one| one.as_u64().filter(|&one| one <= 1).map(|one| one == 1));
            let rotates = numbers.collect::<Option<Vec<bool>>>().filter(|rotates| rotates.len() == layers);
            let fail = || Error::Config(format!("{NO_ROPE_LAYERS} needs 0 or 1 for each of the {layers} layers"));
            Some(rotates.ok_or_else(fail)?)
        }
        Some(_) => return Err(Error::Config(format!("{NO_ROPE_LAYERS} is not a list"))),
        None if is_smollm3 => {
            let interval = interval.map_or(SMOLLM3_INTERVAL, |interval| interval as usize).max(1);
            Some((1..=layers).map(|layer| !layer.is_multiple_of(interval)).collect())
        }
        None => None,
    };
    let types = rotates.unwrap_or_default().into_iter().map(|rotates| LayerType { rotates, ..LayerType::COMMON });
    Ok(if_any(types.collect()))
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
    let window = window.unwrap_or(json!(QWEN_WINDOW));
    let Some(window) = window.as_u64().filter(|window| (1..=MAX_SIZE).contains(window)) else {
        return Err(Error::Config(format!("{WINDOW} is {window}, which is not a number of tokens")));
    };
    let first = fields.remove(MAX_WINDOW_LAYERS).filter(|first| !first.is_null()).unwrap_or(json!(QWEN_FULL_LAYERS));
    let Some(first) = first.as_u64() else {
        return Err(Error::Config(format!("{MAX_WINDOW_LAYERS} is {first}, which is not a number of layers")));
    };
    let has_window: Vec<bool> = match fields.remove(LAYER_TYPES).filter(|types| !types.is_null()) {
        None => (0..layers as u64).map(|layer| layer >= first).collect(),
        Some(types) => {
            let names: Vec<&str> = types.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
            if names.len() != layers || names.iter().any(|name| ![FULL, SLIDING].contains(name)) {
                let message = format!("{LAYER_TYPES} needs {FULL} or {SLIDING} for each of the {layers} layers");
                return Err(Error::Config(message));
            }
            names.iter().map(|&name| name == SLIDING).collect()
        }
    };
    let window = |has_window: bool| has_window.then_some(window as usize);
    Ok(if_any(has_window.into_iter().map(|has| LayerType { window: window(has), ..LayerType::COMMON }).collect()))
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

/// The fields of `config.json` that describe these layers.
pub(super) fn fields(types: &[LayerType]) -> Map<String, Value> {
    let mut fields = Map::new();
    if types.iter().any(|layer| !layer.rotates) {
        fields.insert(NO_ROPE_LAYERS.into(), types.iter().map(|layer| u64::from(layer.rotates)).collect());
    }
    if let Some(window) = types.iter().find_map(|layer| layer.window) {
        let name = |layer: &LayerType| if layer.window.is_some() { SLIDING } else { FULL };
        let full = types.iter().take_while(|layer| layer.window.is_none()).count();
        fields.insert(WINDOW.into(), json!(window));
        fields.insert(MAX_WINDOW_LAYERS.into(), json!(full));
        fields.insert(LAYER_TYPES.into(), types.iter().map(name).collect());
    }
    fields
}
