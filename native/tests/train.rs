//! Training from the command line: what is refused, what is dropped, and what a run writes.

mod common;

use std::path::{Path, PathBuf};

use common::{Folder, RECIPE, fixtures, refused, run, succeeds, text};

/// A run of a few updates on the CPU; `more` are further arguments.
fn pretrain(recipe: &Path, out: &Path, more: &[&str]) {
    let arguments = ["pretrain", "--recipe", text(recipe), "--out", text(out), "--device", "cpu"];
    let output = run(&[&arguments[..], more].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

fn recalibrate<'a>(from: &'a Path, recipe: &'a Path, out: &'a Path) -> Vec<&'a str> {
    vec!["recalibrate", "--from", text(from), "--recipe", text(recipe), "--out", text(out), "--device", "cpu"]
}

fn read_json(path: &Path) -> serde_json::Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

/// The shared recipe with fewer steps, and with lines replaced or added.
fn recipe(folder: &Folder, name: &str, steps: usize, replaced: &[(&str, &str)], added: &str) -> PathBuf {
    let mut recipe = RECIPE.replace("steps = 60", &format!("steps = {steps}"));
    for (old, new) in replaced {
        assert!(recipe.contains(old), "{old}");
        recipe = recipe.replace(old, new);
    }
    folder.write(name, format!("{recipe}{added}\n"))
}

/// A recipe of recalibration: the shared one with `[drop]` in place of `[model]`.
fn drop_recipe(folder: &Folder, drop: &str, added: &str) -> PathBuf {
    let model = RECIPE.lines().find(|line| line.starts_with("model")).unwrap();
    let name = format!("{}.toml", drop.replace(['"', ' '], ""));
    recipe(folder, &name, 2, &[(model, &format!("drop = {{ {drop} }}"))], added)
}

#[test]
fn the_loss_of_answers_does_not_depend_on_their_weight() {
    let folder = Folder::new("answer-weight");
    for weight in ["1.0", "0.5", "4.0"] {
        let out = folder.path(weight);
        let documents = format!("documents = {{ answer_weight = {weight} }}");
        pretrain(&recipe(&folder, "recipe.toml", 20, &[], &documents), &out, &[]);
        let line: serde_json::Value =
            serde_json::from_str(std::fs::read_to_string(out.join("loss.jsonl")).unwrap().lines().next().unwrap())
                .unwrap();
        // ln 540 where nothing is learned yet.
        let loss = line["answer_loss"].as_f64().unwrap();
        assert!((2.0..12.0).contains(&loss), "answer_weight = {weight}: {line}");
    }
}

#[test]
fn threads_give_what_one_gives() {
    let folder = Folder::new("threads");
    let recipe = recipe(&folder, "recipe.toml", 6, &[("\"muon\"", "\"adamw\"")], "");
    let weights = |threads: &str| {
        let out = folder.path(threads);
        pretrain(&recipe, &out, &["--threads", threads]);
        std::fs::read(out.join("model.safetensors")).unwrap()
    };
    let (one, three) = (weights("1"), weights("3"));
    let (one, three) = [&one, &three].map(|bytes| safetensors::SafeTensors::deserialize(bytes).unwrap()).into();
    for name in one.names() {
        let floats = |file: &safetensors::SafeTensors| -> Vec<f32> {
            let bytes = file.tensor(name).unwrap().data().to_vec();
            bytes.chunks_exact(4).map(|bytes| f32::from_le_bytes(bytes.try_into().unwrap())).collect()
        };
        let (one, three) = (floats(&one), floats(&three));
        let norm = one.iter().map(|x| x * x).sum::<f32>().sqrt();
        let apart = one.iter().zip(&three).map(|(x, y)| (x - y) * (x - y)).sum::<f32>().sqrt();
        // Sums in another order.
        assert!(apart < 1e-4 * norm, "{name}: {apart} of {norm}");
    }
}

