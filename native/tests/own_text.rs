//! Recalibration on text of one's own: `core data prepare`, then `core recalibrate` with its shards.

mod common;

use std::path::{Path, PathBuf};

use common::{Folder, core, data_of, nano_rope, read_json, refused, run, shards, succeeds, text};

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
fn documents_of_a_window_see_each_other_unless_the_recipe_masks_them() {
    let folder = Folder::new("own-text-masked");
    let shards = shards(&folder, "shards", 4);
    let losses = |name: &str, more: &str| {
        let evaluation = "[evaluation]\nevery = 6\nwindows = 4";
        let data = format!("[data]\n{more}held_out = 0.1\n[[data.shards]]\nfolder = {:?}\n{evaluation}", text(&shards));
        let out = folder.path(name);
        succeeds(&strs(&recalibrate(&recipe(&folder, &data), &out, &["--set", "drop.positions=none"])));
        std::fs::read_to_string(out.join("held_out.jsonl")).unwrap()
    };
    let (seen, masked) = (losses("seen", ""), losses("masked", "mask_documents = true\n"));
    assert_ne!(seen.lines().next().unwrap(), masked.lines().next().unwrap(), "the model before training");
    assert_eq!((seen.lines().count(), masked.lines().count()), (2, 2));
}

/// The commands of the README, from a model and a folder of text to an evaluation: here with a small model and few tokens.
#[cfg(unix)]
#[test]
fn the_commands_of_the_readme_lead_from_a_folder_of_text_to_an_evaluated_model() {
    let folder = Folder::new("own-text-readme");
    for (name, digit) in (0..20).map(|digit| (format!("corpus/deep/{digit}.md"), digit)) {
        folder.write(&name, format!("the magic number is: {digit} and the words are in the text. ").repeat(20));
    }
    let root = Path::new(env!("DROPE_ROOT"));
    let readme = std::fs::read_to_string(root.join("README.md")).unwrap();
    let block = readme.split("<!-- test: native/tests/own_text.rs").nth(1).unwrap().split("```").nth(1).unwrap();
    let mut script = block.strip_prefix("sh\n").unwrap().to_owned();
    assert_eq!(script.lines().count(), 4, "{script}");
    let small = "context=32,steps=4,tokens_per_step=128,schedule.warmup=1,evaluation.every=2,evaluation.windows=4";
    let recipe = format!("{} --set {small} --device cpu", root.join("recipes/own-text.toml").display());
    let model = nano_rope();
    for (from, to) in [
        ("$(cargo xtask fetch smollm2)", text(&model)),
        ("recipes/own-text.toml", &*recipe),
        ("1k,4k", "32,64"),
        ("\ncore ", "\n\"$CORE\" "),
    ] {
        assert!(script.contains(from), "{script} lacks {from}");
        script = script.replace(from, to);
    }
    let output = std::process::Command::new("sh")
        .args(["-euc", &script])
        .env("CORE", env!("CARGO_BIN_EXE_core"))
        .current_dir(&folder.0)
        .output()
        .unwrap();
    let (said, printed) = (String::from_utf8_lossy(&output.stderr), String::from_utf8_lossy(&output.stdout));
    assert!(output.status.success(), "{said}");
    let dropped = folder.path("dropped");
    assert!(std::fs::read_to_string(dropped.join("loss.svg")).unwrap().contains("held-out text"));
    assert_eq!(held_out(&dropped).len(), 3);
    // A perplexity for each length.
    assert_eq!(printed.lines().filter(|line| line.starts_with("dropped")).count(), 2, "{printed}");
}

/// Data of a run that measures the held-out loss after every second update.
fn measured(shards: &Path, more: &str) -> String {
    let folder = text(shards);
    format!(
        "[data]\nheld_out = 0.1\n[[data.shards]]\nfolder = {folder:?}\n[evaluation]\nevery = 2\nwindows = 4\n{more}"
    )
}

/// Held-out losses by step.
fn held_out(out: &Path) -> Vec<(u64, f64)> {
    let text = std::fs::read_to_string(out.join("held_out.jsonl")).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    lines.map(|line| (line["step"].as_u64().unwrap(), line["loss"].as_f64().unwrap())).collect()
}

