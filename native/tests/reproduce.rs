//! `core reproduce`: every section on tiny models, the same report rendered again, and the documents of this repository.

mod common;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use common::{Folder, fixtures, refused, run, text};

fn succeeds(arguments: &[&str]) -> String {
    let output = run(arguments);
    assert!(output.status.success(), "{arguments:?} said {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn root() -> PathBuf {
    fixtures().join("../..")
}

fn read(path: &Path) -> serde_json::Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

/// Every file of a folder that is text, models left out.
fn files(folder: &Path) -> BTreeMap<String, String> {
    let mut files = BTreeMap::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            files.insert(name, std::fs::read_to_string(&path).unwrap());
        }
    }
    files
}

/// The recipes of the repository for models that train in a moment.
fn tiny_recipes(folder: &Folder) {
    for name in [
        "nano-rope",
        "nano-drope",
        "nano-p-drope",
        "ablation/drope-plain",
        "ablation/drope-ssmax",
        "ablation/drope-copies",
        "reproduction/budget",
        "reproduction/passkey",
        "reproduction/qk-norm",
    ] {
        let recipe = std::fs::read_to_string(root().join(format!("recipes/{name}.toml"))).unwrap();
        let mut recipe: toml::Table = toml::from_str(&recipe).unwrap();
        for (field, value) in [("context", 128), ("tokens_per_step", 256)] {
            recipe.insert(field.into(), toml::Value::Integer(value));
        }
        if let Some(model) = recipe.get_mut("model").and_then(|model| model.as_table_mut()) {
            for (field, value) in [("hidden_size", 32), ("intermediate_size", 32), ("num_hidden_layers", 2)] {
                model.insert(field.into(), toml::Value::Integer(value));
            }
        }
        folder.write(&format!("recipes/{name}.toml"), toml::to_string(&recipe).unwrap());
    }
}

/// Models by the names of the shipped ones, of one step each.
fn tiny_models(folder: &Folder) {
    let rope = folder.path("models/nano-rope");
    let short = |name: &str| {
        let recipe = std::fs::read_to_string(folder.path(&format!("recipes/{name}.toml"))).unwrap();
        let mut recipe: toml::Table = toml::from_str(&recipe).unwrap();
        recipe.insert("steps".into(), toml::Value::Integer(4));
        folder.write(&format!("short/{name}.toml"), toml::to_string(&recipe).unwrap())
    };
    let train = |command: &[&str], name: &str, recipe: &str| {
        let (out, recipe) = (folder.path(&format!("models/{name}")), short(recipe));
        let common = ["--recipe", text(&recipe), "--out", text(&out), "--device", "cpu", "--threads", "1"];
        succeeds(&[command, &common].concat());
    };
    train(&["pretrain"], "nano-rope", "nano-rope");
    for pe in ["nope", "alibi", "rnope-swa"] {
        train(&["pretrain", "--pe", pe], &format!("nano-{pe}"), "nano-rope");
    }
    for name in ["nano-drope", "nano-p-drope"] {
        train(&["recalibrate", "--from", text(&rope)], name, name);
    }
    // LongRoPE's factors, one a pair, without the search for them.
    for file in ["model.safetensors", "tokenizer.json"] {
        folder.write(&format!("models/nano-longrope2/{file}"), std::fs::read(rope.join(file)).unwrap());
    }
    let mut config = read(&rope.join("config.json"));
    config["rope_scaling"] = serde_json::json!({
        "rope_type": "longrope", "factor": 8.0, "short_factor": [1.0, 1.0, 1.0, 1.0], "long_factor": [1.0, 2.0, 4.0, 8.0],
        "original_max_position_embeddings": 128,
    });
    folder.write("models/nano-longrope2/config.json", config.to_string());
}

