//! Hugging Face transformers beside us: nano-rope opens there as a plain Llama and computes our logits, and SmolLM2 as a GGUF has
//! the same ids and logits in both.
//!
//! Runs where a Python with torch and transformers is: `$DROPE_PYTHON`, or `python3`. Elsewhere it says so,
//! and `cargo xtask test` counts it as not run.

mod common;

use std::path::Path;
use std::process::Command;

use burn::tensor::{Device, Int, Tensor, TensorData};
use common::{assert_same_logits, fixture, without_layer};
use drope_core::config::{Config, HeadScales, MODELING_FILE, PositionScheme};
use drope_core::gguf::Gguf;
use drope_core::model::{Model, SafetensorsFiles, StoredType, token_ids, write_safetensors};
use drope_core::positions::Method;
use drope_tests::{python, smollm2};
use safetensors::SafeTensors;

const SCRIPT: &str = r#"
import sys, torch
from safetensors.torch import save_file
from transformers import LlamaForCausalLM
model = LlamaForCausalLM.from_pretrained(sys.argv[1], dtype=torch.float32).eval()
ids = torch.tensor([[int(i) for i in sys.argv[3].split(",")]])
with torch.no_grad():
    save_file({"logits": model(ids).logits[0].contiguous()}, sys.argv[2])
"#;

#[test]
fn transformers_computes_our_logits_for_nano_rope() {
    let Some(python) = python("torch, transformers, safetensors") else { return };
    let folder = Path::new(env!("DROPE_ROOT")).join("models/nano-rope");
    let config = Config::from_json(&std::fs::read_to_string(folder.join("config.json")).unwrap()).unwrap();
    let ids: Vec<u32> = (0..200).map(|i| (i * 37 + 11) % config.vocab_size as u32).collect();
    let out = tempfile::tempdir().unwrap();
    let file = out.path().join("logits.safetensors");
    let list = ids.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
    let status = Command::new(&python).args(["-c", SCRIPT]).arg(&folder).arg(&file).arg(list).status().unwrap();
    assert!(status.success(), "transformers cannot open nano-rope");
    let bytes = std::fs::read(&file).unwrap();
    let logits = SafeTensors::deserialize(&bytes).unwrap();
    let theirs: Vec<f32> =
        logits.tensor("logits").unwrap().data().as_chunks().0.iter().map(|v| f32::from_le_bytes(*v)).collect();

    let weights = std::fs::read(folder.join("model.safetensors")).unwrap();
    let device = Device::flex();
    let model = Model::from_safetensors(&config, &weights, &device).unwrap();
    let positions = Method::Rope.positions(&config, 1.0).unwrap();
    let values: Vec<i32> = ids.iter().map(|&id| id as i32).collect();
    let input = Tensor::<2, Int>::from_data(TensorData::new(values, [1, ids.len()]), &device);
    let ours = model.forward(input, &positions, None).into_data();
    let ours: Vec<f32> = ours.iter::<f32>().collect();
    assert_eq!(ours.len(), theirs.len());
    // Not "no difference is large": NaN must not pass.
    let is_close = ours.iter().zip(&theirs).all(|(a, b)| (a - b).abs() < 1e-3);
    let largest = ours.iter().zip(&theirs).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    assert!(is_close, "logits differ by {largest}");
}

