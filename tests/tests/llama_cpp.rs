//! llama.cpp beside us: what `core convert --extension` writes has our logits and our tokens there, at four times the context of training.
//!
//! Runs where the addon of npm's node-llama-cpp does; elsewhere it says so, and `cargo xtask test` counts it as not run.

use std::fs;
use std::ops::Range;
use std::path::Path;
use std::process::Command;

use drope_core::burn::tensor::{Device, TensorData};
use drope_core::config::{Config, PositionScheme};
use drope_core::export::config_for_length;
use drope_core::generate::{Flow, Options, generate};
use drope_core::gguf::{Gguf, write_gguf};
use drope_core::model::{Model, SafetensorsFiles, ScaledQueries, StoredType, WeightSource, token_ids};
use drope_core::positions::Method;
use drope_core::tokenizer::Tokenizer;
use drope_tests::{llama_cpp, smollm2};
use serde::Deserialize;
use serde_json::json;

const EXTENSION: usize = 4;
const GREEDY: usize = 32;

#[derive(Deserialize)]
struct Answer {
    context: usize,
    logits: Vec<f32>,
    greedy: Vec<u32>,
}

/// Writes a model for longer texts to a file, and says what llama.cpp has to find in it.
fn written(config: &Config, weights: &impl WeightSource, tokenizer: &Tokenizer, file: &Path) -> (Vec<u32>, Answer) {
    let context = EXTENSION * config.max_position_embeddings;
    let ids: Vec<u32> = (0..context as u32).map(|index| (index * 7919 + 13) % config.vocab_size as u32).collect();
    let (longer, factor) = config_for_length(config, EXTENSION).unwrap();
    let mut bytes = Vec::new();
    let scaled = ScaledQueries::new(config, weights, factor);
    write_gguf(&longer, tokenizer, None, &scaled, StoredType::F32, &mut bytes).unwrap();
    fs::write(file, bytes).unwrap();

    let device = Device::flex();
    let (model, _) = Model::load(config, weights, &device).unwrap();
    let positions = Method::of(config).positions(config, EXTENSION as f64).unwrap();
    let mut cache = model.cache(config, &positions, ids.len());
    let last = model.next_logits(token_ids(&ids, [1, ids.len()], &device), &positions, &mut cache);
    let logits = last.into_data().iter().collect();
    let options = Options { max_new_tokens: GREEDY, context: context + GREEDY, ..Options::default() };
    let greedy = generate(&model, config, &positions, &ids, &options, async |_| Flow::Continue);
    let greedy = pollster::block_on(greedy).unwrap();
    (ids, Answer { context, logits, greedy })
}

/// Weights whose norms differ from each other, which random ones do not.
struct Perturbed<S>(S);

impl<S: WeightSource> WeightSource for Perturbed<S> {
    fn rows(&self, name: &str, shape: &[usize], rows: Range<usize>) -> drope_core::Result<TensorData> {
        let data = self.0.rows(name, shape, rows)?;
        if shape.len() > 1 {
            return Ok(data);
        }
        let seed: u32 = name.bytes().map(u32::from).sum();
        let numbers = data.iter::<f32>().zip(seed..).map(|(weight, index)| weight + 0.3 * (index as f32).sin());
        Ok(TensorData::new(numbers.collect::<Vec<_>>(), shape.to_vec()))
    }

    fn names(&self) -> Vec<String> {
        self.0.names()
    }
}

/// A small model of a family with SmolLM2's vocabulary and random weights.
fn random(family: &str, more: &serde_json::Value, vocab_size: usize) -> (Config, Vec<u8>) {
    let mut fields = json!({
        "model_type": family, "vocab_size": vocab_size, "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2,
        "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16, "max_position_embeddings": 64,
        "rms_norm_eps": 1e-5, "rope_theta": 1e4, "tie_word_embeddings": true, "bos_token_id": 1, "eos_token_id": 2,
    });
    fields.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let config = Config::from_json(&fields.to_string()).unwrap();
    let weights = pollster::block_on(Model::random(&config, 7, &Device::flex()).to_safetensors()).unwrap();
    (config, weights)
}

