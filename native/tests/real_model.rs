//! Commands on SmolLM2; beside Hugging Face transformers where a Python with the packages is.

mod common;

use std::path::Path;
use std::process::Command;

use common::{Folder, read_json, refused, succeeds, text};
use drope_tests::{python, smollm2};

#[test]
fn perplexity_of_a_text_is_that_of_transformers_recipe() {
    let Some(python) = python("torch, transformers, gguf, accelerate") else { return };
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
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