/// The fixture models, with what transformers' own classes do not know.
fn own_models() -> Vec<(&'static str, &'static str, f64, Config)> {
    let nope = |name: &str| Config { positions: PositionScheme::None, ..fixture(name) };
    let scales = vec![vec![0.7, 1.0, 1.4, 1.1], vec![1.3, 0.9, 1.0, 0.8]];
    let cut = |name: &str| fixture(name).with_cut(Some(std::f64::consts::TAU / 16.0));
    let partial = cut("p-drope");
    vec![
        ("DroPE", "drope", 1.0, nope("drope")),
        ("norm of queries", "drope-q-norm", 1.0, fixture("drope-q-norm")),
        ("norms with positions", "rope-qk-norm", 1.0, fixture("rope-qk-norm")),
        ("partial DroPE", "p-drope", 4.0, partial),
        ("CoPE", "cope", 4.0, fixture("cope")),
        ("Qwen 2", "qwen2-drope", 1.0, fixture("qwen2-drope")),
        ("temperature", "drope", 4.0, Config { temperature_coefficient: 0.4, ..nope("drope") }),
        ("SSMax", "drope", 4.0, Config { scalable_softmax: true, ..nope("drope") }),
        ("SSMax with positions", "rope", 1.0, Config { scalable_softmax: true, ..fixture("rope") }),
        (
            "head scales",
            "drope",
            8.0,
            Config { head_scales: Some(HeadScales { factor: 4.0, scales }), ..nope("drope") },
        ),
        ("softmax scale", "drope", 1.0, Config { softmax_scale: Some(0.5), ..nope("drope") }),
        ("ALiBi", "alibi", 1.0, Config { positions: PositionScheme::Alibi, ..fixture("alibi") }),
        (
            "RNoPE-SWA",
            "rnope-swa",
            1.0,
            Config { positions: PositionScheme::RnopeSwa { window: 4 }, ..fixture("rnope-swa") },
        ),
        ("windows of Qwen 2", "qwen2-windows", 1.0, Config { scalable_softmax: true, ..fixture("qwen2-windows") }),
        ("layers of SmolLM3", "smollm3", 1.0, Config { softmax_scale: Some(0.3), ..fixture("smollm3") }),
        ("Mistral without positions in a layer", "mistral", 1.0, without_layer(fixture("mistral"), 0)),
        ("Qwen 3 with a temperature", "qwen3", 4.0, Config { temperature_coefficient: 0.4, ..nope("qwen3") }),
        ("OLMo 2 with a temperature", "olmo2", 4.0, Config { temperature_coefficient: -0.2, ..cut("olmo2") }),
        ("Gemma 3 without positions", "gemma3", 1.0, nope("gemma3")),
        ("Gemma 3 with its own factor", "gemma3", 1.0, Config { softmax_scale: Some(0.4), ..cut("gemma3") }),
        ("Gemma 3 without positions in a layer", "gemma3", 1.0, without_layer(fixture("gemma3"), 2)),
        (
            "Granite with CoPE",
            "granite",
            1.0,
            Config { positions: PositionScheme::Clipped { pairs: 3 }, ..fixture("granite") },
        ),
        ("three quarters of a head", "phi3-partial", 1.0, fixture("phi3-partial")),
        ("three quarters of a head, dropped in part", "phi3-partial", 1.0, cut("phi3-partial")),
    ]
}

#[test]
fn transformers_computes_our_logits_by_the_program_that_we_write() {
    let Some(python) = python("torch, transformers, safetensors") else { return };
    let out = tempfile::tempdir().unwrap();
    let device = Device::flex();
    let mut expected = Vec::new();
    for (number, (name, weights, factor, config)) in own_models().into_iter().enumerate() {
        let folder = out.path().join(format!("model-{number}"));
        std::fs::create_dir(&folder).unwrap();
        let ids: Vec<u32> = (0..40).map(|i| (i * 29 + 7) % config.vocab_size as u32).collect();
        let request = serde_json::json!({ "ids": ids, "extension_factor": factor }).to_string();
        let modeling = config.modeling().unwrap_or_else(|| panic!("{name} needs no program"));
        let weights = Path::new(env!("DROPE_ROOT")).join("tests/fixtures").join(weights).join("model.safetensors");
        let weights = std::fs::read(weights).unwrap();
        // As a model is written: a projection a tensor.
        let weights = {
            let (source, mut written) = (SafetensorsFiles::from_bytes(&weights).unwrap(), Vec::new());
            write_safetensors(&config, &source, StoredType::F32, &mut written).unwrap();
            written
        };
        for (file, bytes) in [
            ("request.json", request.as_bytes()),
            ("config.json", config.to_json().as_bytes()),
            (MODELING_FILE, modeling.as_bytes()),
            ("model.safetensors", &weights),
        ] {
            std::fs::write(folder.join(file), bytes).unwrap();
        }
        let model = Model::from_safetensors(&config, &weights, &device).unwrap();
        let positions = Method::of(&config).positions(&config, factor).unwrap();
        let ours = model.forward(token_ids(&ids, [1, ids.len()], &device), &positions, None).into_data();
        expected.push((name, folder, ours.iter::<f32>().collect::<Vec<_>>()));
    }
    let script = Path::new(env!("DROPE_ROOT")).join("tests/modeling_reference.py");
    let folders = expected.iter().map(|(_, folder, _)| folder);
    let home = out.path().join("home");
    let status = Command::new(&python).arg(script).args(folders).env("HF_HOME", home).status().unwrap();
    assert!(status.success(), "transformers cannot open what was written");
    for (name, folder, ours) in expected {
        let bytes = std::fs::read(folder.join("logits.safetensors")).unwrap();
        let reference = SafeTensors::deserialize(&bytes).unwrap();
        assert_same_logits(name, &reference, &["logits", "cached"], &ours);
    }
}

