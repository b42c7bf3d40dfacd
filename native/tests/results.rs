//! Results files: several commands at once, stopped commands, and what makes a cell another cell.

mod common;

use std::collections::HashMap;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use common::{Folder, core, fixtures, nano_rope, nano_rope_in, read_json, refused, run, succeeds, text};
use serde_json::Value;

fn cells(json: &Path) -> Vec<Value> {
    read_json(json).as_array().unwrap().clone()
}

#[test]
fn commands_that_share_a_results_file_lose_nothing() {
    let folder = Folder::new("shared");
    let (model, json) = (nano_rope(), folder.path("results.json"));
    let start = |seed: u64| -> Child {
        let arguments = ["eval", "niah", "--model", text(&model), "--method", "rope", "--extension", "1"];
        let seed = seed.to_string();
        let more = ["--trials", "1", "--seed", &seed, "--threads", "1", "--json", text(&json)];
        core(&[&arguments[..], &more].concat()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let commands: Vec<Child> = (1..=24).map(start).collect();
    for command in commands {
        let output = command.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    let mut seeds: Vec<u64> = cells(&json).iter().map(|cell| cell["seed"].as_u64().unwrap()).collect();
    seeds.sort_unstable();
    assert!(seeds.into_iter().eq(1..=24));
    let left: Vec<_> = std::fs::read_dir(&folder.0).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(left.iter().all(|name| name == "results.json" || name == ".results.json.lock"), "{left:?}");
}

#[test]
fn an_evaluation_that_is_stopped_goes_on_with_the_next_question() {
    let folder = Folder::new("stopped");
    let model = nano_rope();
    let arguments = |json: &str| {
        let json = text(&folder.path(json)).to_owned();
        let arguments = ["eval", "niah", "--model", text(&model), "--method", "rope,yarn", "--extension", "1,2"];
        [&arguments[..], &["--trials", "40", "--threads", "1", "--json", &json]]
            .concat()
            .into_iter()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let run = |json: &str| succeeds(&arguments(json).iter().map(String::as_str).collect::<Vec<_>>());
    let stopped = arguments("parts.json");
    let mut command = core(&stopped.iter().map(String::as_str).collect::<Vec<_>>());
    let child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let (parts, answers, start) = (folder.path("parts.json"), folder.path(".parts.json.answers"), Instant::now());
    while !answers.exists() && start.elapsed() < Duration::from_secs(120) {
        std::thread::sleep(Duration::from_millis(1));
    }
    assert!(std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{} said {error}", stopped.join(" "));
    assert!(error.contains("the same command goes on with the next question"), "{error}");
    assert!(!parts.exists(), "not one cell was done");
    let kept = std::fs::read_to_string(&answers).unwrap();
    assert!((1..40).contains(&kept.lines().count()), "{kept}");

    // Another file with a kept answer that is said to be wrong.
    let (first, rest) = kept.split_once('\n').unwrap();
    let wrong = first.replace("\"exact\":true", "\"exact\":false");
    assert_ne!(first, wrong, "the first question was answered");
    folder.write(".changed.json.answers", format!("{wrong}\n{rest}"));
    for name in ["parts.json", "whole.json", "changed.json"] {
        run(name);
    }
    let read = |name: &str| std::fs::read_to_string(folder.path(name)).unwrap();
    assert_eq!(read("parts.json"), read("whole.json"), "the same cells as without the interruption");
    assert!(!answers.exists(), "what is in the results is not kept twice");
    let correct = |name: &str| cells(&folder.path(name))[0]["correct"].as_u64().unwrap();
    assert_eq!(correct("changed.json") + 1, correct("whole.json"), "what was kept was not asked again");
}

#[test]
fn a_whole_beside_its_own_shards_is_not_counted_twice() {
    let folder = Folder::new("twice");
    let model = nano_rope();
    for (kind, samples) in [("niah", "--trials"), ("ppl", "--texts")] {
        let evaluate = |shard: &str| {
            let json = folder.path(&format!("{kind}-{}.json", shard.replace('/', "-")));
            let arguments = ["eval", kind, "--model", text(&model), "--method", "rope", "--extension", "1"];
            succeeds(&[&arguments[..], &[samples, "4", "--shard", shard, "--json", text(&json)]].concat());
            json
        };
        let [whole, first, second] = ["1/1", "1/2", "2/2"].map(evaluate);
        let merged = folder.path("merged.json");
        refused(
            &["merge", text(&whole), text(&first), text(&second), "--json", text(&merged)],
            "merge needs each of them once",
        );
        assert!(!merged.exists(), "nothing was written");
    }
}

#[test]
fn another_temperature_or_tokenizer_is_another_cell() {
    let folder = Folder::new("keys");
    let (model, json) = (nano_rope_in(&folder), folder.path("results.json"));
    let config = std::fs::read_to_string(model.join("config.json")).unwrap();
    let scales = serde_json::json!({ "factor": 8.0, "scales": vec![vec![1.5; 4]; 4] });
    folder.write("model/config.json", config.replacen('{', &format!("{{\"head_scales\": {scales},"), 1));
    for (kind, more) in [
        (&["eval", "niah"][..], &["--trials", "2"][..]),
        (&["eval", "ppl"], &["--texts", "1"]),
        (&["probe"], &["--trials", "1"]),
    ] {
        let measure = |beta: &[&str]| {
            let common = ["--model", text(&model), "--method", "drope", "--extension", "2", "--json", text(&json)];
            succeeds(&[kind, &common, more, beta].concat());
            cells(&json).len()
        };
        let once = measure(&[]);
        // Scales of its own for each head are not a temperature of 1, though the cell's number is the same.
        assert_eq!(measure(&["--beta", "1"]), 2 * once, "{kind:?}");
        assert_eq!(measure(&["--beta", "1"]), 2 * once, "{kind:?}: the same again");
        assert_eq!(measure(&[]), 2 * once, "{kind:?}: the same again");
        // Another layout of the same tokenizer is the same tokenizer.
        let tokenizer = read_json(&model.join("tokenizer.json"));
        folder.write("model/tokenizer.json", tokenizer.to_string());
        assert_eq!(measure(&[]), 2 * once, "{kind:?}: the same tokenizer");
        // Two words swap their ids, so that the model reads another text.
        let mut other = tokenizer.clone();
        let ids = other["model"]["vocab"].as_object_mut().unwrap();
        let [a, b] = [100, 101].map(|id| ids.iter().find(|(_, known)| **known == id).unwrap().0.clone());
        (ids[&a], ids[&b]) = (101.into(), 100.into());
        folder.write("model/tokenizer.json", other.to_string());
        assert_eq!(measure(&[]), 3 * once, "{kind:?}: another tokenizer");
        folder.write("model/tokenizer.json", tokenizer.to_string());
        std::fs::remove_file(&json).unwrap();
    }
}

#[test]
fn shards_merge_into_what_one_run_gives() {
    let folder = Folder::new("shards");
    let model = fixtures().join("../../models/nano-rope");
    let evaluate = |shard: &str| {
        let json = folder.path(&format!("{}.json", shard.replace('/', "-")));
        let output = run(&[
            "eval",
            "niah",
            "--model",
            text(&model),
            "--method",
            "rope",
            "--task",
            "multi-key,multi-query",
            "--extension",
            "1,2",
            "--trials",
            "7",
            "--shard",
            shard,
            "--json",
            text(&json),
            "--device",
            "cpu",
        ]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        json
    };
    let whole = evaluate("1/1");
    let shards = ["3/3", "1/3", "2/3"].map(evaluate);
    let merged = folder.path("merged.json");
    let [third, first, second] = &shards;
    let arguments = ["merge", text(third), text(first), text(second), "--json", text(&merged)];
    assert!(run(&arguments).status.success());
    assert_eq!(std::fs::read_to_string(&whole).unwrap(), std::fs::read_to_string(&merged).unwrap());
    assert!(
        cells(&merged).iter().all(|cell| cell["outcomes"].as_str().unwrap().starts_with("7:")),
        "of every question"
    );
    refused(&arguments, "merged.json is there already; choose another --json");
    refused(
        &["merge", text(third), text(first), "--json", text(&folder.path("two.json"))],
        "found the shards 1/3 of 3 questions, 3/3 of 2 questions",
    );
    let empty = folder.write("empty.json", "[]");
    refused(&["merge", text(&empty), "--json", text(&folder.path("none.json"))], "do not all hold results");
}

#[test]
fn perplexity_of_shards_merges_into_what_one_run_gives() {
    let folder = Folder::new("ppl");
    let model = fixtures().join("../../models/nano-rope");
    let evaluate = |shard: &str, more: &[&str]| {
        let json = folder.path(&format!("{}.json", shard.replace('/', "-")));
        let arguments = ["eval", "ppl", "--model", text(&model), "--method", "rope,crop", "--extension", "1,2"];
        let output = run(&[&arguments[..], &["--texts", "3", "--shard", shard, "--json", text(&json)], more].concat());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        json
    };
    let read = |path: &Path| -> Value { serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap() };
    let whole = evaluate("1/1", &[]);
    let (second, first) = (evaluate("2/2", &[]), evaluate("1/2", &[]));
    let merged = folder.path("merged.json");
    assert!(run(&["merge", text(&second), text(&first), "--json", text(&merged)]).status.success());
    assert!(read(&whole) == read(&merged), "shards add up to something else");
    let cells = read(&whole);
    let number = |cell: usize, field: &str| cells[cell][field].as_f64().unwrap();
    // It was trained on this language, so it predicts it far better than chance among 488 words.
    assert!((1.0..40.0).contains(&number(0, "perplexity")), "{cells}");
    // Windows of twice the context, but for crop, which never reads beyond it.
    assert_eq!((&cells[1]["context"], &cells[3]["context"]), (&512.into(), &256.into()));
}

/// A model that is trained anew must be measured anew: its old results would otherwise stand in tables and on the page.
#[test]
fn committed_results_are_of_the_shipped_models() {
    let root = fixtures().join("../..");
    let mut present: HashMap<(String, String), String> = HashMap::new();
    let mut compared = 0;
    for file in ["niah", "niah-16x", "depths", "cut", "drop-time", "perplexity", "probe"] {
        let cells = read_json(&root.join(format!("docs/results/{file}.json")));
        for cell in cells.as_array().unwrap() {
            let field = |name: &str| cell[name].as_str().unwrap_or_default().to_owned();
            let (model, method) = (field("model"), field("method"));
            let folder = root.join("models").join(&model);
            // Results of DoPE's methods may have been measured with other heads than the config's, and then have other
            // fingerprints.
            if !folder.exists() || method.starts_with("dope-") {
                continue;
            }
            let expected = present.entry((model, method.clone())).or_insert_with(|| {
                let said = succeeds(&["inspect", "--model", text(&folder), "--method", &method]);
                said.lines().find_map(|line| line.strip_prefix("fingerprint in results: ")).unwrap().to_owned()
            });
            assert_eq!(&field("fingerprint"), expected, "{file}.json: {cell}");
            compared += 1;
        }
    }
    assert!(compared > 500, "{compared} results");
}
