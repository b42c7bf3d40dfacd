//! Measuring: heads for DoPE, noisy needles, depths, pass keys, and the report that joins it all.

mod common;

use std::path::Path;

use common::{Folder, RECIPE, fixtures, nano_rope, nano_rope_in, read_json, refused, run, succeeds, text};

#[test]
fn heads_are_chosen_by_their_score_and_evaluation_reads_them() {
    let folder = Folder::new("dope");
    let (model, heads, json) = (nano_rope(), folder.path("heads.json"), folder.path("results.json"));
    let select = |order: &str| {
        let arguments = ["dope", "select", "--model", text(&model), "--heads", "2", "--stage", "pre_ntk"];
        let more = ["--order", order, "--extension", "2", "--texts", "1", "--json", text(&heads)];
        let listed = succeeds(&[&arguments[..], &more].concat());
        let scores: Vec<f64> =
            listed.lines().map(|line| line.split_whitespace().nth(4).unwrap().parse().unwrap()).collect();
        assert_eq!(scores.len(), 16);
        assert_eq!(listed.lines().filter(|line| line.ends_with("chosen")).count(), 2);
        assert!(scores.is_sorted_by(|a, b| if order == "ascending" { a <= b } else { a >= b }), "{scores:?}");
        read_json(&heads)["heads"].as_array().unwrap().clone()
    };
    let highest = select("descending");
    let lowest = select("ascending");
    assert!(lowest[0]["score"].as_f64().unwrap() < highest[0]["score"].as_f64().unwrap());
    let evaluate = |method: &str, more: &[&str]| {
        let arguments =
            ["eval", "niah", "--model", text(&model), "--method", method, "--extension", "2", "--trials", "6"];
        succeeds(&[&arguments[..], &["--json", text(&json)], more].concat());
        read_json(&json).as_array().unwrap().last().unwrap().clone()
    };
    // Heads of lowest entropy look at the token before: without positions nothing is found.
    let plain = evaluate("ntk", &[]);
    let treated = evaluate("dope-all", &["--heads", text(&heads)]);
    assert!(plain["correct"].as_u64() > Some(3) && treated["correct"].as_u64() < Some(3), "{plain} {treated}");
    assert_eq!(treated["heads"], "query r16 pre_ntk ascending 2 at 2x");
    // With other heads it is another cell.
    select("descending");
    let other = evaluate("dope-all", &["--heads", text(&heads)]);
    assert_eq!(
        (read_json(&json).as_array().unwrap().len(), &other["heads"]),
        (3, &"query r16 pre_ntk descending 2 at 2x".into())
    );
    refused(&["dope", "select", "--model", text(&model), "--heads", "17"], "from 1 to the model's 16");
    let broken = folder.write("broken.json", "[]");
    let arguments = ["eval", "niah", "--model", text(&model), "--method", "dope-all", "--heads", text(&broken)];
    refused(&arguments, "core dope select");
}

#[test]
fn depths_and_sinks_have_cells_of_their_own() {
    let folder = Folder::new("cells");
    let (model, json) = (nano_rope(), folder.path("results.json"));
    let evaluate = |more: &[&str]| {
        let arguments =
            ["eval", "niah", "--model", text(&model), "--method", "rope", "--extension", "1", "--trials", "3"];
        succeeds(&[&arguments[..], &["--json", text(&json)], more].concat());
        read_json(&json).as_array().unwrap().len()
    };
    assert_eq!(evaluate(&["--depth", "0,0.5,1"]), 3);
    assert_eq!(evaluate(&["--sinks", "4"]), 4);
    assert_eq!(evaluate(&["--depth", "0.5"]), 4, "known already");
    assert_eq!(read_json(&json)[3]["sinks"], 4);
    let arguments = ["eval", "niah", "--model", text(&model), "--method", "rope"];
    refused(&[&arguments[..], &["--task", "passkey", "--trials", "1"]].concat(), "which the task passkey needs");
    let sand = run(&[&arguments[..], &["--filler", "sand"]].concat());
    assert_eq!(sand.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&sand.stderr).contains("choose one of prose, grass"));
}