/// Two thousand lines of what tokenizers get wrong: code, digits, accents, dashes, other scripts, spaces.
fn mixed_lines() -> Vec<String> {
    let pieces = [
        "fn main() { let x = vec![1, 2, 3]; }",
        "if (a != b) {\treturn -1; }",
        "3.14159",
        "12,345,678",
        "2024-11-22",
        "naïve café",
        "Zürich",
        "smörgåsbord",
        "—",
        "–",
        "…",
        "“quoted”",
        "don't",
        "WE'LL",
        "日本語",
        "привет",
        "مرحبا",
        "🙂🚀",
        "  two",
        "a\u{a0}b",
        "http://example.com/a?b=c&d=1",
        "x_y-z",
        "<|im_start|>",
        "<html>",
        "\t",
        "C++",
        "#include <stdio.h>",
        "0x1F",
        "1e-5",
        "ﬁne",
        "e\u{301}",
        "ĳ",
        "½",
        "I'm",
        "the",
        "quick",
        "brown",
        "fox",
    ];
    let mut state = 1u64;
    let mut next = |most: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % most
    };
    let line =
        |_| (0..1 + next(9)).map(|_| pieces[next(pieces.len())]).collect::<Vec<_>>().join([" ", "", "  "][next(3)]);
    (0..2000).map(line).collect()
}

#[test]
fn smollm2_has_the_ids_and_logits_of_transformers() {
    let Some(python) = python("torch, transformers, safetensors, gguf, accelerate") else { return };
    let path = smollm2();
    let lines = mixed_lines();
    let out = tempfile::tempdir().unwrap();
    let list = out.path().join("lines.txt");
    std::fs::write(&list, lines.join("\n")).unwrap();
    let script = Path::new(env!("DROPE_ROOT")).join("tests/smollm2_reference.py");
    let status = Command::new(&python).arg(script).args([&path, &list, out.path()]).status().unwrap();
    assert!(status.success(), "transformers cannot open SmolLM2's GGUF");

    let bytes = std::fs::read(&path).unwrap();
    let file = Gguf::open(&bytes[..]).unwrap();
    let tokenizer = file.tokenizer().unwrap();
    let theirs: Vec<Vec<u32>> = serde_json::from_slice(&std::fs::read(out.path().join("ids.json")).unwrap()).unwrap();
    assert_eq!(theirs.len(), lines.len());
    for (line, theirs) in lines.iter().zip(&theirs) {
        let ours = tokenizer.prompt(line).unwrap();
        assert_eq!(ours, *theirs, "{line:?}");
        assert_eq!(tokenizer.decode(&ours).unwrap(), line.replace("<|im_start|>", ""), "{line:?}");
    }

    let config = file.config().unwrap();
    let device = Device::flex();
    let (model, unused) = Model::load(&config, &file, &device).unwrap();
    assert!(unused.is_empty());
    let bytes = std::fs::read(out.path().join("logits.safetensors")).unwrap();
    let reference = SafeTensors::deserialize(&bytes).unwrap();
    let ids = reference.tensor("ids").unwrap().data().chunks_exact(8);
    let ids: Vec<u32> = ids.map(|id| i64::from_le_bytes(id.try_into().unwrap()) as u32).collect();
    assert_eq!(ids.len(), 64);
    for (name, factor) in [("rope", 1.0), ("pi", 2.0), ("yarn", 2.0), ("llama3", 2.0), ("ntk", 2.0), ("drope", 1.0)] {
        let method: Method = name.parse().unwrap();
        let positions = method.positions(&config, factor).unwrap();
        let ours = model.forward(token_ids(&ids, [1, ids.len()], &device), &positions, None).into_data();
        let theirs = reference.tensor(name).unwrap();
        let theirs = theirs.data().as_chunks().0.iter().map(|value| f32::from_le_bytes(*value));
        let (mut difference, mut largest) = (0.0f32, 0.0f32);
        for (ours, theirs) in ours.iter::<f32>().zip(theirs) {
            assert!(ours.is_finite());
            difference = difference.max((ours - theirs).abs());
            largest = largest.max(theirs.abs());
        }
        println!("{name}: logits differ by {difference:e} of {largest}");
        assert!(difference < 2e-4 * largest, "{name}: {difference} of {largest}");
    }
}