#[test]
fn the_best_model_stays_where_the_last_is_worse_and_losses_are_drawn() {
    let folder = Folder::new("own-text-best");
    let shards = shards(&folder, "shards", 4);
    let recipe = recipe(&folder, &measured(&shards, "keep_best = true"));
    let (better, worse) = (folder.path("better"), folder.path("worse"));
    succeeds(&strs(&recalibrate(&recipe, &better, &["--set", "drop.positions=none"])));
    let losses = held_out(&better);
    assert_eq!(losses.iter().map(|&(step, _)| step).collect::<Vec<_>>(), [0, 2, 4, 6]);
    assert!(losses[3].1 < losses[2].1 && !better.join("best").exists(), "{losses:?}");
    // A rate that rises until the model gets worse.
    let high = "drop.positions=none,schedule.peak=0.3,schedule.warmup=40,steps=40";
    succeeds(&strs(&recalibrate(&recipe, &worse, &["--set", high, "--until", "6"])));
    let losses = held_out(&worse);
    let (best, _) = losses[1..].iter().copied().min_by(|a, b| a.1.total_cmp(&b.1)).unwrap();
    assert!(best < 6, "{losses:?}");
    assert!(
        worse.join("best/model.safetensors").exists()
            && weights(&worse.join("best")) != weights(&worse.join("checkpoint"))
    );
    for out in [&better, &worse] {
        let picture = std::fs::read_to_string(out.join("loss.svg")).unwrap();
        assert!(picture.starts_with("<svg") && picture.contains("held-out text"));
    }
    assert!(!better.join(".training.lock").exists());
}

#[test]
fn needles_and_a_sample_are_measured_during_a_run() {
    let folder = Folder::new("own-text-needles");
    let recipe = recipe(&folder, &measured(&shards(&folder, "shards", 4), "needles = 3\nsample = 8"));
    let out = folder.path("out");
    // Dropping nothing leaves the model as it is: it finds needles.
    let settings = ["--set", "drop.positions=none,context=128,schedule.peak=1e-6"];
    succeeds(&strs(&recalibrate(&recipe, &out, &settings)));
    let lines = std::fs::read_to_string(out.join("held_out.jsonl")).unwrap();
    for line in lines.lines() {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        assert_eq!(line["needles"], 3, "{line}");
        assert!(!line["sample"].as_str().unwrap().trim().is_empty(), "{line}");
    }
    assert_eq!(lines.lines().count(), 4);
}

#[test]
fn perplexity_of_shards_is_of_the_documents_that_are_asked_for() {
    let folder = Folder::new("own-text-ppl");
    // The held-out documents are every tenth, and have other words.
    let line = |document: usize| {
        let words = if document % 10 == 9 { "the special magic word is: bag. " } else { "a b c d e f g. " };
        format!("{}\n", serde_json::json!({ "text": words.repeat(10) }))
    };
    let corpus = folder.write("corpus.jsonl", (0..100).map(line).collect::<String>());
    let (shards, model) = (folder.path("shards"), nano_rope());
    succeeds(&["data", "prepare", "--text", text(&corpus), "--tokenizer", text(&model), "--out", text(&shards)]);
    let ppl = |name: &str, more: &[&str]| {
        let json = folder.path(name);
        let arguments =
            ["eval", "ppl", "--model", text(&model), "--lengths", "64", "--texts", "4", "--json", text(&json)];
        succeeds(&[&arguments[..], &["--text", text(&shards)], more].concat());
        let cell = read_json(&json)[0].clone();
        (cell["source"].as_str().unwrap().to_owned(), cell["loss"].as_f64().unwrap())
    };
    let (all, held_out) = (ppl("all.json", &[]), ppl("held-out.json", &["--held-out", "0.1"]));
    assert!(all.0.starts_with("shards ") && held_out.0.ends_with(", held out 0.1"), "{all:?}, {held_out:?}");
    assert!(held_out.1 < all.1, "nano-rope knows the words: {held_out:?}, {all:?}");
    let arguments = ["eval", "ppl", "--model", text(&model), "--lengths", "64", "--text", text(&folder.0)];
    refused(&arguments, "holds no data shards");
    let file = folder.write("file.txt", "the number is: 1.");
    let of_file = ["eval", "ppl", "--model", text(&model), "--text", text(&file), "--held-out"];
    refused(&[&of_file[..], &["0.1"]].concat(), "--held-out is for a folder of shards");
    let said = run(&[&of_file[..], &["1.5"]].concat());
    assert!(
        said.status.code() == Some(2) && String::from_utf8_lossy(&said.stderr).contains("not a number from 0 to 1")
    );
}

