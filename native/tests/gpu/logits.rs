//! What models compute: their logits and the tokens that they write.

use std::time::Instant;

use burn::tensor::Device;
use drope_core::Error;
use drope_core::config::Config;
use drope_core::model::{Model, NumberType, NumberTypes, SafetensorsFiles, WeightType, token_ids};
use drope_core::positions::Method;
use pollster::block_on;

use crate::device::OpenDevice;
use crate::parity::{CASES, case, largest_difference};
use crate::{TOLERANCE, common, gpu};

/// Largest difference of logits where keys and values are rounded to 16 bits.
const ROUNDED_TOLERANCE: f32 = 3e-3;

#[test]
fn logits_equal_those_of_transformers() {
    let Some(OpenDevice { device, .. }) = gpu("logits against transformers") else { return };
    let mut largest = 0f32;
    for case in CASES.iter() {
        let difference = block_on(case.difference(&device));
        println!("{}: largest difference of logits {difference:.1e}", case.name);
        assert!(difference < TOLERANCE, "{}: {difference}", case.name);
        largest = largest.max(difference);
    }
    println!("{} checkpoints: largest difference of logits {largest:.1e}", CASES.len());
}

#[test]
fn reading_through_the_cache_changes_nothing() {
    let Some(OpenDevice { device, .. }) = gpu("logits through the cache") else { return };
    for name in ["rope", "yarn", "drope", "dynamic-ntk", "rnope-swa", "alibi", "qwen2"] {
        let difference = block_on(case(name).cache_difference(&device, 36));
        println!("{name}: largest difference through the cache {difference:.1e}");
        assert!(difference < TOLERANCE, "{name}: {difference}");
    }
}

#[test]
fn long_texts_have_the_logits_of_the_cpu() {
    let Some(chosen) = gpu("logits of long texts") else { return };
    compare_long_texts(&chosen.device, NumberType::F32, TOLERANCE);
    // Both devices round keys and values; those in the middle between two numbers may be rounded to different ones.
    for cache in [NumberType::F16, NumberType::Bf16] {
        match chosen.checked(NumberTypes { cache, ..NumberTypes::default() }) {
            Ok(types) => {
                compare_long_texts(&chosen.device, cache, ROUNDED_TOLERANCE);
                // Its keys are rotated when they are read.
                let difference = block_on(case("dynamic-ntk").packed_difference(types, &chosen.device));
                assert!(difference < ROUNDED_TOLERANCE, "dynamic-ntk, {} cache: {difference}", cache.name());
            }
            Err(error) => println!("NOT RUN: {error}"),
        }
    }
    assert!(chosen.checked(NumberTypes { cache: NumberType::Q8, ..NumberTypes::default() }).is_err());
}

/// Prompts in tiles, then few tokens with a cache of several spans: heads in groups of 1, 3, 7 and 4, with up to 128 numbers; a window;
/// ALiBi. Keys and values are kept as `cache`.
pub fn compare_long_texts(device: &Device, cache: NumberType, tolerance: f32) {
    let shapes = [
        ("nano-rope", [2, 2, 128]),
        ("nano-rope", [6, 2, 20]),
        ("nano-drope", [7, 1, 64]),
        ("nano-rnope-swa", [4, 1, 32]),
        ("nano-alibi", [8, 2, 32]),
    ];
    let ids: Vec<u32> = (0..720).map(|place| place * place % 61).collect();
    for (model, shape) in shapes {
        let json = std::fs::read_to_string(common::fixtures().join("../../models").join(model).join("config.json"));
        let mut config = Config::from_json(&json.unwrap()).unwrap();
        [config.num_attention_heads, config.num_key_value_heads, config.head_dim] = shape;
        (config.hidden_size, config.dope_heads) = (48, None);
        config.check().unwrap();
        let positions = Method::of(&config).positions(&config, 1.0).unwrap();
        let weights = block_on(Model::random(&config, 5, &Device::flex()).to_safetensors()).unwrap();
        let logits = |device: &Device| {
            let types = NumberTypes { cache, ..NumberTypes::default() };
            let weights = SafetensorsFiles::from_bytes(&weights).unwrap();
            let (model, _) = Model::load_as(&config, &weights, types, device).unwrap();
            let mut cache = model.cache(&config, &positions, ids.len());
            let mut parts = Vec::new();
            let mut rest = ids.as_slice();
            for count in [300, 100, 300, 5, 8, 6, 1] {
                let (part, others) = rest.split_at(count);
                rest = others;
                let ids = token_ids(part, [1, count], device);
                let logits = model.forward(ids, &positions, Some(&mut cache));
                parts.extend(block_on(logits.into_data_async()).unwrap().iter::<f32>());
            }
            parts
        };
        let difference = largest_difference(&logits(device), &logits(&Device::flex()));
        println!("{model}, {shape:?}, {} cache: largest difference of logits {difference:.1e}", cache.name());
        assert!(difference < tolerance, "{model}, {shape:?}, {} cache: {difference}", cache.name());
    }
}

#[test]
fn weights_in_fewer_bits_give_the_logits_of_the_cpu() {
    let Some(chosen) = gpu("weights in fewer bits") else { return };
    for name in ["rope", "drope", "qwen2", "dynamic-ntk"] {
        for kind in [WeightType::F16, WeightType::Bf16, WeightType::Q8, WeightType::Stored] {
            // The CPU multiplies weights of 8 bits with numbers that it rounds to 16.
            let tolerance = if kind == WeightType::Q8 { 5e-3 } else { TOLERANCE };
            let types = chosen.checked(NumberTypes { weights: kind, ..NumberTypes::default() }).unwrap();
            let difference = block_on(case(name).packed_difference(types, &chosen.device));
            println!("{name} in {}: largest difference of logits {difference:.1e}", kind.name());
            assert!(difference < tolerance, "{name} in {}: {difference}", kind.name());
        }
    }
}

/// As in a GGUF, where matrices that a kernel reads together may have different types.
#[test]
fn weights_of_several_types_give_the_logits_of_the_cpu() {
    let Some(chosen) = gpu("weights of several types") else { return };
    let stored = NumberTypes { weights: WeightType::Stored, ..NumberTypes::default() };
    let types = chosen.checked(stored).unwrap();
    for narrow in [["v_proj"], ["up_proj"]] {
        let weights = case("rope").mixed_weights(&narrow);
        let difference = block_on(case("rope").packed_difference_of(&weights, types, &chosen.device));
        println!("{narrow:?} in bf16: largest difference of logits {difference:.1e}");
        assert!(difference < TOLERANCE, "{narrow:?} in bf16: {difference}");
    }
}

#[test]
fn greedy_tokens_are_those_of_the_cpu() {
    const TOKENS: usize = 32;
    let Some(OpenDevice { device, .. }) = gpu("greedy generation") else { return };
    for name in ["rope", "drope"] {
        let start = Instant::now();
        let found = block_on(case(name).greedy(&device, TOKENS));
        let speed = TOKENS as f64 / start.elapsed().as_secs_f64();
        println!("{name}: {TOKENS} tokens at {speed:.0} tokens/s (of a card only if this is one)");
        assert_eq!(found, block_on(case(name).greedy(&Device::flex(), TOKENS)), "{name}");
    }
    let absurd = block_on(case("rope").absurd(&device));
    assert!(matches!(absurd, Err(Error::ComputedNotFinite("logits"))), "{absurd:?}");
}
