//! Bad input from outside: each is refused in one sentence with exit code 2, in bounded memory, and nothing is written.

mod common;

use std::path::Path;
use std::process::{Command, Output};

use common::{Folder, RECIPE, fixtures, nano_rope_in, text};
use serde_json::{Value, json};

/// Kilobytes of address space: far less than what a broken length of 2^60 would ask for.
const ADDRESS_SPACE: &str = "4000000";

fn bounded(arguments: &[&str]) -> Output {
    let mut command = Command::new("sh");
    let limit = format!("ulimit -v {ADDRESS_SPACE}; exec \"$0\" \"$@\"");
    command.args(["-c", &limit, env!("CARGO_BIN_EXE_core")]).args(arguments).output().unwrap()
}

/// Expects a sentence that holds `words`.
fn refused(what: &str, arguments: &[&str], words: &str) {
    let output = bounded(arguments);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{what}: {said}");
    assert_eq!(said.trim().lines().count(), 1, "{what}: one sentence, not {said}");
    assert!(!said.contains("panicked") && said.contains(words), "{what}: {said} lacks {words}");
}

/// A fixture model in a folder, and what is done to it.
struct Damage<'a> {
    folder: &'a Folder,
    out: std::path::PathBuf,
}

impl Damage<'_> {
    fn logits(&self, what: &str, words: &str) {
        let model = self.folder.path("model");
        refused(what, &["logits", "--model", text(&model), "--ids", "1", "--out", text(&self.out)], words);
        assert!(!self.out.exists(), "{what}: something was written");
    }

    fn config(&self, fixture: &str, change: impl Fn(&mut Value), words: &str) {
        self.folder.model("model");
        let source = fixtures().join(fixture);
        let mut config: Value = serde_json::from_slice(&std::fs::read(source.join("config.json")).unwrap()).unwrap();
        change(&mut config);
        self.folder.write("model/config.json", config.to_string());
        self.folder.write("model/model.safetensors", std::fs::read(source.join("model.safetensors")).unwrap());
        self.logits(&config.to_string(), words);
    }
}

#[test]
fn configs() {
    let folder = Folder::new("bad-configs");
    let damage = Damage { folder: &folder, out: folder.path("out") };
    let fields: [(&str, Value, &str); 22] = [
        ("vocab_size", json!(null), "vocab_size"),
        ("vocab_size", json!("48"), "vocab_size"),
        ("vocab_size", json!(0), "whole number from 1"),
        ("vocab_size", json!(1u64 << 60), "whole number from 1"),
        ("hidden_size", json!(-32), "hidden_size"),
        ("num_hidden_layers", json!(1_000_000), "num_hidden_layers"),
        ("num_attention_heads", json!(3), "multiple of num_key_value_heads"),
        ("num_key_value_heads", json!(0), "num_key_value_heads"),
        ("head_dim", json!(15), "even"),
        ("max_position_embeddings", json!(1), "at least 2"),
        ("rms_norm_eps", json!(-1.0), "rms_norm_eps"),
        ("rope_theta", json!(-10000.0), "rope_theta"),
        ("rope_theta", json!(0.0), "rope_theta"),
        ("rope_scaling", json!({ "rope_type": "magic", "factor": 2.0 }), "rope_type \"magic\""),
        ("rope_scaling", json!({ "rope_type": "yarn", "factor": 0.5 }), "factor must be from 1"),
        (
            "rope_scaling",
            json!({ "rope_type": "yarn", "factor": 2.0, "beta_fast": 1.0, "beta_slow": 8.0 }),
            "beta_slow",
        ),
        ("rope_scaling", json!({ "rope_type": "longrope", "short_factor": [1.0], "long_factor": [1.0] }), "longrope"),
        ("attention_bias", json!(true), "biases"),
        ("hidden_act", json!("gelu"), "only silu"),
        ("partial_rotary_factor", json!(0.5), "partial_rotary_factor"),
        ("eos_token_id", json!("</s>"), "not a token id"),
        ("model_type", json!("mamba"), "model_type \"mamba\""),
    ];
    for (field, value, words) in fields {
        damage.config("rope", |config| config[field] = value.clone(), words);
    }
    let scales = json!({ "factor": 4.0, "scales": [[1.0]] });
    damage.config("drope-q-norm", |config| config["head_scales"] = scales.clone(), "head_scales needs");
    damage.config("smollm3", |config| config["no_rope_layers"] = json!([1]), "0 or 1 for each");
    damage.config("qwen2-windows", |config| config["sliding_window"] = json!(0), "not a number of tokens");
    for (what, bytes) in
        [("a list", &b"[]"[..]), ("half", b"{\"model_type\": "), ("nothing", b""), ("bytes", &[255, 254])]
    {
        folder.write("model/config.json", bytes);
        damage.logits(what, if what == "bytes" { "not a text file" } else { "config.json" });
    }
}