#[test]
fn a_run_pauses_where_it_is_told_and_goes_on_from_there() {
    let folder = Folder::new("until");
    let recipe = RECIPE.replace("steps = 60", "steps = 6");
    let recipe = folder.write("recipe.toml", format!("{recipe}documents = {{ passkey = 0.5 }}\n"));
    let train = |out: &Path, more: &[&str]| {
        let arguments =
            ["pretrain", "--recipe", text(&recipe), "--out", text(out), "--device", "cpu", "--threads", "1"];
        succeeds(&[&arguments[..], more].concat())
    };
    let (whole, parts) = (folder.path("whole"), folder.path("parts"));
    train(&whole, &[]);
    assert!(train(&parts, &["--until", "4"]).contains("paused at step 4 of 6"));
    let paused = parts.join("checkpoint");
    assert!(!parts.join("model.safetensors").exists());
    succeeds(&["inspect", "--model", text(&paused)]);
    train(&parts, &["--resume"]);
    assert!(!paused.exists());
    let weights = |folder: &Path| std::fs::read(folder.join("model.safetensors")).unwrap();
    assert!(weights(&whole) == weights(&parts), "a pause changes the weights");
    // Documents with pass keys teach their words.
    let arguments = ["eval", "niah", "--model", text(&whole), "--method", "rope", "--task", "passkey", "--trials", "2"];
    succeeds(&[&arguments[..], &["--extension", "4"]].concat());
}

#[test]
fn what_changes_the_answer_is_measured_again_and_nothing_else() {
    let folder = Folder::new("again");
    let (model, json) = (nano_rope_in(&folder), folder.path("results.json"));
    let cells = || read_json(&json).as_array().unwrap().len();
    for (kind, more) in [
        (&["eval", "niah"][..], &["--trials", "2", "--threads", "1"][..]),
        (&["eval", "ppl"], &["--texts", "1"]),
        (&["probe"], &["--trials", "1"]),
    ] {
        let _ = std::fs::remove_file(&json);
        let measure = |extensions: &str| {
            let common =
                ["--model", text(&model), "--method", "drope", "--extension", extensions, "--json", text(&json)];
            succeeds(&[kind, &common, more].concat());
            cells()
        };
        // A temperature that does not come back from JSON to the last bit.
        let config = std::fs::read_to_string(model.join("config.json")).unwrap();
        folder.write("model/config.json", config.replacen('{', "{\"temperature_coefficient\": 0.118,", 1));
        let first = measure("2");
        assert_eq!(measure("2"), first, "{kind:?}: the same again");
        // Texts are as long as the longest window: with a longer one the shorter reads other texts.
        let longer = measure("1,2");
        assert_eq!(longer, 2 * first, "{kind:?}: one more length");
        // No field of a cell contains this setting; only the fingerprint changes.
        let warm = std::fs::read_to_string(model.join("config.json")).unwrap();
        folder.write("model/config.json", warm.replacen("\"rms_norm_eps\": 0.00001", "\"rms_norm_eps\": 0.0001", 1));
        assert_eq!(measure("2"), longer + first, "{kind:?}: another norm");
        folder.write("model/config.json", &config);
    }
}

#[test]
fn training_that_cannot_be_done_leaves_no_model() {
    let folder = Folder::new("shares");
    let out = folder.path("run");
    let recipe = folder.write("recipe.toml", RECIPE.replacen("at_context = ", "at_context = 40", 1));
    refused(&["pretrain", "--recipe", text(&recipe), "--out", text(&out)], "must be a share from 0 to 1");
    // A run that is further than it should pause at.
    let recipe = folder.write("recipe.toml", RECIPE);
    let train = |more: &[&str]| {
        let arguments =
            ["pretrain", "--recipe", text(&recipe), "--out", text(&out), "--device", "cpu", "--threads", "1"];
        run(&[&arguments[..], more].concat())
    };
    assert!(train(&["--until", "3"]).status.success());
    let late = train(&["--resume", "--until", "2"]);
    let error = String::from_utf8_lossy(&late.stderr);
    assert!(late.status.code() == Some(2) && error.contains("already at step 3, past step 2"), "{error}");
    // RoPE reads with no temperature: there is nothing to fit.
    refused(&["fit-scale", "--model", text(&nano_rope())], "takes no temperature");
}