#[test]
fn a_run_that_diverges_says_so_and_keeps_its_last_checkpoint() {
    let folder = Folder::new("diverges");
    let recipe = recipe(&folder, "recipe.toml", 60, &[("peak = 1e-3", "peak = 1e20")], "");
    let out = folder.path("out");
    let arguments = ["pretrain", "--recipe", text(&recipe), "--out", text(&out), "--device", "cpu"];
    let paused = run(&[&arguments[..], &["--until", "1"]].concat());
    assert!(paused.status.success(), "{}", String::from_utf8_lossy(&paused.stderr));
    let weights = out.join("checkpoint/model.safetensors");
    let before = std::fs::read(&weights).unwrap();
    let output = run(&[&arguments[..], &["--resume"]].concat());
    let sentence = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{sentence}");
    assert!(sentence.contains("the run ended at step") && sentence.contains("lower schedule.peak"), "{sentence}");
    assert!(!out.join("model.safetensors").exists());
    assert!(std::fs::read(&weights).unwrap() == before, "the checkpoint is as it was");
}

#[test]
fn a_run_is_resumed_from_the_base_model_that_it_began_with() {
    let folder = Folder::new("base");
    let (base, other) = (folder.path("base"), folder.path("other"));
    pretrain(&recipe(&folder, "recipe.toml", 1, &[], ""), &base, &[]);
    pretrain(&recipe(&folder, "recipe.toml", 1, &[("seed = 3", "seed = 4")], ""), &other, &[]);
    let drop = drop_recipe(&folder, "positions = \"all\"", "");
    let out = folder.path("out");
    assert!(run(&[&recalibrate(&base, &drop, &out)[..], &["--until", "1"]].concat()).status.success());
    refused(&[&recalibrate(&other, &drop, &out)[..], &["--resume"]].concat(), "the model in --from is not the one");
    assert!(run(&[&recalibrate(&base, &drop, &out)[..], &["--resume"]].concat()).status.success());
    assert!(out.join("model.safetensors").exists());
    // The folder has a model card, which says where the model comes from, and the files that transformers needs.
    let card = std::fs::read_to_string(out.join("README.md")).unwrap();
    for words in
        ["base_model: base\n", "recalibrated from base (hash ", "trust_remote_code=True", "# A model read with DroPE"]
    {
        assert!(card.contains(words), "{card} lacks {words}");
    }
    assert!(out.join("modeling_drope.py").exists() && !base.join("modeling_drope.py").exists());
    assert!(!std::fs::read_to_string(base.join("README.md")).unwrap().contains("base_model"));
}

#[test]
fn every_kind_of_positions_can_be_dropped_and_copies_are_refused_where_they_have_no_distance() {
    let folder = Folder::new("kinds");
    for (pe, kept) in [("alibi", "\"alibi\": true"), ("rnope-swa", "\"sliding_window\": 16")] {
        let base = folder.path(pe);
        pretrain(&recipe(&folder, "recipe.toml", 1, &[], ""), &base, &["--pe", pe]);
        assert!(std::fs::read_to_string(base.join("config.json")).unwrap().contains(kept));
        let out = folder.path(&format!("{pe}-dropped"));
        let all = drop_recipe(&folder, "positions = \"all\"", "documents = { max_copies = 4.0 }");
        let output = run(&recalibrate(&base, &all, &out));
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let config = read_json(&out.join("config.json"));
        assert_eq!(config["attention_type"], "nope", "{config}");
        assert!(config["alibi"].is_null() && config["sliding_window"].is_null(), "{config}");
        let low = drop_recipe(&folder, "positions = \"low\"", "");
        refused(&recalibrate(&base, &low, &folder.path("no")), "not with RoPE in every layer");
        let none = drop_recipe(&folder, "positions = \"none\"", "documents = { max_copies = 4.0 }");
        refused(&recalibrate(&base, &none, &folder.path("no")), "copies have no distance");
        refused(&recalibrate(&out, &all, &folder.path("no")), "the model has no positions");
        let copies = recipe(&folder, "copies.toml", 1, &[], "documents = { max_copies = 4.0 }");
        let scratch =
            ["pretrain", "--pe", pe, "--recipe", text(&copies), "--out", text(&folder.path("no"))].map(str::to_owned);
        refused(&scratch.each_ref().map(String::as_str), "copies have no distance");
    }
}