/// A safetensors file of one tensor whose header is given.
fn safetensors(header: &Value, data: usize) -> Vec<u8> {
    let header = header.to_string();
    [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), &vec![0; data]].concat()
}

#[test]
fn weights() {
    let folder = Folder::new("bad-weights");
    let damage = Damage { folder: &folder, out: folder.path("out") };
    folder.model("model");
    let good = std::fs::read(fixtures().join("rope/model.safetensors")).unwrap();
    let with = |place: usize, bytes: &[u8]| {
        let mut changed = good.clone();
        changed[place..place + bytes.len()].copy_from_slice(bytes);
        changed
    };
    let tensor = |dtype: &str, shape: &[usize], offsets: [usize; 2]| json!({ "dtype": dtype, "shape": shape, "data_offsets": offsets });
    let norm = "model.norm.weight";
    let end = good.len();
    for (what, bytes, words) in [
        ("an empty file", vec![], "too short"),
        ("seven bytes", good[..7].to_vec(), "too short"),
        ("a header of 2^60 bytes", with(0, &(1u64 << 60).to_le_bytes()), "header"),
        ("a header that is no JSON", with(8, b"!!"), "header"),
        ("cut in the data", good[..end - 9].to_vec(), "end before or after"),
        ("more than its tensors", [&good[..], &[0; 8]].concat(), "end before or after"),
        (
            "overlapping tensors",
            safetensors(&json!({ "a": tensor("F32", &[2], [0, 8]), "b": tensor("F32", &[2], [4, 12]) }), 12),
            "damaged",
        ),
        ("offsets backwards", safetensors(&json!({ "a": tensor("F32", &[2], [8, 0]) }), 8), "damaged"),
        ("a type that lies", safetensors(&json!({ norm: tensor("F32", &[32], [0, 8]) }), 8), "damaged"),
        ("an unknown type", safetensors(&json!({ norm: tensor("Q4", &[32], [0, 8]) }), 8), "damaged"),
        ("integers", safetensors(&json!({ norm: tensor("I64", &[32], [0, 256]) }), 256), "lack the tensor"),
        ("not a number", with(end - 4, &f32::NAN.to_le_bytes()), "NaN or infinite"),
        ("infinite", with(end - 4, &f32::INFINITY.to_le_bytes()), "NaN or infinite"),
    ] {
        folder.write("model/model.safetensors", bytes);
        damage.logits(what, words);
    }
    std::fs::remove_file(folder.path("model/model.safetensors")).unwrap();
    damage.logits("no weights", "cannot read");
    std::fs::create_dir(folder.path("model/model.safetensors")).unwrap();
    damage.logits("a folder in their place", "cannot");
}

#[test]
fn indices_of_several_files() {
    let folder = Folder::new("bad-indices");
    let damage = Damage { folder: &folder, out: folder.path("out") };
    let model = folder.model("model");
    std::fs::rename(model.join("model.safetensors"), model.join("a.safetensors")).unwrap();
    let index = |map: Value| json!({ "weight_map": map }).to_string();
    let norm = "model.norm.weight";
    for (what, text, words) in [
        ("no JSON", "{".to_owned(), "index"),
        ("no map", "{}".to_owned(), "index"),
        ("an empty map", index(json!({})), "index"),
        ("a missing file", index(json!({ norm: "b.safetensors" })), "cannot read"),
        ("a path out of the folder", index(json!({ norm: "../../etc/passwd" })), "index"),
        ("a tensor that its file lacks", index(json!({ "model.extra.weight": "a.safetensors" })), "model.extra.weight"),
        ("a number", index(json!({ norm: 3 })), "index"),
    ] {
        folder.write("model/model.safetensors.index.json", text);
        damage.logits(what, words);
    }
    std::fs::copy(model.join("a.safetensors"), model.join("b.safetensors")).unwrap();
    let both = index(json!({ norm: "a.safetensors", "model.embed_tokens.weight": "b.safetensors" }));
    folder.write("model/model.safetensors.index.json", both);
    damage.logits("a tensor in two files", "both hold");
}

#[test]
fn ggufs() {
    let folder = Folder::new("bad-ggufs");
    let good = std::fs::read(fixtures().join("gguf/types.gguf")).unwrap();
    let with = |place: usize, bytes: &[u8]| {
        let mut changed = good.clone();
        changed[place..place + bytes.len()].copy_from_slice(bytes);
        changed
    };
    let huge = (1u64 << 60).to_le_bytes();
    for (what, bytes, words) in [
        ("an empty file", vec![], "model.gguf"),
        ("another magic", with(0, b"GGML"), "does not begin with GGUF"),
        ("version 99", with(4, &[99]), "version is 99"),
        ("2^60 tensors", with(8, &huge), "announces"),
        ("2^60 values", with(16, &huge), "announces"),
        ("a name of 2^60 bytes", with(24, &huge), "announces"),
        ("cut in the head", good[..100].to_vec(), "model.gguf"),
        ("cut in the data", good[..good.len() - 64].to_vec(), "ends after the file"),
    ] {
        let path = folder.write("model.gguf", bytes);
        let out = folder.path("out");
        refused(what, &["convert", "--from", text(&path), "--to", text(&out)], words);
        assert!(!out.exists(), "{what}: something was written");
    }
}

