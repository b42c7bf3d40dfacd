//! Parameters of methods: on the command line, in results, and found on the selection split.

mod common;

use std::path::Path;

use common::{Folder, nano_rope, read_json, refused, run, succeeds, text};
use serde_json::{Value, json};

fn cells(json: &Path) -> Vec<Value> {
    read_json(json).as_array().unwrap().clone()
}

#[test]
fn readings_with_chosen_parameters_have_cells_of_their_own() {
    let folder = Folder::new("set");
    let model = nano_rope();
    for (kind, more) in [
        (&["eval", "niah"][..], &["--trials", "1", "--threads", "1"][..]),
        (&["eval", "ppl"], &["--texts", "1"]),
        (&["probe"], &["--trials", "1"]),
    ] {
        let json = folder.path(kind[kind.len() - 1]);
        let measure = |set: &[&str]| {
            let common = ["--model", text(&model), "--method", "yarn", "--extension", "2", "--json", text(&json)];
            succeeds(&[kind, &common, more, set].concat());
            cells(&json)
        };
        let own = measure(&[]);
        let both = measure(&["--set", "beta_slow=0.5,beta_fast=8"]);
        assert_eq!(both.len(), 2 * own.len(), "{kind:?}");
        assert!(own.iter().all(|cell| cell.get("parameters").is_none()));
        assert_eq!(both.last().unwrap()["parameters"], json!({ "beta_fast": 8.0, "beta_slow": 0.5 }));
        assert_eq!(measure(&["--set", "beta_fast=8", "--set", "beta_slow=0.5"]), both, "{kind:?}: the same again");
    }
    let frequencies = |set: &[&str]| {
        let arguments = ["inspect", "--model", text(&model), "--method", "llama3", "--factor", "4"];
        succeeds(&[&arguments[..], set].concat())
    };
    assert_ne!(frequencies(&["--set", "high_freq_factor=16"]), frequencies(&[]));
    assert_eq!(frequencies(&["--set", "high_freq_factor=4,low_freq_factor=1"]), frequencies(&[]));
}

/// A grid of six, some of which flatten attention.
fn tune(json: &Path, out: &Path) -> String {
    let model = nano_rope();
    let arguments = ["tune", "--model", text(&model), "--method", "ntk", "--grid", "temperature_coefficient=-0.4,0.2"];
    let more = ["--grid", "alpha=2s", "--extension", "2,4", "--trials", "8", "--threads", "1"];
    succeeds(&[&arguments[..], &more, &["--json", text(json), "--out", text(out)]].concat())
}

