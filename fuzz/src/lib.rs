//! The readers of files that others wrote, each as a function of the file's bytes. An error is a correct result. Faults
//! are a panic, memory far beyond the file's size, or a file that is read differently after it was written again.

use drope_core::benchmarks::{self, BenchmarkCell};
use drope_core::burn::tensor::Device;
use drope_core::config::Config;
use drope_core::gguf::Gguf;
use drope_core::model::{Model, SafetensorsFiles, ShardIndex, WeightSource};
use drope_core::perplexity::{self, PerplexityCell};
use drope_core::positions::Method;
use drope_core::results::{self, RetrievalCell};
use drope_core::train::recipe::Recipe;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// A reader of a file's bytes.
pub type Reader = fn(&[u8]);

/// Every reader, by the name of its target and of its folder in `corpus/`.
pub const READERS: [(&str, Reader); 5] =
    [("config", config), ("gguf", gguf), ("recipe", recipe), ("results", results), ("safetensors", safetensors)];

/// Models with more parameters than this are read but not built: the config alone decides how much memory they take.
const MOST_PARAMETERS: u64 = 1 << 16;

/// `config.json`, read with every method.
pub fn config(bytes: &[u8]) {
    let Ok(text) = str::from_utf8(bytes) else { return };
    let Ok(config) = Config::from_json(text) else { return };
    let written = config.to_json();
    let again = Config::from_json(&written).expect("what was written can be read");
    assert_eq!(again.to_json(), written, "it is read as it was written");
    for method in Method::ALL {
        for factor in [1.0, 4.0] {
            let Ok(positions) = method.positions(&config, factor) else { continue };
            assert!(
                positions.logit_scale.is_finite(),
                "{} has the temperature {}",
                method.name(),
                positions.logit_scale
            );
        }
    }
}

/// A GGUF file: config, tokenizer, chat template and weights.
pub fn gguf(bytes: &[u8]) {
    let Ok(gguf) = Gguf::open(bytes) else { return };
    if let Ok(tokenizer) = gguf.tokenizer() {
        let _ = tokenizer.prompt("The 4 quick brown\nfoxes — naïve");
    }
    if let Ok(Some(template)) = gguf.chat_template() {
        let _ = template.affixes(None);
    }
    if let Ok(config) = gguf.config() {
        load(&config, &gguf);
    }
}

/// A recipe of training.
pub fn recipe(bytes: &[u8]) {
    let Ok(text) = str::from_utf8(bytes) else { return };
    let Ok(recipe) = toml::from_str::<Recipe>(text) else { return };
    if recipe.check().is_err() {
        return;
    }
    let written = toml::to_string(&recipe).expect("a recipe can be written");
    let again: Recipe = toml::from_str(&written).expect("what was written can be read");
    again.check().expect("what was written is a recipe");
    assert_eq!(toml::to_string(&again).expect("a recipe can be written"), written, "it is read as it was written");
}

/// A results file of any kind, whose cells are joined as `core merge` does.
pub fn results(bytes: &[u8]) {
    let Ok(text) = str::from_utf8(bytes) else { return };
    merged::<RetrievalCell>(text, results::merge);
    merged::<PerplexityCell>(text, perplexity::merge);
    merged::<BenchmarkCell>(text, benchmarks::merge);
}

/// Joins the cells of one kind, if the file has them, and reads the result again.
fn merged<T: DeserializeOwned + Serialize>(text: &str, merge: impl Fn(Vec<T>) -> drope_core::Result<Vec<T>>) {
    let Ok(cells) = serde_json::from_str::<Vec<T>>(text) else { return };
    let Ok(cells) = merge(cells) else { return };
    let written = results::to_json(&cells).expect("cells can be written");
    let again: Vec<T> = serde_json::from_str(&written).expect("what was written can be read");
    assert_eq!(results::to_json(&again).expect("cells can be written"), written, "it is read as it was written");
}

/// A safetensors file, and the same bytes as the index of several files.
pub fn safetensors(bytes: &[u8]) {
    let index = ShardIndex::from_json(bytes);
    let Ok(files) = SafetensorsFiles::from_bytes(bytes) else { return };
    if let Ok(index) = index {
        let _ = index.check(&files);
    }
    for name in files.names() {
        // With any shape but its own the tensor is refused.
        let _ = files.tensor(&name, &[1]);
        let _ = files.tensor(&name, &[2, 2]);
    }
    let _ = files.num_parameters();
}

/// A small model's weights.
fn load(config: &Config, source: &impl WeightSource) {
    if config.num_parameters() <= MOST_PARAMETERS {
        let _ = Model::load(config, source, &Device::flex());
    }
}