#[test]
fn llama_cpp_reads_what_is_converted_for_longer_texts() {
    let Some(addon) = llama_cpp() else { return };
    let folder = tempfile::tempdir().unwrap();
    let bytes = fs::read(smollm2()).unwrap();
    let smollm2 = Gguf::open(&bytes[..]).unwrap();
    let tokenizer = smollm2.tokenizer().unwrap();
    // As if it were trained on 512 tokens, so that 2,048 are four times its context.
    let base = Config { max_position_embeddings: 512, ..smollm2.config().unwrap() };
    let mut expected = Vec::new();
    let dropped = Config { positions: PositionScheme::None, temperature_coefficient: 0.2, ..base.clone() };
    for (name, config) in [
        ("SmolLM2 without positions", dropped),
        ("SmolLM2, dropped in part", Config { temperature_coefficient: 0.1, ..base.clone().with_cut(Some(0.0123)) }),
    ] {
        let file = folder.path().join(format!("{}.gguf", expected.len()));
        let answer = written(&config, &smollm2, &tokenizer, &file);
        expected.push((name.to_owned(), file, answer));
    }
    let windows = json!({ "num_hidden_layers": 6, "sliding_window": 48, "query_pre_attn_scalar": 16 });
    let factors = json!({
        "embedding_multiplier": 3.0, "attention_multiplier": 0.2, "residual_multiplier": 0.4, "logits_scaling": 2.5,
    });
    for (family, more) in [
        ("qwen2", json!({})),
        ("qwen3", json!({})),
        ("olmo2", json!({ "tie_word_embeddings": false })),
        ("gemma3_text", windows),
        ("granite", factors),
        ("seed_oss", json!({})),
    ] {
        let (config, weights) = random(family, &more, base.vocab_size);
        let weights = Perturbed(SafetensorsFiles::from_bytes(&weights).unwrap());
        let dropped = Config { positions: PositionScheme::None, temperature_coefficient: 0.3, ..config.clone() };
        for (of, config) in [("as it is", config), ("without positions", dropped)] {
            if family == "gemma3_text" && config.positions == PositionScheme::None {
                // Positions of layers with windows cannot be dropped in llama.cpp.
                continue;
            }
            let file = folder.path().join(format!("{}.gguf", expected.len()));
            let answer = written(&config, &weights, &tokenizer, &file);
            expected.push((format!("{family} {of}"), file, answer));
        }
    }
    let request = |(_, file, (ids, _)): &(_, _, (_, _))| json!({ "file": file, "ids": ids, "greedy": GREEDY });
    let requests = folder.path().join("requests.json");
    fs::write(&requests, json!(expected.iter().map(request).collect::<Vec<_>>()).to_string()).unwrap();
    let script = Path::new(env!("DROPE_ROOT")).join("tests/llama_cpp_logits.mjs");
    let output = Command::new("node").arg(script).args([&addon, &requests]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let found: Vec<Answer> = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(found.len(), expected.len());
    for ((name, _, (_, ours)), theirs) in expected.iter().zip(&found) {
        assert_eq!(theirs.context, ours.context, "{name}: llama.cpp would clamp texts there");
        let largest = ours.logits.iter().fold(0.0f32, |most, logit| most.max(logit.abs()));
        let pairs = ours.logits.iter().zip(&theirs.logits);
        let difference =
            pairs.map(|(a, b)| if b.is_finite() { (a - b).abs() } else { f32::INFINITY }).fold(0.0, f32::max);
        println!("{name}: logits differ by {difference:e} of {largest}");
        assert!(
            ours.logits.len() == theirs.logits.len() && difference < 2e-3 * largest,
            "{name}: {difference} of {largest}"
        );
        assert_eq!(theirs.greedy, ours.greedy, "{name}");
    }
}
