//! Successful runs of the commands that read, fit and time a model, on models that take seconds.

mod common;

use std::path::{Path, PathBuf};

use common::{Folder, RECIPE, fixtures, nano_rope, nano_rope_in, read_json, refused, run, succeeds, text};
use drope_core::language::Values;
use drope_core::niah::{Sample, Spec, Task, sample};
use drope_core::tokenizer::Tokenizer;

fn question(seed: u64) -> Sample {
    let tokenizer = Tokenizer::from_json(&std::fs::read(nano_rope().join("tokenizer.json")).unwrap()).unwrap();
    let spec = Spec::new(Task::MultiKey, Values::Numbers, 256, seed);
    sample(&spec, &tokenizer).unwrap()
}

/// A model of two layers without positions, trained for two steps.
fn tiny(folder: &Folder) -> PathBuf {
    let short = RECIPE.replace("steps = 60", "steps = 2");
    let recipe = folder.write("recipe.toml", &short);
    let shape = short.lines().find(|line| line.starts_with("model")).unwrap();
    let drop = folder.write("drop.toml", short.replace(shape, "drop = { positions = \"all\" }"));
    let (base, dropped) = (folder.path("base"), folder.path("dropped"));
    let end = ["--device", "cpu", "--threads", "1"];
    succeeds(&[&["pretrain", "--recipe", text(&recipe), "--out", text(&base)], &end[..]].concat());
    let arguments = ["recalibrate", "--from", text(&base), "--recipe", text(&drop), "--out", text(&dropped)];
    succeeds(&[&arguments[..], &end].concat());
    dropped
}

