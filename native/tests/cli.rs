//! The command line as its users meet it: results and interruption.

mod common;

use std::process::Command;
use std::time::{Duration, Instant};

use common::{Folder, RECIPE, core, fixtures, nano_rope, read_json, refused, run, succeeds, text};

#[test]
fn logits_have_the_shape_that_is_promised() {
    let folder = Folder::new("logits");
    let out = folder.path("out.safetensors");
    let model = fixtures().join("rope");
    let output = run(&[
        "logits",
        "--model",
        text(&model),
        "--method",
        "yarn",
        "--factor",
        "4",
        "--ids",
        "1,2,3",
        "--out",
        text(&out),
    ]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let bytes = std::fs::read(&out).unwrap();
    let file = safetensors::SafeTensors::deserialize(&bytes).unwrap();
    let logits = file.tensor("logits").unwrap();
    assert_eq!((logits.shape(), logits.dtype()), (&[3, 48][..], safetensors::Dtype::F32));
}

#[test]
fn inspect_tells_frequencies_and_parameters() {
    let model = fixtures().join("rope");
    let output = run(&["inspect", "--model", text(&model), "--method", "ntk", "--factor", "2"]);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(said.contains("parameters: 26272"), "{said}");
    assert!(said.contains("ntk at 2 times") && said.contains("radians/token"), "{said}");
}

#[test]
fn a_run_that_is_stopped_and_resumed_equals_one_that_is_not() {
    let folder = Folder::new("resume");
    let recipe = folder.write("recipe.toml", RECIPE);
    let arguments = |out: &'static str| {
        let out = text(&folder.path(out)).to_owned();
        ["pretrain", "--recipe", text(&recipe), "--out", &out, "--device", "cpu", "--threads", "2", "--save-every", "7"]
            .map(str::to_owned)
    };
    let whole = Command::new(env!("CARGO_BIN_EXE_core")).args(arguments("whole")).output().unwrap();
    assert!(whole.status.success(), "{}", String::from_utf8_lossy(&whole.stderr));

    let mut first = Command::new(env!("CARGO_BIN_EXE_core")).args(arguments("parts")).spawn().unwrap();
    let checkpoint = folder.path("parts/checkpoint/state.json");
    let start = Instant::now();
    while !checkpoint.exists() && start.elapsed() < Duration::from_secs(120) {
        std::thread::sleep(Duration::from_millis(2));
    }
    let interrupt = Command::new("kill").args(["-INT", &first.id().to_string()]).status().unwrap();
    assert!(interrupt.success());
    assert_eq!(first.wait().unwrap().code(), Some(130), "stopped before its end");
    assert!(!folder.path("parts/model.safetensors").exists(), "an unfinished run leaves no model");
    refused(&arguments("parts").each_ref().map(String::as_str), "go on with --resume");

    let rest = Command::new(env!("CARGO_BIN_EXE_core")).args(arguments("parts")).arg("--resume").output().unwrap();
    assert!(rest.status.success(), "{}", String::from_utf8_lossy(&rest.stderr));
    for file in ["model.safetensors", "config.json", "tokenizer.json", "recipe.toml"] {
        let read = |run: &str| std::fs::read(folder.path(run).join(file)).unwrap();
        assert!(read("whole") == read("parts"), "{file} differs");
    }
    let steps = |run: &str| {
        let curve = std::fs::read_to_string(folder.path(run).join("loss.jsonl")).unwrap();
        curve
            .lines()
            .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()["step"].clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(steps("whole"), steps("parts"));
    assert!(!folder.path("parts/checkpoint").exists(), "a finished run leaves no checkpoint");
}

/// As behind `2>&1 | tee log`, where Ctrl-C ends `tee` first.
#[cfg(unix)]
#[test]
fn a_run_outlives_the_reader_of_its_messages() {
    let folder = Folder::new("no-reader");
    let (recipe, out) = (folder.write("recipe.toml", RECIPE), folder.path("out"));
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let arguments = ["pretrain", "--recipe", text(&recipe), "--out", text(&out), "--device", "cpu", "--set"];
    // Some updates are left out, which is said.
    let mut run = core(&arguments);
    run.arg("steps=20,schedule.peak=1e-12,guard.spike=1.0001,guard.stop_after=20").stderr(writer);
    assert!(run.status().unwrap().success());
    assert!(out.join("model.safetensors").exists());
    let curve = std::fs::read_to_string(out.join("loss.jsonl")).unwrap();
    assert!(
        !curve.is_empty()
            && curve.lines().all(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()["loss"].is_f64())
    );
    succeeds(&["inspect", "--model", text(&out), "--json", text(&folder.path("models.json"))]);
    // An error that nobody reads has its exit code all the same.
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let again = core(&arguments).arg("steps=20").stderr(writer).status().unwrap();
    assert_eq!(again.code(), Some(2), "the folder holds a model already");
}

#[test]
fn models_without_rope_are_trained_from_scratch() {
    let folder = Folder::new("pe");
    let recipe = folder.write("recipe.toml", RECIPE.replace("steps = 60", "steps = 2"));
    for (pe, kind) in [
        ("nope", "\"attention_type\": \"nope\""),
        ("alibi", "\"alibi\": true"),
        ("rnope-swa", "\"sliding_window\": 16"),
        // 2π/64; 20/64 of the 4 pairs.
        ("p-rope", "\"rope_min_frequency\": 0.098"),
        ("cope", "\"rope_clipped_pairs\": "),
    ] {
        let out = folder.path(pe);
        let output = run(&["pretrain", "--pe", pe, "--recipe", text(&recipe), "--out", text(&out), "--device", "cpu"]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let config = std::fs::read_to_string(out.join("config.json")).unwrap();
        assert!(config.contains(kind), "{config}");
        // Read back as what it was trained as.
        let method = match pe {
            "nope" => "drope",
            "p-rope" => "p-drope",
            other => other,
        };
        let output = run(&["inspect", "--model", text(&out)]);
        assert!(String::from_utf8_lossy(&output.stdout).contains(&format!("method: {method} at 1 times")));
    }
}

#[test]
fn a_budget_takes_the_place_of_the_steps() {
    let folder = Folder::new("tokens");
    let recipe = folder.write("recipe.toml", RECIPE);
    let train = |tokens: &str| {
        let out = folder.path(tokens);
        let arguments =
            ["pretrain", "--recipe", text(&recipe), "--tokens", tokens, "--out", text(&out), "--device", "cpu"];
        let output = run(&arguments);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let trained: toml::Table = toml::from_str(&std::fs::read_to_string(out.join("recipe.toml")).unwrap()).unwrap();
        let number = |value: &toml::Value| value.as_integer().unwrap();
        (number(&trained["steps"]), number(&trained["schedule"]["warmup"]))
    };
    let tokens_per_step = toml::from_str::<toml::Table>(RECIPE).unwrap()["tokens_per_step"].as_integer().unwrap();
    assert_eq!(train("6k"), (6000 / tokens_per_step, 6000 / tokens_per_step / 10));
    let none = run(&["pretrain", "--recipe", text(&recipe), "--tokens", "0", "--out", "x"]);
    assert!(String::from_utf8_lossy(&none.stderr).contains("such as 250k or 1m"));
}

#[test]
fn recalibration_drops_positions_and_evaluation_resumes() {
    let folder = Folder::new("drop");
    let short = RECIPE.replace("steps = 60", "steps = 2");
    let recipe = folder.write("recipe.toml", &short);
    let base = folder.path("base");
    assert!(run(&["pretrain", "--recipe", text(&recipe), "--out", text(&base), "--device", "cpu"]).status.success());
    let model_table = short.lines().find(|line| line.starts_with("model")).unwrap();
    for (drop, kind) in [
        ("drop = { positions = \"all\" }", "\"attention_type\": \"nope\""),
        ("drop = { positions = \"low\" }", "\"rope_min_frequency\": 0.09817477042468103"),
        ("drop = { positions = \"low\", cut = 0.01 }", "\"rope_min_frequency\": 0.01,"),
        ("drop = { positions = \"all\", attention_type = \"qk_norm_nope\" }", "\"attention_type\": \"qk_norm_nope\""),
        ("drop = { positions = \"none\" }", "\"architectures\": [\n    \"LlamaForCausalLM\""),
        // The control of a recipe with a cut.
        ("drop = { positions = \"none\", cut = 0.01 }", "\"architectures\": [\n    \"LlamaForCausalLM\""),
    ] {
        let recipe = folder.write("drop.toml", short.replace(model_table, drop));
        let out = folder.path("dropped");
        let _ = std::fs::remove_dir_all(&out);
        let output = run(&[
            "recalibrate",
            "--from",
            text(&base),
            "--recipe",
            text(&recipe),
            "--out",
            text(&out),
            "--device",
            "cpu",
        ]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let config = std::fs::read_to_string(out.join("config.json")).unwrap();
        assert!(config.contains(kind), "{config}");
        let json: serde_json::Value = serde_json::from_str(&config).unwrap();
        let cut = json["rope_min_frequency"].as_f64().unwrap_or_default();
        assert_eq!(cut > 0.0, drop.contains("low"), "{config}");
    }
    for (drop, reason) in [
        ("positions = \"low\", cut = -1", "must be a frequency above 0"),
        ("positions = \"all\", cut = 0.1", "drop.cut does not fit positions = \"all\""),
        (
            "positions = \"none\", attention_type = \"q_norm_nope\"",
            "drop.attention_type is for positions = \"all\" alone",
        ),
    ] {
        let recipe = folder.write("wrong.toml", short.replace(model_table, &format!("drop = {{ {drop} }}")));
        refused(
            &["recalibrate", "--from", text(&base), "--recipe", text(&recipe), "--out", text(&folder.path("no"))],
            reason,
        );
    }
    let longer = folder.write(
        "longer.toml",
        short.replace(model_table, "drop = { positions = \"all\" }").replace("context = 64", "context = 128"),
    );
    refused(
        &["recalibrate", "--from", text(&base), "--recipe", text(&longer), "--out", text(&folder.path("no"))],
        "recalibration stays within it",
    );

    let json = folder.path("results.json");
    let evaluate = |trials: &str, extension: &str| {
        let output = run(&[
            "eval",
            "niah",
            "--model",
            text(&base),
            "--method",
            "rope,yarn",
            "--task",
            "single",
            "--extension",
            extension,
            "--trials",
            trials,
            "--seed",
            "5",
            "--json",
            text(&json),
        ]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice::<Vec<serde_json::Value>>(&std::fs::read(&json).unwrap()).unwrap()
    };
    let first = evaluate("3", "1,2");
    assert_eq!(first.len(), 4);
    for field in [
        "model",
        "method",
        "task",
        "extension",
        "context",
        "trials",
        "correct",
        "accuracy",
        "string_match",
        "ci95",
        "seed",
    ] {
        assert!(!first[0][field].is_null(), "{field}");
    }
    assert_eq!((&first[0]["model"], &first[1]["context"]), (&"base".into(), &128.into()));
    let second = evaluate("3", "1,2,4");
    assert_eq!((second.len(), &second[..2]), (6, &first[..2]), "cells that are there are kept");
}

/// `nohup core … &`, and then the terminal is closed.
#[cfg(unix)]
#[test]
fn a_run_under_nohup_outlives_its_terminal() {
    use nix::sys::signal::{Signal, kill};
    let (folder, model) = (Folder::new("nohup"), nano_rope());
    let json = folder.path("results.json");
    let questions = ["eval", "niah", "--model", text(&model), "--trials", "300", "--extension", "4", "--threads", "1"];
    let mut command = Command::new("nohup");
    command.arg(core(&[]).get_program()).args(questions).args(["--json", text(&json)]);
    let mut child = command.stdout(std::process::Stdio::null()).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(500));
    assert!(child.try_wait().unwrap().is_none(), "the terminal ends while it runs");
    kill(nix::unistd::Pid::from_raw(child.id().cast_signed()), Signal::SIGHUP).unwrap();
    assert!(child.wait().unwrap().success());
    assert_eq!(read_json(&json)[0]["trials"], 300);
}