#[test]
fn the_best_parameters_of_a_grid_are_found_on_the_selection_split_alone() {
    let folder = Folder::new("tune");
    let (json, out) = (folder.path("results.json"), folder.path("tuned.json"));
    let listed = tune(&json, &out);
    let (measured, tuned) = (cells(&json), read_json(&out));
    assert!(measured.iter().all(|cell| cell["split"] == "selection" && cell["seed"] == 32_000));
    let candidates = tuned["candidates"].as_array().unwrap();
    assert_eq!(measured.len(), 2 * candidates.len());
    // Each score is the mean of the cells with its parameters.
    let parameters = |cell: &Value| cell.get("parameters").cloned().unwrap_or(json!({}));
    for candidate in candidates {
        let of_it = measured.iter().filter(|cell| parameters(cell) == candidate["parameters"]);
        let accuracies: Vec<f64> = of_it.map(|cell| cell["accuracy"].as_f64().unwrap()).collect();
        assert_eq!(accuracies.len(), 2, "{candidate}");
        assert!((accuracies.iter().sum::<f64>() / 2.0 - candidate["accuracy"].as_f64().unwrap()).abs() < 1e-12);
    }
    let accuracies = || candidates.iter().map(|candidate| candidate["accuracy"].as_f64().unwrap());
    let best = accuracies().fold(0.0, f64::max);
    assert!(best > accuracies().fold(1.0, f64::min), "the candidates must differ for this test: {listed}");
    assert_eq!(tuned["accuracy"], best);
    assert_eq!(
        (&tuned["method"], &tuned["split"], &tuned["seed"]),
        (&json!("ntk"), &json!("selection"), &json!(32_000))
    );
    assert_eq!(tuned["grid"], json!({ "alpha": ["s", "2s"], "temperature_coefficient": [-0.4, 0.0, 0.2] }));
    assert_eq!(listed.lines().filter(|line| line.ends_with("  best")).count(), 1);

    // The same command measures nothing again and finds the same.
    let (before, found) = (std::fs::read(&json).unwrap(), std::fs::read(&out).unwrap());
    tune(&json, &out);
    assert!(std::fs::read(&json).unwrap() == before && std::fs::read(&out).unwrap() == found);

    // The evaluation reads with what was found, and says so.
    let model = nano_rope();
    let evaluate = |more: &[&str]| {
        let arguments = ["eval", "niah", "--model", text(&model), "--extension", "2", "--trials", "1"];
        run(&[&arguments[..], more, &["--json", text(&json)]].concat())
    };
    let output = evaluate(&["--method", "ntk", "--tuned", text(&out)]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let cell = cells(&json).pop().unwrap();
    assert_eq!((&parameters(&cell), cell.get("split")), (&tuned["parameters"], None));
    let said = |more: &[&str]| String::from_utf8_lossy(&evaluate(more).stderr).into_owned();
    assert!(said(&["--method", "ntk,yarn", "--tuned", text(&out)]).contains("has parameters of ntk, not of yarn"));
    assert!(said(&["--method", "ntk", "--tuned", text(&json)]).contains("is not a file that `core tune` wrote"));
    assert!(said(&["--method", "ntk", "--tuned", text(&out), "--set", "alpha=3"]).contains("cannot be used with"));
}

#[test]
fn candidates_are_drawn_equally_many_for_each_method() {
    let folder = Folder::new("tune-drawn");
    let model = nano_rope();
    for method in ["yarn", "rope"] {
        let out = folder.path(&format!("{method}.json"));
        let tune = || {
            let arguments =
                ["tune", "--model", text(&model), "--method", method, "--candidates", "4", "--random-seed", "3"];
            succeeds(
                &[&arguments[..], &["--extension", "2", "--trials", "2", "--threads", "1", "--out", text(&out)]]
                    .concat(),
            )
        };
        let listed = tune();
        let tuned = read_json(&out);
        let candidates = tuned["candidates"].as_array().unwrap();
        assert_eq!((candidates.len(), &candidates[0]["parameters"]), (4, &json!({})), "the method's own values first");
        let accuracies = candidates.iter().map(|candidate| candidate["accuracy"].as_f64().unwrap());
        assert_eq!(tuned["accuracy"], accuracies.fold(0.0, f64::max), "{listed}");
        assert_eq!((&tuned["random"]["seed"], &tuned["grid"]), (&json!(3), &json!({})));
        let before = std::fs::read(&out).unwrap();
        tune();
        assert!(std::fs::read(&out).unwrap() == before, "the seed decides");
    }
    // Several methods at once: the file has each, and a reading takes its own.
    let (out, json) = (folder.path("both.json"), folder.path("results.json"));
    let more = ["--candidates", "3", "--extension", "2", "--trials", "1", "--threads", "1"];
    succeeds(&[&["tune", "--model", text(&model), "--method", "yarn,ntk", "--out", text(&out)][..], &more].concat());
    let methods: Vec<Value> = read_json(&out).as_array().unwrap().iter().map(|tuned| tuned["method"].clone()).collect();
    assert_eq!(methods, ["yarn", "ntk"]);
    let read = |methods: &str| {
        let arguments = ["eval", "niah", "--model", text(&model), "--method", methods, "--tuned", text(&out)];
        run(&[&arguments[..], &["--extension", "2", "--trials", "1", "--json", text(&json)]].concat())
    };
    assert!(read("ntk,yarn").status.success());
    for (cell, place) in cells(&json).iter().zip([1, 0]) {
        let found = read_json(&out)[place]["parameters"].clone();
        assert_eq!(cell.get("parameters").cloned().unwrap_or(json!({})), found);
    }
    let refused = read("llama3");
    assert!(String::from_utf8_lossy(&refused.stderr).contains("of yarn,ntk, not of llama3"));
    let both = run(&["tune", "--model", text(&model), "--candidates", "4", "--grid", "alpha=2", "--out", "x"]);
    assert!(String::from_utf8_lossy(&both.stderr).contains("cannot be used with"));
}

#[test]
fn what_cannot_be_tuned_or_set_is_refused_before_anything_is_measured() {
    let folder = Folder::new("tune-refused");
    let (model, json, out) = (nano_rope(), folder.path("results.json"), folder.path("tuned.json"));
    let tune = ["tune", "--model", text(&model), "--method", "yarn", "--json", text(&json), "--out", text(&out)];
    refused(&[&tune[..], &["--split", "evaluation"]].concat(), "by the questions of --split selection");
    refused(&[&tune[..], &["--grid", "beta_fast=0.5"]].concat(), "beta_fast above it");
    refused(&[&tune[..], &["--grid", "alpha=2"]].concat(), "it has no alpha");
    refused(&[&tune[..], &["--grid", "beta_fast=8", "--grid", "beta_fast=9"]].concat(), "beta_fast is given twice");
    let eval = ["eval", "niah", "--model", text(&model), "--method", "yarn", "--json", text(&json)];
    refused(&[&eval[..], &["--set", "beta_fast=8,beta_fast=9"]].concat(), "beta_fast is given twice");
    refused(&[&eval[..], &["--set", "factor=8"]].concat(), "it has no factor");
    refused(&[&eval[..], &["--beta", "1.1", "--set", "temperature_coefficient=0.1"]].concat(), "give one of them");
    for (set, words) in [("beta=8", "unknown parameter \"beta\""), ("beta_fast", "name=value"), ("alpha=x", "neither")]
    {
        let output = run(&[&eval[..], &["--set", set]].concat());
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(2) && said.contains(words), "{set}: {said}");
    }
    let search = ["search", "longrope2", "--model", text(&model), "--out", text(&out), "--highest", "0.5"];
    refused(&search, "from 1 to 100");
    assert!(!json.exists() && !out.exists());
}