#[test]
fn generate_writes_a_message_as_the_models_template_says() {
    let (folder, question) = (Folder::new("chat"), question(1));
    let model = nano_rope_in(&folder);
    let generate = |prompt: &str, more: &[&str]| {
        let arguments =
            ["generate", "--model", text(&model), "--context", "300", "--max-new-tokens", "16", "--prompt", prompt];
        [&arguments[..], more].concat().into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    let run = |arguments: &[String]| succeeds(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
    let message = question.prompt();
    let chat: Vec<String> = generate(&message, &["--chat"]);
    refused(&chat.iter().map(String::as_str).collect::<Vec<_>>(), "has no chat template");
    // The system's words come where the haystack would: both ways the model reads the same text.
    let (haystack, asked) = message.split_at(message.len() - question.question.len());
    let template = "{{ bos_token }}{{ messages[0].content }} {{ messages[1].content }}";
    folder.write("model/tokenizer_config.json", format!(r#"{{"bos_token": "<s>", "chat_template": "{template}"}}"#));
    let answer = run(&generate(asked, &["--chat", "--system", haystack.trim()]));
    assert_eq!(answer, run(&generate(&message, &[])));
    assert!(question.score(&answer).exact, "{answer}");
    folder.write("model/chat_template.jinja", "{% for %}");
    refused(&chat.iter().map(String::as_str).collect::<Vec<_>>(), "the template fails in line 1");
}

#[test]
fn generate_answers_a_question() {
    let question = question(1);
    let model = nano_rope();
    let prompt = question.prompt();
    let generate =
        |more: &[&str]| succeeds(&[&["generate", "--model", text(&model), "--prompt", &prompt], more].concat());
    let answer = generate(&["--context", "300", "--max-new-tokens", "16"]);
    assert!(question.score(&answer).exact, "{answer} where {:?} is right", question.references);
    // The same again, also when it is sampled; and as many tokens as there may be.
    assert_eq!(generate(&["--context", "300", "--max-new-tokens", "16"]), answer);
    let sampled =
        |seed| generate(&["--context", "300", "--max-new-tokens", "20", "--temperature", "9", "--seed", seed]);
    assert_eq!(sampled("1"), sampled("1"));
    assert_ne!(sampled("1"), sampled("2"));
    assert!(generate(&["--context", "300", "--max-new-tokens", "2"]).len() < answer.len());
    // 256 tokens are full: the default context has no room for an answer.
    refused(&["generate", "--model", text(&model), "--prompt", &prompt], "choose a larger extension");
}

#[test]
fn fit_scale_writes_what_it_prints_into_the_config_and_nothing_else() {
    let folder = Folder::new("fit");
    let model = tiny(&folder);
    let config = |model: &Path| read_json(&model.join("config.json"));
    let before = config(&model);
    let fit = |more: &[&str]| {
        succeeds(&[&["fit-scale", "--model", text(&model), "--documents", "1", "--device", "cpu"], more].concat())
    };
    let said = fit(&[]);
    let printed = said.lines().find_map(|line| line.strip_prefix("β = 1 + ")?.split_once('·')).unwrap().0;
    let mut after = config(&model);
    let fitted = after["temperature_coefficient"].as_f64().unwrap();
    assert!(fitted != 0.0 && format!("{fitted:.4}") == printed, "{fitted} and {printed}");
    after.as_object_mut().unwrap().remove("temperature_coefficient");
    assert_eq!(after, before);
    // The method uses the fitted temperature, which is 1 + c·ln 4 here.
    let beta = |said: String| said.lines().find_map(|line| line.strip_prefix("logit scale β: ")?.parse::<f64>().ok());
    let inspected = beta(succeeds(&["inspect", "--model", text(&model), "--factor", "4"])).unwrap();
    assert!((inspected - (1.0 + fitted * 4f64.ln())).abs() < 1e-9, "{inspected}");

    let written =
        |out: &Path| ["fit-scale", "--model", text(&model), "--documents", "1", "--out", text(out)].map(str::to_owned);
    let copy = folder.path("copy");
    succeeds(&written(&copy).each_ref().map(String::as_str));
    refused(&written(&copy).each_ref().map(String::as_str), "holds a model already");

    fit(&["--kind", "head"]);
    let after = config(&model);
    assert_eq!(after["head_scales"]["factor"], 8.0);
    // One temperature takes the place of those of the heads.
    let uniform = folder.path("uniform");
    std::fs::create_dir(&uniform).unwrap();
    for file in ["config.json", "tokenizer.json", "model.safetensors"] {
        std::fs::copy(model.join(file), uniform.join(file)).unwrap();
    }
    succeeds(&["fit-scale", "--model", text(&uniform), "--documents", "1", "--device", "cpu"]);
    assert!(config(&uniform)["head_scales"].is_null());
    let scales = after["head_scales"]["scales"].as_array().unwrap();
    assert!(scales.len() == 2 && scales.iter().all(|layer| layer.as_array().unwrap().len() == 2), "{after}");
    assert!(scales[0][0].as_f64().unwrap() >= 1.0);
}

#[cfg(target_os = "linux")]
#[test]
fn the_parts_of_the_memory_are_below_the_peak() {
    let model = nano_rope();
    let said = succeeds(&["bench", "--model", text(&model), "--memory", "--prompt", "300"]);
    let used: serde_json::Value = serde_json::from_str(&said).unwrap();
    let bytes = |name: &str| used[name].as_u64().unwrap();
    // 0.9 million numbers; keys and values of 4 layers of 4 heads, for 364 tokens.
    assert_eq!(bytes("cache"), 2 * 4 * 4 * 32 * 364 * 4, "{said}");
    assert!(bytes("weights") > 3_000_000 && bytes("weights") < 4_000_000, "{said}");
    assert!(bytes("program") > 1_000_000, "{said}");
    assert!(bytes("peak") > bytes("program") + bytes("weights") + bytes("cache"), "{said}");
}

#[test]
fn bench_prints_one_line_of_speeds() {
    let folder = Folder::new("bench");
    let model = tiny(&folder);
    // Whatever the prompt, there is room for the tokens behind it.
    succeeds(&["bench", "--model", text(&model), "--repeats", "1", "--prompt", "16"]);
    let said = succeeds(&["bench", "--model", text(&model), "--repeats", "1", "--threads", "2"]);
    assert_eq!(said.lines().count(), 1);
    let speeds: serde_json::Value = serde_json::from_str(&said).unwrap();
    assert_eq!(speeds["threads"], 2);
    for speed in ["train", "prefill", "decode"] {
        assert!(speeds[speed].as_f64().unwrap() > 0.0, "{said}");
    }
}

#[test]
fn perplexity_of_a_text_file_is_of_its_tokens() {
    let folder = Folder::new("text");
    let (model, json) = (nano_rope(), folder.path("results.json"));
    let story = [1, 2, 3].map(|seed| question(seed).prompt()).join(" ");
    let measure = |story: &str| {
        let path = folder.write("story.txt", story);
        let arguments = ["eval", "ppl", "--model", text(&model), "--method", "rope", "--extension", "1"];
        succeeds(&[&arguments[..], &["--text", text(&path), "--texts", "2", "--json", text(&json)]].concat());
        read_json(&json).as_array().unwrap().clone()
    };
    let cells = measure(&story);
    let cell = &cells[0];
    assert!(cell["source"].as_str().unwrap().starts_with("story.txt "), "{cell}");
    // Two texts of 256 tokens: every token but the first of each is predicted, none is known to be an answer.
    assert_eq!((&cell["tokens"], &cell["of_texts"]), (&(2 * 255).into(), &2.into()));
    assert!(cell["answer_perplexity"].is_null());
    assert!((1.0..100.0).contains(&cell["perplexity"].as_f64().unwrap()), "{cell}");
    assert_eq!(measure(&story).len(), 1, "the same file is not measured again");
    assert_eq!(measure(&story.replacen("The", "A", 1)).len(), 2, "another text of the same name is");
    let short = folder.write("short.txt", "The end.");
    let arguments = ["eval", "ppl", "--model", text(&model), "--method", "rope", "--text", text(&short)];
    refused(&arguments, "fewer than the 2048 of the longest window");
}

#[test]
fn heads_that_are_saved_are_read_by_dopes_methods() {
    let folder = Folder::new("heads");
    let (model, json) = (nano_rope_in(&folder), folder.path("results.json"));
    let before = read_json(&model.join("config.json"));
    let arguments = ["dope", "select", "--model", text(&model), "--heads", "2", "--stage", "pre_ntk", "--save"];
    let said = succeeds(&[&arguments[..], &["--extension", "1", "--texts", "1"]].concat());
    let mut after = read_json(&model.join("config.json"));
    let saved = after["dope_heads"]["heads"].as_array().unwrap().clone();
    let listed: Vec<&str> = said.lines().filter(|line| line.ends_with("chosen")).collect();
    assert_eq!(saved.len(), 2);
    for (head, line) in saved.iter().zip(listed) {
        let place = format!("layer {:2} head {:2}", head["layer"].as_u64().unwrap(), head["head"].as_u64().unwrap());
        assert!(line.starts_with(&place), "{line} is not {place}");
    }
    after["dope_heads"] = before["dope_heads"].clone();
    assert_eq!(after, before, "nothing else has changed");
    let arguments = ["eval", "niah", "--model", text(&model), "--method", "dope-all", "--extension", "1"];
    succeeds(&[&arguments[..], &["--trials", "1", "--json", text(&json)]].concat());
    assert_eq!(read_json(&json)[0]["heads"], "query r16 pre_ntk ascending 2 at 1x");
}

#[test]
fn logits_that_are_not_finite_are_an_error() {
    let folder = Folder::new("nan");
    let (model, out) = (folder.model("model"), folder.path("out.safetensors"));
    let config = std::fs::read_to_string(fixtures().join("rope/config.json")).unwrap();
    folder.write("model/config.json", config.replacen('{', "{\"softmax_scale\": 1e308,", 1));
    let ids = ["--ids", "1,2,3", "--out", text(&out)];
    let refusal = run(&[&["logits", "--model", text(&model)], &ids[..]].concat());
    let said = String::from_utf8_lossy(&refusal.stderr);
    assert!(refusal.status.code() == Some(2) && said.lines().count() == 1 && !out.exists(), "{said}");
    // A config is refused for its bounds; a temperature of the command line only shows in the logits.
    let whole = nano_rope();
    refused(&[&["logits", "--model", text(&whole), "--beta", "1e308"], &ids[..]].concat(), "NaN or infinite");
    assert!(!out.exists());
    let nano = nano_rope_in(&folder);
    let config = std::fs::read_to_string(nano.join("config.json")).unwrap();
    folder.write("model/config.json", config.replacen('{', "{\"softmax_scale\": 1e308,", 1));
    for command in [&["generate", "--prompt", "The"][..], &["eval", "niah", "--method", "rope", "--trials", "1"]] {
        let refusal = run(&[command, &["--model", text(&nano)]].concat());
        let said = String::from_utf8_lossy(&refusal.stderr);
        assert!(refusal.status.code() == Some(2) && said.lines().count() == 1, "{command:?}: {said}");
    }
}

#[test]
fn a_checkpoint_that_was_being_replaced_is_resumed() {
    let folder = Folder::new("renames");
    let recipe = folder.write("recipe.toml", RECIPE.replace("steps = 60", "steps = 8"));
    let train = |out: &Path, more: &[&str]| {
        let arguments = ["pretrain", "--recipe", text(&recipe), "--out", text(out), "--device", "cpu"];
        succeeds(&[&arguments[..], &["--threads", "1"], more].concat())
    };
    let [whole, parts] = ["whole", "parts"].map(|name| folder.path(name));
    train(&whole, &[]);
    train(&parts, &["--until", "5"]);
    // The state after an interruption between the two renames: the old checkpoint is renamed, and the new one does not
    // have its final name yet.
    std::fs::rename(parts.join("checkpoint"), parts.join("checkpoint.old")).unwrap();
    folder.write("parts/checkpoint.tmp/state.json", "{}");
    train(&parts, &["--resume"]);
    let weights = |folder: &Path| std::fs::read(folder.join("model.safetensors")).unwrap();
    assert!(weights(&whole) == weights(&parts), "the model differs");
    let left: Vec<_> = std::fs::read_dir(&parts).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(left.iter().all(|name| !name.to_string_lossy().starts_with("checkpoint")), "{left:?}");
}

#[test]
fn a_search_for_factors_goes_on_where_it_was_and_its_model_reads_with_them() {
    let folder = Folder::new("search");
    let model = fixtures().join("../../models/nano-rope");
    let search = |out: &str, generations: &str| {
        let out = folder.path(out);
        let arguments = ["search", "longrope2", "--model", text(&model), "--out", text(&out), "--factor", "2"];
        let output = run(&[&arguments[..], &["--generations", generations, "--texts", "1"]].concat());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        out
    };
    search("parts", "1");
    let (parts, whole) = (search("parts", "2"), search("whole", "2"));
    for file in ["config.json", "search.json"] {
        assert_eq!(std::fs::read(parts.join(file)).unwrap(), std::fs::read(whole.join(file)).unwrap(), "{file}");
    }
    let output = run(&["inspect", "--model", text(&whole)]);
    assert!(String::from_utf8_lossy(&output.stdout).contains("method: longrope at 2 times"));
    let error = run(&["inspect", "--model", text(&model), "--method", "longrope"]);
    assert!(String::from_utf8_lossy(&error.stderr).contains("core search longrope2"));
}

/// NaN would be written as null, which no reader of the file takes for a number.
#[test]
fn a_probe_of_weights_that_overflow_leaves_the_results_file_alone() {
    let folder = Folder::new("overflow");
    let json = folder.path("heads.json");
    let model = nano_rope();
    let arguments = ["probe", "--model", text(&model), "--method", "rope", "--extension", "1", "--trials", "1"];
    refused(&[&arguments[..], &["--beta", "1e308", "--json", text(&json)]].concat(), "NaN or infinite");
    assert!(!json.exists());
}

#[test]
fn smaller_weights_give_nearly_the_same_logits() {
    let folder = Folder::new("weights");
    let model = nano_rope();
    let ids: Vec<String> = (0..64).map(|i| ((i * 37 + 11) % 488).to_string()).collect();
    let logits = |kind: &str| -> Vec<f32> {
        let out = folder.path(kind);
        let arguments = ["logits", "--model", text(&model), "--ids", &ids.join(","), "--out", text(&out)];
        succeeds(&[&arguments[..], &["--device", "cpu", "--weights", kind]].concat());
        let bytes = std::fs::read(out).unwrap();
        let file = safetensors::SafeTensors::deserialize(&bytes).unwrap();
        file.tensor("logits").unwrap().data().as_chunks().0.iter().map(|value| f32::from_le_bytes(*value)).collect()
    };
    let full = logits("f32");
    let largest = full.iter().fold(0.0f32, |most, value| most.max(value.abs()));
    let mut last = 0.0;
    for (kind, bound) in [("f16", 2e-3), ("bf16", 2e-2), ("q8", 5e-2)] {
        let apart = logits(kind).iter().zip(&full).map(|(a, b)| (a - b).abs()).fold(0.0f32, f32::max);
        println!("{kind}: {:e} of the largest logit", apart / largest);
        assert!(apart < bound * largest && apart > last, "{kind}: {apart} of {largest}");
        last = apart;
    }
}

/// A smaller cache gives different results, so results in the file with a cache of 32 bits do not count.
#[test]
fn a_smaller_cache_answers_alike_and_is_measured_anew() {
    let folder = Folder::new("cache");
    let (model, json) = (nano_rope(), folder.path("perplexity.json"));
    let arguments = ["eval", "ppl", "--model", text(&model), "--device", "cpu", "--extension", "1,2", "--texts", "2"];
    for kind in ["f32", "f16", "q8"] {
        succeeds(&[&arguments[..], &["--json", text(&json), "--cache", kind]].concat());
    }
    let cells: serde_json::Value = serde_json::from_slice(&std::fs::read(&json).unwrap()).unwrap();
    let cells: Vec<(f64, &str)> = cells
        .as_array()
        .unwrap()
        .iter()
        .filter(|cell| cell["extension"] == 2)
        .map(|cell| (cell["perplexity"].as_f64().unwrap(), cell["fingerprint"].as_str().unwrap()))
        .collect();
    let [(full, own), (_, half), (_, eighth)] = cells[..] else { panic!("{cells:?}") };
    assert!(own != half && half != eighth, "{cells:?}");
    assert!(cells[1..].iter().all(|(smaller, _)| *smaller != full && (smaller / full - 1.0).abs() < 0.02), "{cells:?}");
}

#[test]
fn shells_learn_every_command() {
    let help = succeeds(&["--help"]);
    let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let commands: Vec<&str> = listed.filter_map(|line| line.split_whitespace().next()).collect();
    assert!(commands.contains(&"recalibrate") && commands.len() > 15, "{commands:?}");
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = succeeds(&["completions", shell]);
        let missing = commands.iter().chain(&["longrope2", "held-out"]).find(|word| !script.contains(**word));
        assert_eq!(missing, None, "{shell}");
    }
}