#[test]
fn norms_of_a_base_model_stay_when_its_positions_go() {
    let folder = Folder::new("norms");
    let (rope, normed, out) = (folder.path("rope"), folder.path("normed"), folder.path("out"));
    pretrain(&recipe(&folder, "recipe.toml", 1, &[], ""), &rope, &[]);
    let with_norms = drop_recipe(&folder, "positions = \"all\", attention_type = \"qk_norm_nope\"", "");
    assert!(run(&recalibrate(&rope, &with_norms, &normed)).status.success());
    // As pretrained with norms: the same weights, read with positions.
    let config = std::fs::read_to_string(normed.join("config.json")).unwrap();
    std::fs::write(normed.join("config.json"), config.replace("qk_norm_nope", "qk_norm_rope")).unwrap();
    let drop = drop_recipe(&folder, "positions = \"all\"", "");
    let output = run(&recalibrate(&normed, &drop, &out));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(read_json(&out.join("config.json"))["attention_type"], "qk_norm_nope");
    let weights = std::fs::read(out.join("model.safetensors")).unwrap();
    let file = safetensors::SafeTensors::deserialize(&weights).unwrap();
    assert!(file.names().iter().any(|name| name.ends_with("self_attn.q_norm.weight")));
}

#[test]
fn recipes_are_refused_before_anything_is_written() {
    let folder = Folder::new("recipes");
    let out = folder.path("out");
    for (old, new, words) in [
        ("num_attention_heads = 2", "num_attention_heads = 0", "model.num_attention_heads is 0"),
        ("max_gradient_norm = 1.0", "max_gradient_norm = -1.0", "max_gradient_norm is -1"),
        ("warmup = 5", "warmup = -5", "warmup = -5"),
        ("steps = 60", "stepz = 60", "stepz"),
    ] {
        let recipe = folder.write("recipe.toml", RECIPE.replace(old, new));
        refused(&["pretrain", "--recipe", text(&recipe), "--out", text(&out)], words);
    }
    assert!(!out.exists());
}

/// Files of others under names that a run writes.
#[test]
fn a_run_replaces_no_file_that_is_not_its_own() {
    let folder = Folder::new("others");
    let (base, drop) = (common::nano_rope(), drop_recipe(&folder, "positions = \"all\"", ""));
    // A model in several files, which only the list of them tells of.
    let sharded = folder.write("sharded/model.safetensors.index.json", "{}").parent().unwrap().to_owned();
    refused(&recalibrate(&base, &drop, &sharded), "holds a finished model");
    let noted = folder.write("noted/README.md", "My notes.").parent().unwrap().to_owned();
    refused(&recalibrate(&base, &drop, &noted), "README.md is there already");
    refused(&["convert", "--from", text(&base), "--to", text(&noted)], "README.md is there already");
    assert_eq!(std::fs::read_to_string(noted.join("README.md")).unwrap(), "My notes.");
    // Its recipe, and the model that it begins with.
    let run = folder.path("run");
    let own = folder.write("run/recipe.toml", std::fs::read(&drop).unwrap());
    refused(&recalibrate(&base, &own, &run), "move the recipe out of --out");
    let best = folder.model("run/best");
    refused(&recalibrate(&best, &drop, &run), "is one that the run in --out replaces");
    let elsewhere = folder.path("elsewhere");
    let to_torch = [&recalibrate(&base, &drop, &elsewhere)[..], &["--engine", "torch"]].concat();
    refused(&to_torch, "--save-every and --device are for --engine core");
    assert!(best.join("model.safetensors").exists() && !elsewhere.exists());
}

/// As if it had not been stopped: updates since the last line count in the next.
#[test]
fn the_loss_curve_goes_on_where_it_was() {
    let folder = Folder::new("curve");
    let recipe = recipe(&folder, "recipe.toml", 20, &[], "");
    let losses = |out: &Path| {
        let lines = std::fs::read_to_string(out.join("loss.jsonl")).unwrap();
        let line: serde_json::Value = serde_json::from_str(lines.lines().last().unwrap()).unwrap();
        [&line["step"], &line["loss"], &line["answer_loss"]].map(Clone::clone)
    };
    let (whole, parts) = (folder.path("whole"), folder.path("parts"));
    pretrain(&recipe, &whole, &["--threads", "1"]);
    pretrain(&recipe, &parts, &["--threads", "1", "--until", "13"]);
    pretrain(&recipe, &parts, &["--threads", "1", "--resume"]);
    assert_eq!(losses(&parts), losses(&whole));
}

