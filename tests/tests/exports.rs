//! What `core convert --extension` writes, opened by other programs without a program of ours, at four times the context of training: Hugging
//! Face transformers and Apple's MLX. llama.cpp has a test of its own.
//!
//! Runs where a Python with these packages is: `$DROPE_PYTHON`, or `python3`. Elsewhere it says so, and `cargo xtask test` counts it as
//! not run.

mod common;

use std::path::{Path, PathBuf};
use std::process::Command;

use common::{assert_same_logits, fixture, without_layer};
use drope_core::burn::tensor::Device;
use drope_core::config::{Config, PositionScheme};
use drope_core::export::config_for_length;
use drope_core::generate::{Flow, Options, generate};
use drope_core::model::{Model, SafetensorsFiles, ScaledQueries, StoredType, token_ids, write_safetensors};
use drope_core::positions::Method;
use drope_tests::python;
use safetensors::SafeTensors;

const EXTENSION: usize = 4;
const GREEDY: usize = 32;

/// Models whose positions are dropped, with a temperature where one was fitted, as they were before their export.
fn exported_models() -> Vec<(&'static str, &'static str, Config)> {
    let partial = |name: &str| fixture(name).with_cut(Some(std::f64::consts::TAU / 16.0));
    let dropped_of = |name: &str| Config { positions: PositionScheme::None, ..fixture(name) };
    let dropped = dropped_of("drope");
    vec![
        ("DroPE", "drope", Config { temperature_coefficient: 0.4, softmax_scale: Some(0.3), ..dropped }),
        ("partial DroPE", "p-drope", Config { temperature_coefficient: -0.1, ..partial("p-drope") }),
        ("partial DroPE of Qwen 2", "qwen2", Config { temperature_coefficient: 0.2, ..partial("qwen2") }),
        ("tied, one key head a query head", "rope-mha-tied", partial("rope-mha-tied")),
        ("DroPE of Qwen 2", "qwen2", dropped_of("qwen2")),
        ("DroPE of Qwen 3", "qwen3", Config { temperature_coefficient: 0.3, ..dropped_of("qwen3") }),
        ("partial DroPE of Qwen 3", "qwen3", Config { temperature_coefficient: 0.3, ..partial("qwen3") }),
        ("DroPE of OLMo 2", "olmo2", Config { temperature_coefficient: 0.2, ..dropped_of("olmo2") }),
        ("partial DroPE of OLMo 2", "olmo2", partial("olmo2")),
        ("DroPE of Phi-3", "phi3", Config { temperature_coefficient: 0.2, ..dropped_of("phi3") }),
        ("partial DroPE of Phi-3", "phi3", partial("phi3")),
        ("partial DroPE of Gemma 3", "gemma3", Config { temperature_coefficient: 0.1, ..partial("gemma3") }),
        ("DroPE of Mistral", "mistral", Config { temperature_coefficient: 0.2, ..dropped_of("mistral") }),
        ("DroPE of Granite", "granite", Config { temperature_coefficient: 0.2, ..dropped_of("granite") }),
        ("DroPE of Seed-OSS", "seed_oss", Config { temperature_coefficient: 0.2, ..dropped_of("seed_oss") }),
        ("RoPE without positions in a layer", "rope", without_layer(fixture("rope"), 0)),
    ]
}

/// The shipped models without positions, or with a part of them, that need no SSMax.
const SHIPPED: [&str; 4] = ["nano-nope", "study-drope", "study-drope-copies", "study-p-drope-copies"];

/// Config and weights of every model.
fn models() -> Vec<(&'static str, Config, Vec<u8>)> {
    let read = |folder: PathBuf| std::fs::read(folder.join("model.safetensors")).unwrap();
    let root = Path::new(env!("DROPE_ROOT")).join("tests");
    let fixtures = exported_models().into_iter().map(|(name, weights, config)| {
        let weights = read(root.join("fixtures").join(weights));
        (name, config, weights)
    });
    let shipped = SHIPPED.into_iter().map(|name| {
        let folder = root.join("../models").join(name);
        let config = std::fs::read_to_string(folder.join("config.json")).unwrap();
        (name, Config::from_json(&config).unwrap(), read(folder))
    });
    fixtures.chain(shipped).collect()
}

