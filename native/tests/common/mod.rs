//! What tests of the command line share.
#![allow(dead_code, reason = "each test program uses a part")]

pub mod study;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A folder of the test's own, removed at its end.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("drope-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        std::fs::create_dir_all(self.path(name).parent().unwrap()).unwrap();
        std::fs::write(self.path(name), bytes).unwrap();
        self.path(name)
    }

    /// A copy of a fixture model.
    pub fn model(&self, name: &str) -> PathBuf {
        for file in ["config.json", "model.safetensors"] {
            self.write(&format!("{name}/{file}"), std::fs::read(fixtures().join("rope").join(file)).unwrap());
        }
        self.path(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub fn fixtures() -> PathBuf {
    Path::new(env!("DROPE_ROOT")).join("tests/fixtures")
}

pub fn core(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_core"));
    command.args(arguments);
    command
}

pub fn run(arguments: &[&str]) -> Output {
    core(arguments).output().unwrap()
}

/// Runs a command that must succeed; what it prints.
pub fn succeeds(arguments: &[&str]) -> String {
    let output = run(arguments);
    assert!(output.status.success(), "{arguments:?} said {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

pub fn read_json(path: &Path) -> serde_json::Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

pub fn nano_rope() -> PathBuf {
    fixtures().join("../../models/nano-rope")
}

/// A copy of nano-rope that a test may change, in the folder `model`.
pub fn nano_rope_in(folder: &Folder) -> PathBuf {
    for file in ["config.json", "tokenizer.json", "model.safetensors"] {
        folder.write(&format!("model/{file}"), std::fs::read(nano_rope().join(file)).unwrap());
    }
    folder.path("model")
}

pub fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Expects exit code 2 and one line on standard error that holds `words`.
pub fn refused(arguments: &[&str], words: &str) {
    let output = run(arguments);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{arguments:?} said {said}");
    assert_eq!(said.trim().lines().count(), 1, "one sentence: {said}");
    assert!(said.contains(words), "{said} lacks {words}");
}

/// A run of seconds.
pub const RECIPE: &str = r#"
seed = 3
context = 64
steps = 60
tokens_per_step = 256
weight_decay = 0.1
max_gradient_norm = 1.0
optimizer = "muon"
model = { hidden_size = 16, intermediate_size = 32, num_hidden_layers = 2, num_attention_heads = 2, num_key_value_heads = 1, rope_theta = 10000.0 }
schedule = { peak = 1e-3, warmup = 5, floor = 0.1 }
curriculum = { min_length = 32, grow = 0.5, at_context = 0.5 }
"#;

/// Shards of a hundred documents whose words say which document it is.
pub fn shards(folder: &Folder, name: &str, digit: usize) -> PathBuf {
    let lines = (0..100).map(|document| {
        let words = format!("the magic number is: {digit} and the words are in the text. ").repeat(3 + document % 5);
        format!("{}\n", serde_json::json!({ "text": words }))
    });
    let corpus = folder.write(&format!("{name}.jsonl"), lines.collect::<String>());
    let (out, model) = (folder.path(name), nano_rope());
    succeeds(&["data", "prepare", "--text", text(&corpus), "--tokenizer", text(&model), "--out", text(&out)]);
    out
}

/// The part of a recipe that names shards.
pub fn data_of(shards: &Path) -> String {
    format!("[data]\n[[data.shards]]\nfolder = {:?}", text(shards))
}