#[test]
fn probes_find_the_head_that_looks_at_the_needle() {
    let folder = Folder::new("probe");
    let json = folder.path("heads.json");
    let model = fixtures().join("../../models/nano-rope");
    let arguments = ["probe", "--model", text(&model), "--method", "rope", "--extension", "1", "--trials", "5"];
    let output = run(&[&arguments[..], &["--json", text(&json)]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let heads: Vec<serde_json::Value> = serde_json::from_slice(&std::fs::read(&json).unwrap()).unwrap();
    let number = |head: &serde_json::Value, field: &str| head[field].as_f64().unwrap();
    assert_eq!(heads.len(), 16);
    for head in &heads {
        assert!(number(head, "needle") + number(head, "distractors") + number(head, "first") < 1.0 + 1e-5, "{head}");
        assert!(number(head, "entropy") <= number(head, "entropy_bound"), "{head}");
    }
    // A model that answers must look there.
    assert!(heads.iter().any(|head| number(head, "needle_of_question") > 0.5));
}

#[test]
fn a_head_of_the_short_text_brings_answers_back_in_the_long_one() {
    let folder = Folder::new("patch");
    let json = folder.path("heads.json");
    let model = fixtures().join("../../models/nano-rope");
    let arguments = ["patch", "--model", text(&model), "--method", "rope", "--extension", "4", "--trials", "8"];
    let arguments = [&arguments[..], &["--json", text(&json)]].concat();
    let first = run(&arguments);
    assert!(first.status.success(), "{}", String::from_utf8_lossy(&first.stderr));
    let cells: Vec<serde_json::Value> = read_json(&json).as_array().unwrap().clone();
    assert_eq!(cells.len(), 1 + 16);
    let of = |cell: &serde_json::Value, field: &str| cell[field].as_u64().unwrap();
    let unpatched = of(cells.iter().find(|cell| cell["patched"].is_null()).unwrap(), "correct");
    // RoPE reads its own length and not four times as much, and some head is to blame.
    assert!(cells.iter().all(|cell| of(cell, "correct_in_short") >= 7), "{cells:?}");
    assert!(unpatched <= 2 && cells.iter().any(|cell| of(cell, "correct") > unpatched), "{cells:?}");
    // The same command again measures nothing and says the same.
    assert_eq!(run(&arguments).stdout, first.stdout);
    assert_eq!(read_json(&json).as_array().unwrap().len(), 17);
    refused(&["patch", "--model", text(&model), "--extension", "1"], "give --extension 2 or more");
    refused(&["patch", "--model", text(&model), "--extension", "2", "--filler", "needles"], "use prose, decoys or");
    refused(&["patch", "--model", text(&model), "--extension", "2", "--method", "crop"], "leave it out");
}

#[test]
fn probes_tell_decoys_from_needles() {
    let folder = Folder::new("probe-decoys");
    let json = folder.path("heads.json");
    let model = fixtures().join("../../models/study-drope-copies");
    let arguments = ["probe", "--model", text(&model), "--extension", "1,4", "--trials", "4", "--json", text(&json)];
    succeeds(&arguments);
    succeeds(&[&arguments[..], &["--filler", "decoys", "--distractors", "sharing", "--digits", "7"]].concat());
    let heads: Vec<serde_json::Value> = read_json(&json).as_array().unwrap().clone();
    let on_decoys = |filler: Option<&str>| {
        let asked = heads.iter().filter(move |head| head["filler"].as_str() == filler);
        asked.map(|head| head["decoys_of_question"].as_f64().unwrap_or_default()).fold(0.0, f64::max)
    };
    assert_eq!(on_decoys(None), 0.0);
    assert!(on_decoys(Some("decoys")) > 0.02, "{}", on_decoys(Some("decoys")));
}