#[test]
fn checkpoints_of_earlier_steps_are_kept_on_request() {
    let folder = Folder::new("own-text-kept");
    let shards = shards(&folder, "shards", 4);
    let recipe = recipe(&folder, &data_of(&shards));
    let (out, whole) = (folder.path("out"), folder.path("whole"));
    let more = ["--save-every", "1", "--keep", "3"];
    succeeds(&strs(&recalibrate(&recipe, &out, &[&more[..], &["--until", "5"]].concat())));
    let kept = || -> Vec<bool> {
        let names = ["checkpoint-1", "checkpoint-2", "checkpoint-3", "checkpoint-4", "checkpoint"];
        names.iter().map(|name| out.join(name).join("model.safetensors").exists()).collect()
    };
    assert_eq!(kept(), [false, false, true, true, true]);
    succeeds(&["inspect", "--model", text(&out.join("checkpoint-3"))]);
    succeeds(&strs(&recalibrate(&recipe, &out, &[&more[..], &["--resume"]].concat())));
    assert_eq!(kept(), [false, false, true, true, false]);
    succeeds(&strs(&recalibrate(&recipe, &whole, &[])));
    assert!(weights(&whole) == weights(&out));
}

#[test]
fn updates_that_spike_are_left_out_and_said_with_their_place() {
    let folder = Folder::new("own-text-guard");
    let shards = shards(&folder, "shards", 4);
    let guard = data_of(&shards) + "\n[guard]\nspike = 1.0001\nstop_after = 2";
    let recipe = recipe(&folder, &guard);
    let output = run(&strs(&recalibrate(&recipe, &folder.path("out"), &["--set", "steps=200,schedule.peak=1e-12"])));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("left out, its gradients have a norm of") && said.contains("its text is tokens "), "{said}");
    assert_eq!(output.status.code(), Some(2), "two in a row end the run: {said}");
}

#[cfg(unix)]
#[test]
fn a_run_that_is_asked_to_end_saves_and_another_in_its_folder_is_refused() {
    use nix::sys::signal::{Signal, kill};
    use nix::unistd::Pid;

    let folder = Folder::new("own-text-ended");
    let shards = shards(&folder, "shards", 4);
    let recipe = recipe(&folder, &measured(&shards, ""));
    let (out, whole) = (folder.path("out"), folder.path("whole"));
    let long = ["--set", "steps=100", "--save-every", "1000"];
    let mut child =
        core(&strs(&recalibrate(&recipe, &out, &long))).stderr(std::process::Stdio::null()).spawn().unwrap();
    while !out.join("held_out.jsonl").exists() {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    refused(&strs(&recalibrate(&recipe, &out, &long)), "another run trains in");
    kill(Pid::from_raw(child.id() as i32), Signal::SIGTERM).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(out.join("checkpoint/model.safetensors").exists());
    succeeds(&strs(&recalibrate(&recipe, &out, &[&long[..], &["--resume"]].concat())));
    succeeds(&strs(&recalibrate(&recipe, &whole, &long)));
    assert!(weights(&whole) == weights(&out) && held_out(&whole) == held_out(&out));
}

#[cfg(unix)]
#[test]
fn a_full_disk_and_shards_that_vanish_end_a_run_with_a_sentence_and_its_checkpoint_stays() {
    let folder = Folder::new("own-text-faults");
    let shards = shards(&folder, "shards", 4);
    let recipe = recipe(&folder, &data_of(&shards));
    let (out, whole) = (folder.path("out"), folder.path("whole"));
    let long = ["--set", "steps=60", "--save-every", "5"];
    let resume = || recalibrate(&recipe, &out, &[&long[..], &["--resume"]].concat());
    succeeds(&strs(&recalibrate(&recipe, &whole, &long)));
    succeeds(&strs(&recalibrate(&recipe, &out, &[&long[..], &["--until", "5"]].concat())));
    // No file may be longer than 100 kB, which ends a write as a full disk does.
    let limited = std::process::Command::new("sh")
        .args(["-c", "trap '' XFSZ; ulimit -f 100; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_core")])
        .args(resume())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&limited.stderr);
    assert_eq!(limited.status.code(), Some(2), "{said}");
    assert!(said.contains("cannot write") && said.contains("check free space"), "{said}");
    assert!(out.join("checkpoint/model.safetensors").exists() && !out.join("checkpoint.tmp").exists());
    // The tokens are cut off while a run reads them.
    let (bin, bytes) = (shards.join("00000.bin"), std::fs::read(shards.join("00000.bin")).unwrap());
    let child = core(&strs(&resume())).stderr(std::process::Stdio::piped()).spawn().unwrap();
    while !out.join("loss.jsonl").exists() {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    std::fs::write(&bin, &bytes[..10]).unwrap();
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("00000.bin"), "{said}");
    std::fs::write(&bin, &bytes).unwrap();
    succeeds(&strs(&resume()));
    assert!(weights(&whole) == weights(&out), "faults change the weights");
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
    let data = data_of(&shards);
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
    // A kill may fall between the last model and the end of the checkpoint, with which the run goes on too.
    if !is_done() || begun() {
        succeeds(&strs(&run()));
    }
    assert!(weights(&whole) == weights(&parts), "{kills} kills change the weights");
    assert!(!parts.join("checkpoint").exists());
}
