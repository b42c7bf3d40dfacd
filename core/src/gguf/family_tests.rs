//! Files of every family: those that are written here, and those as llama.cpp's converter lays them out.

use burn::tensor::Device;

use super::builder::GgufBuilder;
use super::tensors::{gguf_name, pairs_from_halves};
use super::tests::small;
use super::{Gguf, write_gguf};
use crate::config::{BlockNorms, Config, Family, LayerType, PositionScheme};
use crate::model::{Model, SafetensorsFiles, StoredType, token_ids};
use crate::positions::Method;

/// A fixture's config and weights.
macro_rules! fixture {
    ($name:literal) => {
        (
            include_str!(concat!("../../../tests/fixtures/", $name, "/config.json")),
            &include_bytes!(concat!("../../../tests/fixtures/", $name, "/model.safetensors"))[..],
        )
    };
}

#[test]
fn every_family_is_written_and_read_again() {
    let letters = small().bytes();
    let tokenizer = Gguf::open(&letters[..]).unwrap().tokenizer().unwrap();
    let device = Device::flex();
    let ids: Vec<u32> = (0..40).map(|index| index * 29 % 48).collect();
    for (json, weights) in [
        fixture!("rope"),
        fixture!("qwen2"),
        fixture!("qwen3"),
        fixture!("olmo2"),
        fixture!("phi3"),
        fixture!("gemma3"),
        fixture!("granite"),
        fixture!("seed_oss"),
    ] {
        let mut config = Config::from_json(json).unwrap();
        if config.architecture.block_norms == BlockNorms::Both {
            // llama.cpp takes it for granted that the first five layers have windows, and takes its factor from the width of a head.
            for layer in &mut config.layer_types {
                *layer = LayerType { window: Some(6), rope_theta: Some(100.0), ..*layer };
            }
            let refused = write_gguf(
                &config,
                &tokenizer,
                None,
                &SafetensorsFiles::from_bytes(weights).unwrap(),
                StoredType::F32,
                &mut Vec::new(),
            );
            assert!(refused.unwrap_err().to_string().contains("another factor of the logits"));
            config.architecture.attention_multiplier = Some(0.25);
        }
        let dropped = Config { positions: PositionScheme::None, ..config.clone() };
        for config in [&config, &dropped] {
            let source = SafetensorsFiles::from_bytes(weights).unwrap();
            let mut bytes = Vec::new();
            let written = write_gguf(config, &tokenizer, None, &source, StoredType::F32, &mut bytes);
            if config.layer_types.iter().any(|layer| layer.rope_theta.is_some())
                && config.positions == PositionScheme::None
            {
                assert!(written.unwrap_err().to_string().contains("dropped positions in layers with windows"));
                continue;
            }
            written.unwrap();
            let file = Gguf::open(&bytes[..]).unwrap();
            let found = file.config().unwrap();
            assert_eq!((found.family, Method::of(&found)), (config.family, Method::of(config)));
            let logits = |config: &Config, source: &dyn Fn(&Config) -> Model| -> Vec<f32> {
                let positions = Method::of(config).positions(config, 1.0).unwrap();
                let ids = token_ids(&ids, [1, ids.len()], &device);
                source(config).forward(ids, &positions, None).into_data().iter().collect()
            };
            let expected = logits(config, &|config| Model::load(config, &source, &device).unwrap().0);
            let again = logits(&found, &|config| Model::load(config, &file, &device).unwrap().0);
            let difference = again.iter().zip(&expected).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
            assert!(difference < 1e-4, "{:?}: {difference}", config.family);
        }
    }
}

#[test]
fn a_family_whose_biases_are_left_out_is_read_without_them() {
    let (json, weights) = fixture!("seed_oss");
    let mut fields: serde_json::Value = serde_json::from_str(json).unwrap();
    fields["attention_bias"] = false.into();
    let config = Config::from_json(&fields.to_string()).unwrap();
    let tensors = safetensors::SafeTensors::deserialize(weights).unwrap();
    let without = tensors.tensors().into_iter().filter(|(name, _)| !name.ends_with(".bias"));
    let weights = safetensors::serialize(without, None).unwrap();
    let tokenizer = Gguf::open(&small().bytes()[..]).unwrap().tokenizer().unwrap();
    let source = SafetensorsFiles::from_bytes(&weights).unwrap();
    let mut bytes = Vec::new();
    write_gguf(&config, &tokenizer, None, &source, StoredType::F32, &mut bytes).unwrap();
    let file = Gguf::open(&bytes[..]).unwrap();
    let found = file.config().unwrap();
    assert!(!found.architecture.qkv_bias);
    Model::load(&found, &file, &Device::flex()).unwrap();
}

/// Files of families that are never written, as llama.cpp's converter lays them out, give the logits of the safetensors.
#[test]
fn fused_projections_and_pairs_of_neighbours_are_read_as_the_converter_writes_them() {
    let device = Device::flex();
    let ids: Vec<u32> = (0..40).map(|index| index * 29 % 48).collect();
    for (architecture, json, weights) in [
        ("phi3", fixture!("phi3").0, fixture!("phi3").1),
        ("smollm3", fixture!("smollm3-yarn").0, fixture!("smollm3-yarn").1),
    ] {
        let config = Config::from_json(json).unwrap();
        let family = Family::of_gguf(architecture).unwrap();
        let key = |name: &str| format!("{architecture}.{name}");
        let mut file = GgufBuilder::default()
            .text("general.architecture", architecture)
            .u32(&key("block_count"), config.num_hidden_layers as u32)
            .u32(&key("context_length"), 16)
            .u32(&key("embedding_length"), 32)
            .u32(&key("feed_forward_length"), 56)
            .u32(&key("attention.head_count"), 4)
            .u32(&key("attention.head_count_kv"), 2)
            .u32(&key("attention.key_length"), 16)
            .f32(&key("attention.layer_norm_rms_epsilon"), 1e-5)
            .f32(&key("rope.freq_base"), 1e4)
            .u32(&key("vocab_size"), 48);
        if architecture == "phi3" {
            // As Phi-4 says that it has no window.
            file = file.u32("phi3.attention.sliding_window", 0);
        }
        let tensors = safetensors::SafeTensors::deserialize(weights).unwrap();
        for (name, view) in tensors.tensors() {
            let mut numbers: Vec<f32> =
                view.data().as_chunks().0.iter().map(|four| f32::from_le_bytes(*four)).collect();
            let rotates = name.ends_with("q_proj.weight") || name.ends_with("k_proj.weight");
            if rotates && family.gguf.rotates_neighbours {
                numbers = pairs_from_halves(&numbers, view.shape()[0], 16);
            }
            file = file.tensor(&gguf_name(family, &name).unwrap(), view.shape(), &numbers);
        }
        let bytes = file.bytes();
        let file = Gguf::open(&bytes[..]).unwrap();
        let found = file.config().unwrap();
        let logits = |config: &Config, model: &Model| -> Vec<f32> {
            let positions = Method::Rope.positions(config, 1.0).unwrap();
            model.forward(token_ids(&ids, [1, ids.len()], &device), &positions, None).into_data().iter().collect()
        };
        let source = SafetensorsFiles::from_bytes(weights).unwrap();
        let expected = logits(&config, &Model::load(&config, &source, &device).unwrap().0);
        let again = logits(&found, &Model::load(&found, &file, &device).unwrap().0);
        let difference = again.iter().zip(&expected).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        assert!(difference < 1e-4, "{architecture}: {difference}");
        assert_eq!(found.layer_types, config.layer_types);
    }
}