/// `core reproduce` on the tiny models.
fn reproduce(folder: &Folder, more: &[&str]) -> Vec<String> {
    let [out, models, recipes] = ["out", "models", "recipes"].map(|name| text(&folder.path(name)).to_owned());
    let arguments = ["reproduce", "--out", &out, "--models", &models, "--recipes", &recipes, "--trials", "2"];
    let more = [&["--steps", "4", "--device", "cpu", "--threads", "2"], more].concat();
    arguments.into_iter().chain(more).map(str::to_owned).collect()
}

fn as_strs(arguments: &[String]) -> Vec<&str> {
    arguments.iter().map(String::as_str).collect()
}

#[test]
fn every_section_is_made_and_rendered_alike_and_an_edited_recipe_is_noticed() {
    let folder = Folder::new("reproduce");
    tiny_recipes(&folder);
    tiny_models(&folder);
    for document in ["README.md", "docs/results/README.md"] {
        folder.write(document, std::fs::read(root().join(document)).unwrap());
    }
    let documents = text(&folder.0).to_owned();
    succeeds(&as_strs(&reproduce(&folder, &["--documents", &documents])));
    let out = folder.path("out");
    let made = files(&out);
    let report = &made["README.md"];
    assert!(!report.contains("Left out so far"), "{report}");
    assert!(report.contains("`core reproduce --trials 2 --steps 4`"), "{report}");
    assert!(made.keys().filter(|name| name.ends_with(".svg")).count() >= 10, "{:?}", made.keys());
    let titles = report.lines().filter(|line| line.starts_with("## ")).count();
    assert_eq!(titles, 14);
    assert!(report.contains("Questions a cell: 2."), "{report}");
    let findings = std::fs::read_to_string(folder.path("docs/findings.md")).unwrap();
    assert!(findings.contains("**The comparison is uneven.**"), "{findings}");

    // Rendering the results files alone gives the same report.
    let data = files(&out.join("data"));
    for name in made.keys().filter(|name| name.ends_with(".md") && *name != "README.md") {
        std::fs::remove_file(out.join(name)).unwrap();
    }
    succeeds(&as_strs(&reproduce(&folder, &["--render", "--documents", &documents])));
    for (name, contents) in files(&out) {
        assert!(contents == made[&name], "{name} is rendered otherwise:\n{contents}\nbut was\n{}", made[&name]);
    }
    assert!(files(&out.join("data")) == data, "rendering measures nothing");
    assert_eq!(std::fs::read_to_string(folder.path("docs/findings.md")).unwrap(), findings);

    // An edited recipe: the model that is there is another one.
    let recipe = folder.path("recipes/ablation/drope-ssmax.toml");
    let edited = std::fs::read_to_string(&recipe).unwrap().replace("weight_decay = 0.02", "weight_decay = 0.03");
    std::fs::write(&recipe, edited).unwrap();
    let long = reproduce(&folder, &["--only", "long"]);
    refused(&as_strs(&long), "move it away to train it anew");
    // Results are kept, models are not: it is trained and measured anew.
    let cells = || read(&out.join("data/ablation.json")).as_array().unwrap().len();
    let before = cells();
    std::fs::remove_dir_all(out.join("models/drope-ssmax")).unwrap();
    assert!(succeeds(&as_strs(&long)).contains("training drope-ssmax"));
    assert_eq!(cells(), before + 5, "five lengths");
    // A run whose model was not kept is not trained again as long as its recipe is the same.
    std::fs::remove_dir_all(out.join("models")).unwrap();
    assert!(!succeeds(&as_strs(&long)).lines().any(|line| line.starts_with("training ")));
    assert_eq!(cells(), before + 5);
    // Another report is not mixed with this one.
    refused(
        &["reproduce", "--quick", "--out", text(&out), "--models", text(&folder.path("models"))],
        "was not written by `core reproduce --quick`",
    );
}

