//! RULER, LongBench and multiple choice on the command line; what questions and scores are is tested in core.

mod common;

use common::{Folder, nano_rope, read_json, refused, succeeds, text};
use drope_core::language::Values;
use drope_core::niah::{Spec, Task, sample};
use drope_core::tokenizer::Tokenizer;

#[test]
fn ruler_asks_keeps_answers_and_joins_shards() {
    let folder = Folder::new("ruler");
    let (model, json) = (nano_rope(), folder.path("whole.json"));
    let ask = |more: &[&str]| {
        let arguments = ["eval", "ruler", "--model", text(&model), "--method", "drope", "--lengths", "1k"];
        let trials: &[&str] = if more.contains(&"--trials") { &[] } else { &["--trials", "3"] };
        succeeds(&[&arguments[..], &["--device", "cpu"], trials, more].concat())
    };
    let essay = folder.write("essay.txt", "It was a day. There was a sea! Was it blue? It was.");
    ask(&["--task", "niah_single_1,niah_multikey_1", "--haystack", text(&essay), "--json", text(&json)]);
    let cells = read_json(&json);
    assert_eq!((&cells[0]["task"], &cells[0]["source"]), (&"niah_single_1".into(), &serde_json::Value::Null));
    assert!(cells[1]["source"].as_str().unwrap().starts_with("essay.txt "));
    for cell in cells.as_array().unwrap() {
        assert_eq!((&cell["context"], &cell["extension"], &cell["of_questions"]), (&1024.into(), &4.into(), &3.into()));
        let answers = cell["answers"].as_array().unwrap();
        assert!(answers.iter().all(|answer| answer["expected"][0].as_str().unwrap().len() == 7), "{cell}");
    }
    // The same command asks nothing again; halves make the same whole.
    ask(&["--task", "niah_single_1", "--json", text(&json)]);
    assert_eq!(read_json(&json).as_array().unwrap().len(), 2);
    let halves = ["1/2", "2/2"].map(|shard| {
        let half = folder.path(&shard.replace('/', "-"));
        ask(&["--task", "niah_single_1", "--shard", shard, "--json", text(&half)]);
        half
    });
    let joined = folder.path("joined.json");
    succeeds(&["merge", text(&halves[0]), text(&halves[1]), "--json", text(&joined)]);
    assert_eq!(read_json(&joined)[0], cells[0]);
    // Three questions about each of two haystacks, the last of which has but two.
    let several = folder.path("several.json");
    let ask_several = |shard: &str, json: &std::path::Path| {
        let arguments = ["--task", "niah_multikey_2", "--trials", "5", "--questions-per-haystack", "3"];
        ask(&[&arguments[..], &["--shard", shard, "--json", text(json)]].concat());
    };
    ask_several("1/1", &several);
    let cell = &read_json(&several)[0];
    assert_eq!((&cell["of_questions"], &cell["questions_per_haystack"]), (&5.into(), &3.into()));
    let indices: Vec<u64> =
        cell["answers"].as_array().unwrap().iter().map(|answer| answer["index"].as_u64().unwrap()).collect();
    assert_eq!(indices, [0, 1, 2, 3, 4]);
    ask_several("1/1", &several);
    assert_eq!(read_json(&several).as_array().unwrap().len(), 1, "the same command asks nothing again");
    let halves = ["1/2", "2/2"].map(|shard| {
        let half = folder.path(&format!("several-{}", shard.replace('/', "-")));
        ask_several(shard, &half);
        half
    });
    let joined = folder.path("several-joined.json");
    succeeds(&["merge", text(&halves[0]), text(&halves[1]), "--json", text(&joined)]);
    assert_eq!(&read_json(&joined)[0], cell);
    let arguments = ["eval", "ruler", "--model", text(&model), "--lengths", "1k", "--trials", "1"];
    refused(&[&arguments[..], &["--task", "niah_single_2"]].concat(), "give a text as the haystack");
    refused(&[&arguments[..], &["--squad", text(&essay)]].concat(), "SQuAD's form");
    refused(&[&arguments[..], &["--chat"]].concat(), "has no chat template");
}

#[test]
fn longbench_cuts_the_middle_and_scores_by_the_datasets_metric() {
    let folder = Folder::new("longbench");
    let (model, json) = (nano_rope(), folder.path("results.json"));
    let row = |context: &str| {
        let context = serde_json::Value::from(context);
        format!(
            r#"{{"input": "q", "context": {context}, "answers": ["5"], "dataset": "passage_count", "language": "en", "all_classes": null, "length": 9, "_id": "x"}}"#
        )
    };
    let data = folder.write("count.jsonl", [row("Short."), row(&"the old house . ".repeat(400))].join("\n"));
    let arguments = ["eval", "longbench", "--model", text(&model), "--method", "rope", "--lengths", "256"];
    succeeds(&[&arguments[..], &["--data", text(&data), "--json", text(&json)]].concat());
    let cell = &read_json(&json)[0];
    assert_eq!((&cell["task"], &cell["of_questions"]), (&"passage_count".into(), &2.into()));
    assert!(cell["answers"].as_array().unwrap().iter().all(|answer| answer["expected"][0] == "5"), "{cell}");
    let broken = folder.write("broken.jsonl", format!("{}\n{{}}", row("Short.")));
    refused(&[&arguments[..], &["--data", text(&broken)]].concat(), "cannot use line 2 of");
    let short = ["eval", "longbench", "--model", text(&model), "--method", "rope", "--lengths", "16"];
    let said = "passage_count leaves no room for a text";
    refused(&[&short[..], &["--data", text(&data)]].concat(), said);
}

#[test]
fn the_likelier_choice_is_the_models() {
    let folder = Folder::new("choice");
    let (model, json) = (nano_rope(), folder.path("results.json"));
    let tokenizer = Tokenizer::from_json(&std::fs::read(model.join("tokenizer.json")).unwrap()).unwrap();
    let line = |seed: u64| {
        let question = sample(&Spec::new(Task::MultiKey, Values::Numbers, 200, seed), &tokenizer).unwrap();
        let other = sample(&Spec::new(Task::MultiKey, Values::Numbers, 200, seed + 100), &tokenizer).unwrap();
        let choices = [other.expected(), question.expected()].map(|text| text.trim_end_matches(" .").to_owned());
        serde_json::json!({ "query": question.prompt(), "choices": choices, "gold": 1 }).to_string()
    };
    let data = folder.write("plain.jsonl", (0..8).map(line).collect::<Vec<_>>().join("\n"));
    let arguments = ["eval", "choice", "--model", text(&model), "--method", "rope", "--form", "plain"];
    let said = succeeds(&[&arguments[..], &["--data", text(&data), "--json", text(&json)]].concat());
    let cell = &read_json(&json)[0];
    assert_eq!((&cell["extension"], &cell["of_questions"]), (&1.into(), &8.into()));
    // A number that the text tells is likelier than one of another text.
    assert!(cell["score"].as_f64().unwrap() > 0.8 && cell["normed"].as_f64().unwrap() > 0.8, "{said}");
    let broken = folder.write("broken.jsonl", "{}");
    refused(&[&arguments[..], &["--data", text(&broken)]].concat(), "no field choices");
    refused(&["eval", "choice", "--model", text(&model), "--form", "plain", "--data", "none.jsonl"], "none.jsonl");
}