#[test]
fn temperatures_are_fitted_to_a_model_without_positions_alone() {
    let folder = Folder::new("fit-scale");
    let rope = fixtures().join("../../models/nano-rope");
    refused(&["fit-scale", "--model", text(&rope)], "which takes no temperature");
    let model = folder.path("model");
    let base = folder.path("base");
    pretrain(&recipe(&folder, "recipe.toml", 2, &[], ""), &base, &[]);
    let drop = drop_recipe(&folder, "positions = \"all\"", "");
    assert!(run(&recalibrate(&base, &drop, &model)).status.success());
    for (kind, field) in [("uniform", "temperature_coefficient"), ("head", "head_scales")] {
        let output =
            run(&["fit-scale", "--model", text(&model), "--kind", kind, "--documents", "1", "--device", "cpu"]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let config = read_json(&model.join("config.json"));
        assert!(config[field] != 0.0 && !config[field].is_null(), "{config}");
    }
    // A copy has another config and the same weights, tokenizer and recipe; the model keeps its own.
    let (before, copy) = (read_json(&model.join("config.json")), folder.path("copy"));
    let fit = ["fit-scale", "--model", text(&model), "--documents", "1", "--device", "cpu", "--out", text(&copy)];
    assert!(run(&fit).status.success());
    assert!(read_json(&copy.join("config.json")) != before && read_json(&model.join("config.json")) == before);
    for file in ["model.safetensors", "tokenizer.json", "recipe.toml", "loss.jsonl"] {
        let bytes = |folder: &Path| std::fs::read(folder.join(file)).unwrap();
        assert!(bytes(&copy) == bytes(&model), "{file}");
    }
    succeeds(&["inspect", "--model", text(&copy)]);
}

#[test]
fn fields_of_a_recipe_can_be_set_and_wrong_ones_are_named() {
    let folder = Folder::new("set");
    let (recipe, out) = (recipe(&folder, "recipe.toml", 9, &[], ""), folder.path("out"));
    let with = |set: &str| {
        let arguments = ["pretrain", "--recipe", text(&recipe), "--set", set, "--out", text(&out), "--device", "cpu"];
        arguments.map(str::to_owned)
    };
    let words = |arguments: [String; 9]| run(&arguments.each_ref().map(String::as_str));
    let wrong = words(with("schedule.peek=1"));
    assert_eq!(wrong.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&wrong.stderr).contains("unknown field `peek`") && !out.exists());
    assert!(words(with("steps=2,schedule.peak=2e-3")).status.success());
    let kept: toml::Table = toml::from_str(&std::fs::read_to_string(out.join("recipe.toml")).unwrap()).unwrap();
    assert_eq!((kept["steps"].as_integer(), kept["schedule"]["peak"].as_float()), (Some(2), Some(2e-3)));
}

#[test]
fn a_model_can_be_trained_on_with_a_scaling_and_is_then_read_with_it() {
    let folder = Folder::new("scaling");
    let (base, out) = (folder.path("base"), folder.path("out"));
    pretrain(&recipe(&folder, "recipe.toml", 1, &[], ""), &base, &[]);
    let scaled = drop_recipe(&folder, "positions = \"none\"", "scaling = { method = \"yarn\", factor = 8.0 }");
    let output = run(&recalibrate(&base, &scaled, &out));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let config = read_json(&out.join("config.json"));
    assert_eq!(
        (&config["rope_scaling"]["rope_type"], &config["rope_scaling"]["factor"]),
        (&"yarn".into(), &8.0.into())
    );
    assert_eq!((&config["model_type"], &config["rope_scaling_trained"]), (&"llama".into(), &true.into()));
    let inspected = run(&["inspect", "--model", text(&out)]);
    assert!(String::from_utf8_lossy(&inspected.stdout).contains("method: yarn at 1 times"));
    let niah = [
        "eval",
        "niah",
        "--model",
        text(&out),
        "--trials",
        "1",
        "--extension",
        "1",
        "--task",
        "single",
        "--device",
        "cpu",
    ];
    assert!(run(&[&niah[..], &["--method", "yarn"]].concat()).status.success());
    refused(&[&niah[..], &["--method", "rope"]].concat(), "already scaled by 8");
    // Its positions are scaled already.
    refused(&recalibrate(&out, &scaled, &folder.path("no")), "would be read with yarn");
    let dropped = drop_recipe(&folder, "positions = \"all\"", "scaling = { method = \"pi\", factor = 8.0 }");
    refused(&recalibrate(&base, &dropped, &folder.path("no")), "would be read with drope");
}
