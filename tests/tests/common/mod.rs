//! Fixture models, and comparisons of logits.

use std::path::Path;

use drope_core::config::{Config, LayerType};
use safetensors::SafeTensors;

/// Config of a fixture.
pub fn fixture(name: &str) -> Config {
    let path = Path::new(env!("DROPE_ROOT")).join("tests/fixtures").join(name).join("config.json");
    Config::from_json(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// Checks that another program has our logits, in each of these tensors.
pub fn assert_same_logits(name: &str, reference: &SafeTensors, tensors: &[&str], ours: &[f32]) {
    for of in tensors {
        let theirs = reference.tensor(of).unwrap();
        let theirs: Vec<f32> = theirs.data().as_chunks().0.iter().map(|value| f32::from_le_bytes(*value)).collect();
        assert_eq!(theirs.len(), ours.len());
        let largest = theirs.iter().fold(0.0f32, |most, value| most.max(value.abs()));
        let is_close = ours.iter().zip(&theirs).all(|(a, b)| (a - b).abs() < 1e-4 * largest);
        assert!(is_close, "{name}, {of}");
    }
}

/// The same model without positions in one layer.
pub fn without_layer(mut config: Config, layer: usize) -> Config {
    if config.layer_types.is_empty() {
        config.layer_types = vec![LayerType::COMMON; config.num_hidden_layers];
    }
    config.layer_types[layer].rotates = false;
    config
}
