//! Models that are converted for longer texts: what others find in them, and that they answer as before.

mod common;

use std::path::Path;

use common::{Folder, fixtures, read_json, refused, succeeds, text};
use serde_json::{Value, json};

fn model(name: &str) -> std::path::PathBuf {
    fixtures().join("../../models").join(name)
}

/// Which questions at 4 times the context a model answers.
fn outcomes(model: &Path, json: &Path) -> Value {
    let arguments = ["eval", "niah", "--model", text(model), "--extension", "4", "--trials", "6", "--json", text(json)];
    succeeds(&[&arguments[..], &["--task", "multi-key", "--threads", "2"]].concat());
    let cell = read_json(json).as_array().unwrap().last().unwrap().clone();
    json!([cell["outcomes"], cell["method"], cell["context"], cell["extension"]])
}

#[test]
fn a_dropped_model_is_one_of_transformers_with_a_longer_context_and_answers_as_before() {
    let folder = Folder::new("convert");
    for (name, kind) in [("study-drope", "smollm3"), ("study-p-drope-copies", "llama")] {
        let out = folder.path(name);
        succeeds(&["convert", "--from", text(&model(name)), "--extension", "4", "--to", text(&out)]);
        let config = read_json(&out.join("config.json"));
        assert_eq!((&config["model_type"], &config["max_position_embeddings"]), (&json!(kind), &json!(1024)));
        assert_eq!(config["training_context"], 256);
        let card = std::fs::read_to_string(out.join("README.md")).unwrap();
        assert!(card.contains("trained on 256 tokens, for texts of up to 1024"), "{card}");
        assert_eq!(card.contains("Never give this folder"), kind == "smollm3", "{card}");
        assert!(!out.join("modeling_drope.py").exists());
        let (before, after) = (folder.path("before.json"), folder.path("after.json"));
        assert_eq!(outcomes(&out, &after), outcomes(&model(name), &before), "{name}");
    }
    // Without a longer context the config is the same, in a form that needs no program.
    let plain = folder.path("plain");
    succeeds(&["convert", "--from", text(&model("study-drope")), "--to", text(&plain)]);
    let config = read_json(&plain.join("config.json"));
    assert_eq!((&config["model_type"], &config["max_position_embeddings"]), (&json!("smollm3"), &json!(256)));
    // Single layers without positions: llama.cpp computes them where they are every fourth one, as in SmolLM3.
    for (name, layers, has_warning) in [("second", [1, 0, 1, 1], true), ("fourth", [1, 1, 1, 0], false)] {
        for file in ["model.safetensors", "tokenizer.json"] {
            folder.write(&format!("{name}/{file}"), std::fs::read(model("study-rope").join(file)).unwrap());
        }
        let mut json = read_json(&model("study-rope").join("config.json"));
        json["model_type"] = json!("smollm3");
        json["no_rope_layers"] = json!(layers);
        folder.write(&format!("{name}/config.json"), json.to_string());
        let out = folder.path(&format!("{name}-out"));
        succeeds(&["convert", "--from", text(&folder.path(name)), "--to", text(&out)]);
        assert_eq!(read_json(&out.join("config.json"))["model_type"], "smollm3");
        let card = std::fs::read_to_string(out.join("README.md")).unwrap();
        assert_eq!(card.contains("llama.cpp cannot compute this model"), has_warning, "{card}");
        assert_eq!(card.contains("Never give this folder"), has_warning, "{card}");
    }
    // A temperature needs a program, and the card then says so.
    assert!(!plain.join("modeling_drope.py").exists());
    let opened = |folder: &Path| std::fs::read_to_string(folder.join("README.md")).unwrap();
    assert!(opened(&plain).contains("by its own class SmolLM3ForCausalLM"), "{}", opened(&plain));
    succeeds(&["fit-scale", "--model", text(&plain), "--documents", "1"]);
    assert!(plain.join("modeling_drope.py").exists());
    assert!(
        opened(&plain).contains("from study-drope. Read with") && opened(&plain).contains("trust_remote_code=True")
    );
    let (from, ssmax) = (model("nano-drope"), folder.path("ssmax"));
    refused(&["convert", "--from", text(&from), "--extension", "4", "--to", text(&ssmax)], "SSMax");
    assert!(!ssmax.exists());
}

/// transformers takes the weights' type from the config, and tokens that pad texts from files that `core` does not read.
#[test]
fn others_find_the_type_of_the_weights_and_the_files_of_the_tokenizer() {
    let folder = Folder::new("convert-beside");
    for file in ["model.safetensors", "tokenizer.json"] {
        folder.write(&format!("model/{file}"), std::fs::read(model("study-rope").join(file)).unwrap());
    }
    let mut config = read_json(&model("study-rope").join("config.json"));
    config["dtype"] = json!("bfloat16");
    folder.write("model/config.json", config.to_string());
    let beside = [
        ("tokenizer_config.json", json!({ "pad_token": "<s>", "tokenizer_class": "PreTrainedTokenizerFast" })),
        ("special_tokens_map.json", json!({ "pad_token": "<s>" })),
        ("generation_config.json", json!({ "temperature": 0.5 })),
    ];
    for (name, content) in &beside {
        folder.write(&format!("model/{name}"), content.to_string());
    }
    for (dtype, torch_dtype) in [("f32", "float32"), ("f16", "float16"), ("bf16", "bfloat16")] {
        let out = folder.path(dtype);
        succeeds(&["convert", "--from", text(&folder.path("model")), "--dtype", dtype, "--to", text(&out)]);
        let config = read_json(&out.join("config.json"));
        assert_eq!((&config["torch_dtype"], config.get("dtype")), (&json!(torch_dtype), None));
        for (name, content) in &beside {
            assert_eq!(&read_json(&out.join(name)), content, "{name}");
        }
    }
}

/// Configs are written as those of a Llama, whose projections are single tensors.
#[test]
fn no_config_is_written_beside_fused_projections() {
    let folder = Folder::new("convert-fused");
    let phi3 = fixtures().join("phi3");
    for file in ["config.json", "model.safetensors"] {
        folder.write(&format!("phi3/{file}"), std::fs::read(phi3.join(file)).unwrap());
    }
    let (model, out) = (folder.path("phi3"), folder.path("out"));
    let search = ["search", "longrope2", "--model", text(&model), "--factor", "2", "--out", text(&out)];
    for command in [&["fit-scale", "--model", text(&model)][..], &search] {
        refused(command, "has fused projections");
    }
    assert_eq!(std::fs::read(model.join("config.json")).unwrap(), std::fs::read(phi3.join("config.json")).unwrap());
}
