//! What a run costs, and whether a device computes what the CPU does.

mod common;

use std::path::{Path, PathBuf};

use common::{Folder, nano_rope, read_json, refused, run, succeeds, text};
use drope_core::config::Config;
use drope_core::train::OptimizerKind;
use drope_core::train::cost::{Engine, MicroBatch, memory};

fn recipes() -> PathBuf {
    Path::new(env!("DROPE_ROOT")).join("recipes/models")
}

#[test]
fn every_recipe_of_a_model_has_a_plan() {
    let mut planned = 0;
    for entry in std::fs::read_dir(recipes()).unwrap() {
        let recipe = entry.unwrap().path();
        if recipe.extension().is_some_and(|extension| extension == "toml") {
            let said = succeeds(&["plan", "--recipe", text(&recipe), "--gpu", "h100:8", "--price", "2"]);
            for part in ["optimizer's state", "GB of 80 GB", "hours", "price: "] {
                assert!(said.contains(part), "{}: {said}", recipe.display());
            }
            assert!(!said.contains("does not fit"), "{}: {said}", recipe.display());
            planned += 1;
        }
    }
    assert_eq!(planned, 5);
}

#[test]
fn a_plan_that_does_not_fit_says_so() {
    let llama = recipes().join("llama2-7b.toml");
    let said = succeeds(&["plan", "--recipe", text(&llama), "--gpu", "rtx4090:2"]);
    assert!(said.contains("does not fit"), "{said}");
    // 4 · 4 bytes for each of 6.7 billion parameters are more than this machine has, or the sum says otherwise.
    let said = succeeds(&["plan", "--recipe", text(&llama), "--set", "compute=f32"]);
    assert!(said.contains("weights                          26.95 GB"), "{said}");
    let said = succeeds(&["plan", "--recipe", text(&llama), "--gpu", "rtx4090:1"]);
    assert!(said.contains("does not fit, whatever the batch: 1"), "{said}");
    let folder = Folder::new("plan-gguf");
    let gguf = folder.write("broken.gguf", b"GGUF");
    refused(&["plan", "--recipe", text(&llama), "--from", text(&gguf)], "the GGUF file cannot be used");
    let output = run(&["plan", "--recipe", text(&llama), "--gpu", "h1000:8"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("known are"));
    let folder = Folder::new("plan");
    let recipe = folder.write("mine.toml", std::fs::read(&llama).unwrap());
    refused(&["plan", "--recipe", text(&recipe)], "say with --from which model");
    succeeds(&["plan", "--recipe", text(&recipe), "--from", text(&nano_rope()), "--set", "context=128"]);
    succeeds(&[
        "plan",
        "--recipe",
        text(&recipe),
        "--from",
        text(&nano_rope()),
        "--set",
        "context=256,tokens_per_step=64",
    ]);
}

/// The largest part of the process's memory is what the plan counts.
#[test]
fn the_doctor_finds_this_processor_right_and_its_memory_as_planned() {
    let folder = Folder::new("doctor");
    let report = folder.path("report.json");
    refused(&["doctor", "--device", "cpu", "--context", "1"], "use 2 or more");
    let said = succeeds(&["doctor", "--device", "cpu", "--rows", "4", "--threads", "2", "--json", text(&report)]);
    assert!(said.contains("f32: logits differ") && !said.contains("WRONG"), "{said}");
    let report = read_json(&report);
    assert!(report["types"][0]["training"]["tokens_per_second"].as_f64().unwrap() > 0.0, "{report}");
    let config = Config::from_json(
        r#"{"model_type": "llama", "hidden_size": 512, "intermediate_size": 1536, "num_hidden_layers": 8,
        "num_attention_heads": 8, "num_key_value_heads": 4, "vocab_size": 4096, "rope_theta": 10000.0,
        "max_position_embeddings": 256, "rms_norm_eps": 1e-5, "tie_word_embeddings": true}"#,
    )
    .unwrap();
    let micro_batch = MicroBatch { context: 256, tokens: 4 * 256, recompute: false };
    let planned: u64 =
        memory(&config, OptimizerKind::AdamW, Engine::Core, micro_batch).iter().map(|part| part.bytes).sum();
    let measured = report["peak_memory_bytes"].as_f64().unwrap();
    let ratio = measured / planned as f64;
    assert!((0.8..1.4).contains(&ratio), "{measured} bytes, planned {planned}");
}
