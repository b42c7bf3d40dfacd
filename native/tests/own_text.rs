//! Recalibration on text of one's own: `core data prepare`, then `core recalibrate` with its shards.

mod common;

use std::path::{Path, PathBuf};

use common::{Folder, core, nano_rope, refused, run, succeeds, text};

/// Shards of a hundred documents whose words say which document it is.
fn shards(folder: &Folder, name: &str, digit: usize) -> PathBuf {
    let lines = (0..100).map(|document| {
        let words = format!("the magic number is: {digit} and the words are in the text. ").repeat(3 + document % 5);
        format!("{}\n", serde_json::json!({ "text": words }))
    });
    let corpus = folder.write(&format!("{name}.jsonl"), lines.collect::<String>());
    let (out, model) = (folder.path(name), nano_rope());
    succeeds(&["data", "prepare", "--text", text(&corpus), "--tokenizer", text(&model), "--out", text(&out)]);
    out
}

/// A recipe of six steps of two windows.
fn recipe(folder: &Folder, data: &str) -> PathBuf {
    let text = format!(
        r#"
seed = 3
context = 64
steps = 6
tokens_per_step = 128
weight_decay = 0.0
max_gradient_norm = 1.0
optimizer = "adamw"
[schedule]
peak = 1e-3
warmup = 1
floor = 0.1
{data}
[drop]
positions = "all"
"#
    );
    folder.write("recipe.toml", text)
}

fn recalibrate(recipe: &Path, out: &Path, more: &[&str]) -> Vec<String> {
    let model = nano_rope();
    let arguments = ["recalibrate", "--from", text(&model), "--recipe", text(recipe), "--out", text(out)];
    let device = ["--device", "cpu", "--threads", "1"];
    [&arguments[..], &device, more].concat().into_iter().map(str::to_owned).collect()
}

fn strs(arguments: &[String]) -> Vec<&str> {
    arguments.iter().map(String::as_str).collect()
}

fn weights(folder: &Path) -> Vec<u8> {
    std::fs::read(folder.join("model.safetensors")).unwrap()
}

#[test]
fn a_model_is_recalibrated_on_shards_and_a_resumed_run_ends_with_the_same_weights() {
    let folder = Folder::new("own-text");
    let shards = shards(&folder, "shards", 4);
    let data = format!("[data]\nheld_out = 0.1\n[[data.shards]]\nfolder = {:?}", text(&shards));
    let recipe = recipe(&folder, &data);
    let (whole, parts) = (folder.path("whole"), folder.path("parts"));
    let output = run(&strs(&recalibrate(&recipe, &whole, &[])));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(!String::from_utf8_lossy(&output.stderr).contains("synthetic"));
    let card = std::fs::read_to_string(whole.join("README.md")).unwrap();
    assert!(card.contains("- **Data**: text in the shards") && !card.contains("synthetic"), "{card}");
    succeeds(&strs(&recalibrate(&recipe, &parts, &["--until", "3"])));
    succeeds(&strs(&recalibrate(&recipe, &parts, &["--resume"])));
    assert!(weights(&whole) == weights(&parts), "a pause changes the weights");
    succeeds(&["eval", "ppl", "--model", text(&whole), "--texts", "1", "--extension", "1"]);
}

#[test]
fn several_shards_and_the_synthetic_language_are_mixed() {
    let folder = Folder::new("own-text-mixed");
    let (one, two) = (shards(&folder, "one", 1), shards(&folder, "two", 2));
    let data = format!(
        "[data]\nsynthetic = 1.0\n[[data.shards]]\nfolder = {:?}\n[[data.shards]]\nfolder = {:?}\nweight = 2.0",
        text(&one),
        text(&two)
    );
    let out = folder.path("out");
    succeeds(&strs(&recalibrate(&recipe(&folder, &data), &out, &[])));
    let card = std::fs::read_to_string(out.join("README.md")).unwrap();
    assert!(card.contains("one, ") && card.contains("and the synthetic language"), "{card}");
}

#[test]
fn shards_that_do_not_fit_are_refused_in_a_sentence() {
    let folder = Folder::new("own-text-refused");
    let shards = shards(&folder, "shards", 4);
    let data = |more: &str| format!("[data]\n{more}\n[[data.shards]]\nfolder = {:?}", text(&shards));
    let out = folder.path("out");
    refused(&strs(&recalibrate(&recipe(&folder, &data("held_out = 0.9")), &out, &[])), "held_out is 0.9 but must be");
    let none = "[data]\n[[data.shards]]\nfolder = \"none\"";
    refused(&strs(&recalibrate(&recipe(&folder, none), &out, &[])), "none holds no data shards");
    // A run that is paused is not gone on with on other text.
    let recipe = recipe(&folder, &data(""));
    succeeds(&strs(&recalibrate(&recipe, &out, &["--until", "2"])));
    let bin = shards.join("00000.bin");
    let bytes = std::fs::read(&bin).unwrap();
    std::fs::write(&bin, [&bytes[2..], &bytes[..2]].concat()).unwrap();
    refused(&strs(&recalibrate(&recipe, &out, &["--resume"])), "00000.bin was changed since it was written");
    std::fs::write(&bin, &bytes).unwrap();
    let manifest = shards.join("index.json");
    let other = std::fs::read_to_string(&manifest).unwrap().replace("\"files\": 1", "\"files\": 2");
    std::fs::write(&manifest, other).unwrap();
    refused(&strs(&recalibrate(&recipe, &out, &["--resume"])), "the shards are not those that the run in");
    // Another vocabulary.
    let fixture = std::fs::read_to_string(&manifest).unwrap();
    let hash = fixture.split("\"tokenizer\": \"").nth(1).unwrap().split('"').next().unwrap().to_owned();
    std::fs::write(&manifest, fixture.replace(&hash, "000000000000")).unwrap();
    let output = core(&strs(&recalibrate(&recipe, &folder.path("other"), &[]))).output().unwrap();
    assert!(String::from_utf8_lossy(&output.stderr).contains("are of another tokenizer than the model's"));
}

#[test]
fn a_run_that_is_killed_twenty_times_ends_with_the_same_weights() {
    let folder = Folder::new("own-text-killed");
    let shards = shards(&folder, "shards", 4);
    let data = format!("[data]\n[[data.shards]]\nfolder = {:?}", text(&shards));
    let recipe = recipe(&folder, &data);
    let long = ["--set", "steps=150", "--save-every", "3"];
    let (whole, parts) = (folder.path("whole"), folder.path("parts"));
    succeeds(&strs(&recalibrate(&recipe, &whole, &long)));
    let is_done = || parts.join("model.safetensors").exists();
    // As `core study` does: go on where there is something to go on with.
    let begun = || ["checkpoint", "checkpoint.old"].iter().any(|name| parts.join(name).exists());
    let run = || recalibrate(&recipe, &parts, &[&long[..], if begun() { &["--resume"] } else { &[] }].concat());
    let mut kills = 0;
    // Moments that look random, and are the same in every run.
    for moment in (0..20).map(|kill| 120 + kill * 7919 % 380) {
        if is_done() {
            break;
        }
        let mut child = core(&strs(&run())).stderr(std::process::Stdio::null()).spawn().unwrap();
        std::thread::sleep(std::time::Duration::from_millis(moment));
        child.kill().unwrap();
        kills += usize::from(!child.wait().unwrap().success());
    }
    assert!(kills >= 3, "{kills}");
    if !is_done() {
        succeeds(&strs(&run()));
    }
    assert!(weights(&whole) == weights(&parts), "{kills} kills change the weights");
    assert!(!parts.join("checkpoint").exists());
}