#[test]
fn a_study_tunes_and_then_reads_with_what_was_found() {
    let folder = Folder::new("tune-queue");
    let model = nano_rope();
    let jobs = format!(
        r#"
[[job]]
name = "tune"
command = "tune --model {model} --method ntk --grid alpha=2s --extension 2 --trials 1 --out {{out}}/tuned.json"
[[job]]
name = "read"
after = ["tune"]
command = "eval niah --model {model} --method ntk --tuned {{out}}/tuned.json --extension 2 --trials 1 --json {{out}}/niah.json"
"#,
        model = text(&model)
    );
    let (plan, out) = (folder.write("plan.toml", jobs), folder.path("out"));
    let study = ["study", "--plan", text(&plan), "--out", text(&out), "--threads", "1"];
    succeeds(&study);
    assert_eq!(cells(&out.join("niah.json")).len(), 1);
    let listed = succeeds(&[&study[..], &["--dry-run"]].concat());
    assert_eq!(listed.lines().filter(|line| line.contains("  done  ")).count(), 2, "{listed}");
}

/// A file of parameters that no job of the study writes is part of the key of the job that reads it.
#[test]
fn a_study_reads_again_with_parameters_that_have_changed() {
    let folder = Folder::new("tune-study");
    let (tuned, out) = (folder.write("tuned.json", "1"), folder.path("out"));
    let command = format!("eval niah --model {} --method ntk --tuned {}", text(&nano_rope()), text(&tuned));
    let plan = folder.write("plan.toml", format!("[[job]]\nname = \"ntk\"\ncommand = \"{command}\"\n"));
    let study = ["study", "--plan", text(&plan), "--out", text(&out), "--threads", "1"];
    let state = || succeeds(&[&study[..], &["--dry-run"]].concat());
    assert_eq!(run(&study).status.code(), Some(2), "the file is none of core tune's");
    assert!(state().contains("started"));
    folder.write("tuned.json", "2");
    assert!(state().contains("changed"));
}