/// A model that was written, and what others have to compute.
struct Export {
    name: &'static str,
    folder: PathBuf,
    logits: Vec<f32>,
    greedy: Vec<u32>,
}

/// Writes the models, each with a request: ids, and how many tokens are to follow the first half of them.
fn written(out: &Path) -> Vec<Export> {
    let device = Device::flex();
    let write = |(number, (name, config, weights)): (usize, (&'static str, Config, Vec<u8>))| {
        let folder = out.join(format!("model-{number}"));
        std::fs::create_dir(&folder).unwrap();
        let tokens = EXTENSION * config.max_position_embeddings;
        let ids: Vec<u32> = (0..tokens as u32).map(|i| (i * 29 + 7) % config.vocab_size as u32).collect();
        let (written, factor) = config_for_length(&config, EXTENSION).unwrap();
        let source = SafetensorsFiles::from_bytes(&weights).unwrap();
        let mut bytes = Vec::new();
        let scaled = ScaledQueries::new(&config, &source, factor);
        write_safetensors(&written, &scaled, StoredType::F32, &mut bytes).unwrap();
        let json = written.to_plain_json().unwrap_or_else(|| panic!("{name} needs a program"));
        let request = serde_json::json!({ "ids": ids, "greedy": GREEDY }).to_string();
        for (file, bytes) in
            [("request.json", request.as_bytes()), ("config.json", json.as_bytes()), ("model.safetensors", &bytes)]
        {
            std::fs::write(folder.join(file), bytes).unwrap();
        }
        let model = Model::from_safetensors(&config, &weights, &device).unwrap();
        let positions = Method::of(&config).positions(&config, EXTENSION as f64).unwrap();
        let ours = model.forward(token_ids(&ids, [1, ids.len()], &device), &positions, None).into_data();
        let options = Options { max_new_tokens: GREEDY, context: tokens, ..Options::default() };
        let greedy = generate(&model, &config, &positions, &ids[..tokens / 2], &options, async |_| Flow::Continue);
        Export { name, folder, logits: ours.iter().collect(), greedy: pollster::block_on(greedy).unwrap() }
    };
    models().into_iter().enumerate().map(write).collect()
}

/// Lets a script open the models of all families but some, and compares these tensors of what it writes, and the tokens.
fn compare(python: &str, script: &str, but: &[&str], tensors: &[&str]) {
    let out = tempfile::tempdir().unwrap();
    let mut exports = written(out.path());
    exports.retain(|export| !but.iter().any(|family| export.name.contains(family)));
    let script = Path::new(env!("DROPE_ROOT")).join("tests").join(script);
    let folders = exports.iter().map(|export| &export.folder);
    let status = Command::new(python).arg(script).args(folders).env("HF_HOME", out.path().join("home")).status();
    assert!(status.unwrap().success(), "what was written cannot be opened");
    for Export { name, folder, logits, greedy } in exports {
        let bytes = std::fs::read(folder.join("logits.safetensors")).unwrap();
        let reference = SafeTensors::deserialize(&bytes).unwrap();
        assert_same_logits(name, &reference, tensors, &logits);
        let tokens = reference.tensor("greedy").unwrap();
        let tokens: Vec<u32> = tokens.data().as_chunks().0.iter().map(|id| i64::from_le_bytes(*id) as u32).collect();
        assert_eq!(tokens, greedy, "{name}");
    }
}

#[test]
fn transformers_reads_what_is_converted_for_longer_texts() {
    let Some(python) = python("torch, transformers, safetensors") else { return };
    compare(&python, "modeling_reference.py", &[], &["logits", "cached"]);
}

#[test]
fn mlx_reads_what_is_converted_for_longer_texts() {
    let Some(python) = python("mlx.core, mlx_lm, safetensors") else { return };
    // mlx-lm takes the width of heads of Qwen 2 and Granite from that of the model, and the windows of Gemma 3 from the number of a
    // layer; the fixtures have others. It leaves out the windows of Mistral.
    compare(&python, "mlx_reference.py", &["Qwen 2", "Granite", "Gemma 3", "Mistral"], &["logits"]);
}
