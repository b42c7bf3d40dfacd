//! Commands on SmolLM2; beside Hugging Face transformers where a Python with the packages is.

mod common;

use std::path::Path;
use std::process::Command;

use burn::tensor::Device;
use common::{Folder, read_json, refused, succeeds, text};
use drope_core::benchmarks::choice::{Form, Question, log_likelihoods};
use drope_core::generate::Flow;
use drope_core::gguf::Gguf;
use drope_core::loaded_model::LoadedModel;
use drope_core::model::{Model, NumberTypes, WeightType, token_ids};
use drope_core::positions::Method;
use drope_tests::{python, smollm2};
use serde_json::Value;

#[test]
fn perplexity_of_a_text_is_that_of_transformers_recipe() {
    let Some(python) = python("torch, transformers, gguf, accelerate") else { return };
    let root = Path::new(env!("DROPE_ROOT"));
    let folder = Folder::new("recipe");
    let prose: String = std::fs::read_to_string(root.join("ARCHITECTURE.md")).unwrap().chars().take(3000).collect();
    let (model, story, json) = (smollm2(), folder.write("story.txt", prose), folder.path("results.json"));
    let script = root.join("tests/perplexity_reference.py");
    let theirs = Command::new(&python).arg(&script).args([&model, &story]).args(["256", "96"]).output().unwrap();
    assert!(theirs.status.success(), "{}", String::from_utf8_lossy(&theirs.stderr));
    let theirs: f64 = String::from_utf8_lossy(&theirs.stdout).trim().parse().unwrap();

    let arguments = ["eval", "ppl", "--model", text(&model), "--text", text(&story), "--whole", "--lengths", "256"];
    succeeds(&[&arguments[..], &["--stride", "96", "--device", "cpu", "--json", text(&json)]].concat());
    let cell = &read_json(&json)[0];
    let ours = cell["perplexity"].as_f64().unwrap();
    println!("perplexity {ours}, transformers {theirs}");
    assert!((ours / theirs - 1.0).abs() < 1e-3, "{ours} and {theirs}");
    assert_eq!((&cell["context"], &cell["extension"]), (&256.into(), &1.into()));
}

#[test]
fn a_gguf_that_is_written_answers_as_the_one_that_was_read() {
    let folder = Folder::new("gguf-out");
    let (model, written) = (smollm2(), folder.path("written.gguf"));
    succeeds(&["convert", "--from", text(&model), "--to", text(&written), "--dtype", "f32"]);
    let prompt = "Numbers: 1234 5,678.9; naïve cafés — “quoted”, tabs\tand\n  two lines";
    let answer = |model: &Path| {
        succeeds(&["generate", "--model", text(model), "--prompt", prompt, "--max-new-tokens", "12", "--device", "cpu"])
    };
    assert_eq!(answer(&written), answer(&model));
    // Not over a model that is there.
    refused(&["convert", "--from", text(&model), "--to", text(&written)], "holds a model already");
}

#[test]
fn bits_of_the_file_stay_as_they_are_and_give_the_logits_of_the_widened_weights() {
    let bytes = std::fs::read(smollm2()).unwrap();
    let file = Gguf::open(&bytes[..]).unwrap();
    let (config, tokenizer) = (file.config().unwrap(), file.tokenizer().unwrap());
    let positions = Method::Rope.positions(&config, 1.0).unwrap();
    let prompt = "The capital of France is Paris, and that of Italy is Rome. The capital of Spain";
    let ids = tokenizer.encode(prompt).unwrap();
    let load = |weights| {
        let types = NumberTypes { weights, ..NumberTypes::default() };
        Model::load_as(&config, &file, types, &Device::flex()).unwrap().0
    };
    let logits = |model: &Model| -> Vec<f32> {
        let ids = token_ids(&ids, [1, ids.len()], &model.device());
        model.forward(ids, &positions, None).into_data().iter().collect()
    };
    let wide = logits(&load(WeightType::F32));
    let largest = wide.iter().fold(0.0, |most: f32, logit| most.max(logit.abs()));
    // 8 bits are a rounding of the 4.
    for (kind, megabytes, bound) in [(WeightType::Stored, 96, 1e-3), (WeightType::Q8, 142, 3e-2)] {
        let model = load(kind);
        let apart = logits(&model).iter().zip(&wide).fold(0.0, |most: f32, (a, b)| most.max((a - b).abs()));
        println!("{kind}: {} bytes, logits {apart} of {largest} apart", model.weight_bytes_per_token());
        assert_eq!(model.weight_bytes_per_token() / 1_000_000, megabytes, "{kind}");
        assert!(apart < bound * largest, "{kind}: {apart} of {largest}");
    }
}

#[test]
fn choices_are_as_likely_as_lm_evaluation_harness_finds_them() {
    let bytes = std::fs::read(smollm2()).unwrap();
    let file = Gguf::open(&bytes[..]).unwrap();
    let (config, tokenizer) = (file.config().unwrap(), file.tokenizer().unwrap());
    let context = config.max_position_embeddings;
    let positions = Method::Rope.positions(&config, 1.0).unwrap();
    let model =
        LoadedModel::new(config, tokenizer, &file, String::new(), NumberTypes::default(), &Device::flex()).unwrap();
    let examples: Vec<Value> = serde_json::from_str(include_str!("../../tests/fixtures/choice.json")).unwrap();
    for example in &examples {
        let form: Form = example["form"].as_str().unwrap().parse().unwrap();
        let question = Question::from_json(form, example["line"].as_str().unwrap()).unwrap();
        let asked = log_likelihoods(&model, &positions, context, &question, async |_| Flow::Continue);
        let ours = pollster::block_on(asked).unwrap();
        let theirs: Vec<f64> = serde_json::from_value(example["log_likelihoods"].clone()).unwrap();
        assert_eq!(ours.len(), theirs.len());
        for (ours, theirs) in ours.iter().zip(&theirs) {
            assert!((ours - theirs).abs() < 1e-3 * theirs.abs(), "{ours} and {theirs}: {example}");
        }
        let right = |chosen: usize| f64::from(u8::from(chosen == question.gold));
        assert_eq!(Some(right(question.chosen(&ours))), example["acc"].as_f64(), "{example}");
        // Where choices have no letters of their own the harness has no `acc_norm`.
        if let Some(normed) = example["acc_norm"].as_f64() {
            assert_eq!(question.chosen_normed(&ours).map(right), Some(normed), "{example}");
        }
    }
    assert_eq!(examples.len(), 14);
}

/// The most memory that a process has had, in bytes, read until it ends.
#[cfg(target_os = "linux")]
fn peak_memory(command: &mut Command) -> u64 {
    let mut child = command.stdout(std::process::Stdio::null()).spawn().unwrap();
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    while child.try_wait().unwrap().is_none() {
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
        peak = peak.max(1024 * kilobytes.unwrap_or(0));
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    assert!(child.wait().unwrap().success());
    peak
}

#[test]
#[cfg(target_os = "linux")]
fn converting_smollm2_takes_a_part_of_its_size() {
    let folder = Folder::new("converted");
    for out in ["folder", "model.gguf"] {
        let out = folder.path(out);
        let peak = peak_memory(&mut common::core(&["convert", "--from", text(&smollm2()), "--to", text(&out)]));
        println!("{peak} bytes");
        assert!((10_000_000..250_000_000).contains(&peak), "{peak} bytes for 538 MB of weights");
    }
}