#[test]
fn of_two_results_the_present_models_counts() {
    let folder = Folder::new("two-results");
    let (models, out, data) = (root().join("models"), folder.path("out"), folder.path("data"));
    let known = read(&root().join("docs/results/niah.json"));
    let is_wanted = |cell: &&serde_json::Value| {
        (&cell["model"], &cell["task"], &cell["values"])
            == (&"nano-drope".into(), &"multi-key".into(), &"numbers".into())
    };
    let probe = folder.path("fingerprint.json");
    let model = models.join("nano-drope");
    let ask = ["eval", "niah", "--model", text(&model), "--method", "drope", "--extension", "1", "--trials", "1"];
    succeeds(&[&ask[..], &["--json", text(&probe)]].concat());
    let fingerprint = &read(&probe)[0]["fingerprint"];
    let of_present = |cell: serde_json::Value| {
        let mut cell = cell;
        cell["fingerprint"] = fingerprint.clone();
        cell
    };
    let present: Vec<serde_json::Value> =
        known.as_array().unwrap().iter().filter(is_wanted).cloned().map(of_present).collect();
    assert_eq!(present.len(), 4);
    let stale = |cell: &serde_json::Value, fingerprint: &str| {
        let mut stale = cell.clone();
        stale["fingerprint"] = fingerprint.into();
        stale["accuracy"] = 0.123.into();
        stale
    };
    let render = |cells: Vec<serde_json::Value>| {
        folder.write("data/niah.json", serde_json::Value::from(cells).to_string());
        let arguments = ["reproduce", "--render", "--only", "retrieval", "--out", text(&out), "--data", text(&data)];
        succeeds(&[&arguments[..], &["--models", text(&models), "--recipes", text(&root().join("recipes"))]].concat());
        std::fs::read_to_string(out.join("retrieval.md")).unwrap()
    };
    // Results of another model do not count, whether they stand before or after those of the present model.
    let others = present.iter().map(|cell| stale(cell, "another"));
    let rendered = render(others.clone().chain(present.clone()).chain(others.clone()).collect());
    assert!(!rendered.contains("12.3 ["), "{rendered}");
    // If the model is not known, the later result counts.
    let unknown = |cells: &[serde_json::Value]| -> Vec<serde_json::Value> {
        let named = |cell: &serde_json::Value| {
            let mut cell = cell.clone();
            cell["model"] = "drope-plain".into();
            cell
        };
        cells.iter().map(named).collect()
    };
    let newest: Vec<_> = present.iter().map(|cell| stale(cell, "another")).collect();
    folder.write(
        "data/ablation.json",
        serde_json::Value::from([unknown(&present), unknown(&newest)].concat()).to_string(),
    );
    assert!(render(present).contains("12.3 ["));
}

#[test]
fn what_the_documents_say_is_what_the_results_files_say() {
    let folder = Folder::new("documents");
    let documents = ["README.md", "docs/findings.md", "docs/results/README.md"];
    for document in documents {
        folder.write(document, std::fs::read(root().join(document)).unwrap());
    }
    let committed = root().join("docs/reproduction");
    for (name, contents) in files(&committed) {
        folder.write(&format!("docs/reproduction/{name}"), contents);
    }
    let (out, data) = (folder.path("docs/reproduction"), root().join("docs/results"));
    let [models, recipes] = ["models", "recipes"].map(|name| root().join(name));
    let arguments = ["reproduce", "--render", "--out", text(&out), "--data", text(&data), "--models", text(&models)];
    succeeds(&[&arguments[..], &["--recipes", text(&recipes), "--documents", text(&folder.0)]].concat());
    let is_same = |document: &str| {
        let [new, old] = [&folder.0, &root()].map(|root| std::fs::read_to_string(root.join(document)).unwrap());
        assert!(new == old, "{document} is not that of the results files: run `cargo xtask table`");
    };
    documents.into_iter().for_each(is_same);
    // Where the study has results.
    let written: Vec<String> = files(&folder.path("docs")).into_keys().collect();
    written.iter().for_each(|name| is_same(&format!("docs/{name}")));
    for name in files(&committed).keys().filter(|name| name.ends_with(".md")) {
        is_same(&format!("docs/reproduction/{name}"));
    }
}
