//! What cannot be done is refused in a sentence, and nothing is written.

mod common;

use common::{Folder, RECIPE, nano_rope, refused, succeeds, text};

#[test]
fn damaged_models_are_refused_in_a_sentence() {
    let folder = Folder::new("damaged");
    let model = folder.model("model");
    let out = folder.path("out.safetensors");
    let weights = std::fs::read(model.join("model.safetensors")).unwrap();
    let logits = ["logits", "--model", text(&model), "--ids", "1", "--out", text(&out)];

    folder.write("model/model.safetensors", &weights[..weights.len() - 9]);
    refused(&logits, "safetensors file is damaged");
    let mut oversized = weights.clone();
    oversized[..8].copy_from_slice(&(1u64 << 60).to_le_bytes());
    folder.write("model/model.safetensors", oversized);
    refused(&logits, "safetensors file is damaged");
    let mut nan = weights.clone();
    let end = nan.len();
    nan[end - 4..].copy_from_slice(&f32::NAN.to_le_bytes());
    folder.write("model/model.safetensors", nan);
    refused(&logits, "NaN or infinite");
    std::fs::remove_file(model.join("model.safetensors")).unwrap();
    refused(&logits, "cannot read");
    folder.write("model/model.safetensors", &weights);

    let config = std::fs::read_to_string(model.join("config.json")).unwrap();
    for (old, new, words) in [
        ("\"llama\"", "\"bert\"", "model_type \"bert\" is not supported"),
        (
            "\"rope_theta\": 10000.0",
            "\"rope_theta\": 1e4, \"rope_scaling\": {\"rope_type\": \"x\"}",
            "rope_type \"x\" is not supported",
        ),
        ("\"hidden_size\": 32", "\"hidden_size\": 48", "has shape"),
        ("\"num_hidden_layers\": 2", "\"num_hidden_layers\": 3", "lack the tensor"),
        ("\"max_position_embeddings\": 16", "\"max_position_embeddings\": 0", "max_position_embeddings"),
    ] {
        assert!(config.contains(old));
        folder.write("model/config.json", config.replace(old, new));
        refused(&logits, words);
    }
    assert!(!out.exists(), "nothing was written");
}

#[test]
fn bad_requests_are_refused_in_a_sentence() {
    let folder = Folder::new("requests");
    let model = folder.model("model");
    let out = folder.path("out.safetensors");
    refused(&["logits", "--model", text(&model), "--ids", "48", "--out", text(&out)], "outside the vocabulary");
    refused(&["logits", "--model", text(&model), "--factor", "0.5", "--ids", "1", "--out", text(&out)], "at least 1");
    refused(&["logits", "--model", text(&folder.path("none")), "--ids", "1", "--out", text(&out)], "cannot read");
    let cut = ["--cut", "0.1", "--method", "yarn"];
    refused(&[&["inspect", "--model", text(&model)], &cut[..]].concat(), "--cut is for p-drope, and yarn drops no");
    let trained = nano_rope();
    for command in [&["eval", "niah"][..], &["eval", "ppl"], &["tune", "--out", text(&out)]] {
        refused(&[command, &["--model", text(&trained)], &cut].concat(), "--cut is for p-drope, and yarn drops no");
    }
    let blocked = folder.write("file", "").join("out.safetensors");
    refused(&["logits", "--model", text(&model), "--ids", "1", "--out", text(&blocked)], "cannot write");
    // A tokenizer with more tokens than the model has.
    let tokenizer = drope_core::tokenizer::Tokenizer::train(drope_core::language::tokenizer_corpus(
        1,
        &drope_core::language::DocumentMix::default(),
    ))
    .unwrap();
    folder.write("model/tokenizer.json", tokenizer.to_json().unwrap());
    refused(&["generate", "--model", text(&model), "--prompt", "The"], "use the tokenizer that belongs to the model");
    folder.write("model/tokenizer.json", "{");
    refused(&["generate", "--model", text(&model), "--prompt", "The"], "tokenizer.json");
    let recipe = folder.write("recipe.toml", RECIPE.replace("context = 64", "context = 0"));
    refused(&["pretrain", "--recipe", text(&recipe), "--out", text(&folder.path("run"))], "context is 0");
    let recipe = folder.write("recipe.toml", "steps = 3");
    refused(&["pretrain", "--recipe", text(&recipe), "--out", text(&folder.path("run"))], "is not a recipe");
    if cfg!(not(feature = "cuda")) {
        let cuda = ["logits", "--model", text(&model), "--ids", "1", "--out", text(&out), "--device", "cuda"];
        refused(&cuda, "built without CUDA");
    }
    assert!(!out.exists() && !folder.path("run").exists(), "nothing was written");
}

