//! `core reproduce`: the plan of the papers' tables and figures, and what is written of its results.

mod common;

use common::{Folder, core, fixtures, read_json, succeeds, text};

fn root() -> std::path::PathBuf {
    fixtures().join("../..")
}

#[test]
fn a_plan_is_run_and_its_results_are_written() {
    let folder = Folder::new("reproduce");
    let (out, model) = (folder.path("out"), root().join("models/nano-rope"));
    let model = text(&model);
    let plan = format!(
        r#"
[[job]]
name = "model"
command = "inspect --model {model} --json {{out}}/results/models.json"
[[job]]
name = "heads"
command = "probe --model {model} --trials 1 --extension 1 --json {{out}}/results/probe.json"
[[job]]
name = "gradients"
command = "gradients --model {model} --layers 2 --models 1 --json {{out}}/results/gradients.json"
"#
    );
    let plan = folder.write("plan.toml", plan);
    let reproduce = ["reproduce", "--plan", text(&plan), "--out", text(&out)];
    succeeds(&reproduce);
    let report = || std::fs::read_to_string(out.join("README.md")).unwrap();
    let first = report();
    assert!(first.contains("Models have 0.85 M parameters and a training context C of 256 tokens"), "{first}");
    let section = |name: &str| std::fs::read_to_string(out.join(name)).unwrap();
    assert!(
        section("gradients.md").contains("at random weights of 2 layers") && first.contains("](gradients.md): RoPE's"),
        "{first}"
    );
    assert!(section("mass.md").contains("| RoPE (layer 2, head") && first.contains("](mass.md): "), "{first}");
    assert!(first.contains("Not measured so far: retrieval, tasks,"), "{first}");
    // What is done is not measured again, and --render measures nothing.
    let results = std::fs::read(out.join("results/probe.json")).unwrap();
    std::fs::remove_file(out.join("README.md")).unwrap();
    succeeds(&reproduce);
    assert!(report() == first && std::fs::read(out.join("results/probe.json")).unwrap() == results);
    let rendered = folder.path("rendered");
    succeeds(&["reproduce", "--render", "--data", text(&out.join("results")), "--out", text(&rendered)]);
    assert_eq!(std::fs::read_to_string(rendered.join("README.md")).unwrap(), first);
}

#[test]
fn the_plans_of_this_repository_can_be_run() {
    let folder = Folder::new("reproduction-plan");
    for (plan, jobs) in [("recipes/reproduction.toml", 190), ("recipes/reproduction-quick.toml", 40)] {
        let out = folder.path("out");
        let arguments = ["study", "--plan", plan, "--dry-run", "--out", text(&out)];
        let output = core(&arguments).current_dir(root()).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let listed = String::from_utf8_lossy(&output.stdout).lines().filter(|line| line.contains(" core ")).count();
        assert!(listed >= jobs, "{plan}: {listed}");
    }
}

#[test]
fn what_the_results_say_of_the_models_is_so() {
    let folder = Folder::new("models-json");
    let (json, results) = (folder.path("models.json"), root().join("docs/results"));
    let known = read_json(&results.join("models.json"));
    for known in known.as_array().unwrap() {
        let name = known["model"].as_str().unwrap();
        let model = root().join("models").join(name);
        let entries = results.read_dir().unwrap().map(|entry| entry.unwrap().path());
        let heads: Vec<String> =
            entries.map(|path| text(&path).to_owned()).filter(|path| path.contains("/dope-heads-")).collect();
        let heads = heads.join(",");
        let mut arguments = vec!["inspect", "--model", text(&model), "--json", text(&json)];
        if name == "nano-rope" {
            arguments.extend(["--heads", &heads]);
        }
        succeeds(&arguments);
        let written = read_json(&json);
        let now = written.as_array().unwrap().iter().find(|record| record["model"] == name).unwrap();
        assert!(now == known, "{name} is another model: write models.json with `core inspect --json`");
    }
}