#[test]
fn tokenizers_and_templates() {
    let folder = Folder::new("bad-tokenizers");
    let model = nano_rope_in(&folder);
    let good = std::fs::read_to_string(model.join("tokenizer.json")).unwrap();
    let generate = ["generate", "--model", text(&model), "--prompt", "The", "--max-new-tokens", "1"];
    let mut beyond: Value = serde_json::from_str(&good).unwrap();
    beyond["model"]["vocab"]["xyzzy"] = json!(4_000_000);
    let mut unknown: Value = serde_json::from_str(&good).unwrap();
    unknown["model"]["type"] = json!("Magic");
    for (what, bytes, words) in [
        ("nothing", String::new(), "tokenizer"),
        ("half", good[..600].to_owned(), "tokenizer"),
        ("ids beyond the vocabulary", beyond.to_string(), "vocab"),
        ("an unknown model", unknown.to_string(), "tokenizer"),
        ("a number", "3".to_owned(), "tokenizer"),
    ] {
        folder.write("model/tokenizer.json", bytes);
        refused(what, &generate, words);
    }
    folder.write("model/tokenizer.json", good);
    let chat = [&generate[..], &["--chat"]].concat();
    let nested = "{{ [".repeat(2000);
    for (what, template, words) in [
        (
            "a loop without end",
            "{% for a in range(100000) %}{% for b in range(100000) %}x{% endfor %}{% endfor %}",
            "the template fails",
        ),
        ("half a tag", "{% for", "the template fails"),
        ("a refusal", "{{ raise_exception('no') }}", "no"),
        ("an unknown filter", "{{ messages | magic }}", "magic"),
        ("nesting", &nested, "the template fails"),
    ] {
        folder.write("model/tokenizer_config.json", json!({ "chat_template": template }).to_string());
        refused(what, &chat, words);
    }
    folder.write("model/tokenizer_config.json", "{");
    refused("no JSON", &chat, "tokenizer_config.json");
}

#[test]
fn recipes_plans_and_results() {
    let folder = Folder::new("bad-files");
    let (out, model) = (folder.path("out"), nano_rope_in(&folder));
    let recipe = |old: &str, new: &str| RECIPE.replace(old, new);
    for (what, text_of, words) in [
        ("no TOML", "steps = ".to_owned(), "is not a recipe"),
        ("an unknown field", format!("magic = 3\n{RECIPE}"), "magic"),
        ("no context", recipe("context = 64", "context = 0"), "context is 0"),
        ("no steps", recipe("steps = 60", "steps = 0"), "steps"),
        ("a rate below 0", recipe("peak = 1e-3", "peak = -1.0"), "peak"),
        ("an optimizer that is not there", recipe("\"muon\"", "\"magic\""), "magic"),
    ] {
        let path = folder.write("recipe.toml", text_of);
        refused(what, &["pretrain", "--recipe", text(&path), "--out", text(&out)], words);
    }
    let job = |name: &str, after: &str, command: &str| {
        format!("[[job]]\nname = \"{name}\"\nafter = [{after}]\ncommand = \"{command}\"\n")
    };
    for (what, plan, words) in [
        ("no TOML", "[[job]".to_owned(), "not a plan"),
        ("no jobs", "[variables]\n".to_owned(), "job"),
        ("an unknown command", job("a", "", "dance"), "not a command"),
        ("a circle", job("a", "\"b\"", "inspect --model m") + &job("b", "\"a\"", "inspect --model m"), "circle"),
        ("an unknown job", job("a", "\"c\"", "inspect --model m"), "c"),
    ] {
        let path = folder.write("plan.toml", plan);
        refused(what, &["study", "--plan", text(&path), "--out", text(&out)], words);
    }
    for (what, results) in [("an object", "{}"), ("half a list", "[{"), ("text", "results")] {
        let json = folder.write("results.json", results);
        let arguments = ["eval", "niah", "--model", text(&model), "--trials", "1", "--json", text(&json)];
        refused(what, &arguments, "results");
        assert_eq!(std::fs::read_to_string(&json).unwrap(), results, "{what}: changed");
    }
    let tuned = folder.write("tuned.json", "{}");
    refused(
        "what core tune did not write",
        &["eval", "niah", "--model", text(&model), "--tuned", text(&tuned)],
        "tuned.json",
    );
    assert!(!out.exists() && !Path::new("results.json").exists());
}