#[test]
fn every_command_names_the_path_that_is_missing() {
    let nano_rope = nano_rope();
    let (model, missing) = (text(&nano_rope), "/no/such/path");
    let recipe = concat!(env!("DROPE_ROOT"), "/recipes/nano-drope.toml");
    let folder = Folder::new("missing");
    let out = folder.path("out");
    let out = text(&out);
    let cases: &[&[&str]] = &[
        &["pretrain", "--recipe", missing, "--out", out],
        &["recalibrate", "--from", missing, "--recipe", recipe, "--out", out],
        &["recalibrate", "--from", model, "--recipe", missing, "--out", out],
        &["plan", "--recipe", missing],
        &["plan", "--recipe", recipe, "--from", missing],
        &["doctor", "--device", "cpu", "--model", missing],
        &["fit-scale", "--model", missing],
        &["logits", "--model", missing, "--ids", "1", "--out", out],
        &["generate", "--model", missing, "--prompt", "a"],
        &["generate", "--model", "/no/such/path.gguf", "--prompt", "a"],
        &["convert", "--from", missing, "--to", out],
        &["inspect", "--model", missing],
        &["bench", "--model", missing],
        &["bench", "--model", model, "--tokenize", missing],
        &["eval", "niah", "--model", missing],
        &["eval", "niah", "--model", model, "--method", "dope-all", "--heads", missing],
        &["eval", "niah", "--model", model, "--method", "yarn", "--tuned", missing],
        &["eval", "ppl", "--model", missing],
        &["eval", "ppl", "--model", model, "--text", missing],
        &["eval", "ruler", "--model", missing],
        &["eval", "ruler", "--model", model, "--haystack", missing],
        &["eval", "ruler", "--model", model, "--squad", missing],
        &["eval", "longbench", "--model", missing, "--data", missing],
        &["eval", "longbench", "--model", model, "--data", missing],
        &["eval", "choice", "--model", missing, "--form", "plain", "--data", missing],
        &["eval", "choice", "--model", model, "--form", "plain", "--data", missing],
        &["probe", "--model", missing],
        &["patch", "--model", missing],
        &["dope", "select", "--model", missing],
        &["search", "longrope2", "--model", missing, "--out", out],
        &["tune", "--model", missing, "--method", "yarn", "--out", out],
        &["gradients", "--model", missing],
        &["data", "prepare", "--text", recipe, "--tokenizer", missing, "--out", out],
        &["data", "prepare", "--text", missing, "--tokenizer", model, "--out", out],
        &["data", "inspect", missing],
        &["reproduce", "--plan", missing, "--out", out],
        &["reproduce", "--render", "--data", missing, "--out", out],
        &["study", "--plan", missing, "--out", out],
        &["merge", missing, "--json", out],
    ];
    for case in cases {
        refused(case, missing);
    }
    // Every command that reads a path is in the list above.
    let commands = |arguments: &[&str]| -> Vec<String> {
        let help = succeeds(&[arguments, &["--help"]].concat());
        let list = help.split_once("Commands:\n").expect("commands").1.split_once("\n\n").expect("options").0;
        let names = list.lines().filter(|line| line.starts_with("  ") && !line.starts_with("   "));
        names
            .filter_map(|line| line.split_whitespace().next())
            .filter(|name| !["help", "completions"].contains(name))
            .map(str::to_owned)
            .collect()
    };
    let is_tried = |names: &[&str]| cases.iter().any(|case| case.starts_with(names));
    for command in commands(&[]) {
        assert!(is_tried(&[&command]), "{command}");
    }
    for command in commands(&["eval"]) {
        assert!(is_tried(&["eval", &command]), "eval {command}");
    }
}
