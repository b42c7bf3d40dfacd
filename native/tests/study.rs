//! `core study`: plans, what is run, what is skipped, and how it stops and goes on.

mod common;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use common::{Folder, RECIPE, core, fixtures, read_json, refused, succeeds, text};

/// A folder with recipes and a plan.
struct Study {
    folder: Folder,
}

impl Study {
    fn new(name: &str, steps: usize) -> Self {
        let study = Self { folder: Folder::new(name) };
        study.recipes(steps);
        study
    }

    fn recipes(&self, steps: usize) {
        let recipe = RECIPE.replace("steps = 60", &format!("steps = {steps}"));
        let model = recipe.lines().find(|line| line.starts_with("model")).unwrap();
        self.folder.write("rope.toml", &recipe);
        self.folder.write("all.toml", recipe.replace(model, "drop = { positions = \"all\" }"));
    }

    /// Writes the plan, in which RECIPES stands for the folder of the recipes.
    fn plan(&self, plan: &str) -> PathBuf {
        self.folder.write("plan.toml", plan.replace("RECIPES", text(&self.folder.0)))
    }

    fn arguments(&self, out: &Path) -> Vec<String> {
        let plan = self.folder.path("plan.toml");
        ["study", "--plan", text(&plan), "--out", text(out), "--threads", "2"].map(str::to_owned).into()
    }

    /// Runs the study in the folder `out`.
    fn run(&self, more: &[&str]) -> Output {
        self.run_in(&self.out(""), more)
    }

    fn run_in(&self, out: &Path, more: &[&str]) -> Output {
        core(&[]).args(self.arguments(out)).args(more).output().unwrap()
    }

    fn out(&self, path: &str) -> PathBuf {
        self.folder.path("out").join(path)
    }
}

/// Two trunks, a model from each, and its evaluation.
const PLAN: &str = r#"
[variables]
seed = [1, 2]

[[job]]
name = "rope-{seed}"
command = "pretrain --recipe RECIPES/rope.toml --seed {seed} --out {out}/models/rope-{seed} --device cpu --save-every 5"
cost = 2.0

[[job]]
name = "all-{seed}"
after = ["rope-{seed}"]
command = "recalibrate --recipe RECIPES/all.toml --from {out}/models/rope-{seed} --seed 10{seed} --out {out}/models/all-{seed} --device cpu"

[[job]]
name = "eval-all-{seed}"
after = ["all-{seed}"]
command = "eval niah --model {out}/models/all-{seed} --method drope --task single --trials 2 --extension 1 --device cpu --json {out}/results/all-{seed}.json"
cost = 0.1
"#;

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Names of the jobs that are done.
fn done(out: &Path) -> BTreeSet<String> {
    let names = std::fs::read_dir(out.join("done")).into_iter().flatten().flatten();
    let name = |entry: std::fs::DirEntry| entry.file_name().to_str()?.strip_suffix(".json").map(str::to_owned);
    names.filter_map(name).collect()
}

fn wait_for(path: &Path) {
    let start = Instant::now();
    while !path.exists() {
        assert!(start.elapsed() < Duration::from_secs(120), "{} does not appear", path.display());
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn a_study_that_is_stopped_goes_on_and_does_nothing_twice() {
    let study = Study::new("study-resume", 300);
    study.plan(PLAN);
    let first = core(&[]).args(study.arguments(&study.out(""))).stderr(Stdio::piped()).spawn().unwrap();
    wait_for(&study.out("models/rope-1/checkpoint/state.json"));
    wait_for(&study.out("models/rope-2/checkpoint/state.json"));
    // To the study alone, as from another terminal.
    assert!(Command::new("kill").args(["-INT", &first.id().to_string()]).status().unwrap().success());
    let output = first.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", said(&output));
    assert!(said(&output).contains("stopped with 0 of 6 jobs done; the same command goes on"), "{}", said(&output));
    assert!(!study.out("models/rope-1/model.safetensors").exists() && done(&study.out("")).is_empty());

    let output = study.run(&[]);
    assert!(output.status.success(), "{}", said(&output));
    assert!(String::from_utf8_lossy(&output.stdout).contains("6 of 6 jobs are done"));
    assert!(said(&output).contains("rope-1 begins") && said(&output).contains("all-2 is done"), "{}", said(&output));
    let log = |name: &str| std::fs::read_to_string(study.out(&format!("logs/{name}.log"))).unwrap();
    assert!(log("rope-1").contains("--resume") && !log("all-1").contains("--resume"));
    assert_eq!(log("rope-1").matches("300 steps").count(), 1, "{}", log("rope-1"));
    for (name, seed) in [("rope-1", 1), ("rope-2", 2), ("all-1", 101), ("all-2", 102)] {
        let recipe = std::fs::read_to_string(study.out(&format!("models/{name}/recipe.toml"))).unwrap();
        assert!(recipe.starts_with(&format!("seed = {seed}\n")), "{recipe}");
    }
    // As if it had not been stopped.
    let (alone, recipe) = (study.folder.path("alone"), study.folder.path("rope.toml"));
    let pretrain = ["pretrain", "--recipe", text(&recipe), "--out", text(&alone), "--device", "cpu"];
    succeeds(&[&pretrain[..], &["--seed", "1", "--threads", "1"]].concat());
    let weights = |folder: &Path| std::fs::read(folder.join("model.safetensors")).unwrap();
    assert!(weights(&alone) == weights(&study.out("models/rope-1")));
    assert!(weights(&alone) != weights(&study.out("models/rope-2")), "seeds differ");
    assert_eq!(read_json(&study.out("results/all-2.json")).as_array().unwrap().len(), 1);

    let before = log("all-1");
    let again = study.run(&[]);
    assert!(again.status.success() && said(&again).is_empty(), "{}", said(&again));
    assert_eq!(log("all-1"), before, "a job that is done is not run");
    assert!(String::from_utf8_lossy(&again.stdout).contains("6 of 6 jobs are done"));
}

#[test]
fn what_has_changed_is_run_again_with_all_that_follows() {
    let study = Study::new("study-changed", 2);
    study.plan(PLAN);
    assert!(study.run(&[]).status.success());
    let list = |study: &Study| String::from_utf8_lossy(&study.run(&["--dry-run"]).stdout).into_owned();
    assert_eq!(list(&study).matches(" done ").count(), 6, "{}", list(&study));
    let weights = |path: &str| std::fs::read(study.out(path).join("model.safetensors")).unwrap();
    let (trunk, before) = (weights("models/rope-2"), weights("models/all-2"));

    // Neither does another place of the folder change anything, nor a comment.
    std::fs::rename(study.out(""), study.folder.path("moved")).unwrap();
    let moved = String::from_utf8(study.run_in(&study.folder.path("moved"), &["--dry-run"]).stdout).unwrap();
    assert_eq!(moved.matches(" done ").count(), 6, "{moved}");
    std::fs::rename(study.folder.path("moved"), study.out("")).unwrap();
    let recipe = std::fs::read_to_string(study.folder.path("all.toml")).unwrap();
    study.folder.write("all.toml", format!("# Why.\n{recipe}"));
    assert_eq!(list(&study).matches(" done ").count(), 6, "{}", list(&study));

    study.folder.write("all.toml", recipe.replace("steps = 2", "steps = 3"));
    assert_eq!(list(&study).matches(" changed ").count(), 4, "{}", list(&study));
    let output = study.run(&[]);
    assert!(output.status.success(), "{}", said(&output));
    assert!(said(&output).contains("all-2 has changed since it was run and is run again"), "{}", said(&output));
    assert!(said(&output).contains("eval-all-2 has changed") && !said(&output).contains("rope-2 has"));
    assert!(weights("models/all-2") != before && weights("models/all-2.old") == before, "nothing is lost");
    assert!(weights("models/rope-2") == trunk);
    assert_eq!(list(&study).matches(" done ").count(), 6, "{}", list(&study));
}

#[test]
fn a_failing_job_is_told_and_the_others_go_on() {
    let study = Study::new("study-fails", 2);
    let failing = r#"
[[job]]
name = "lost"
command = "inspect --model {out}/nowhere"
[[job]]
name = "after-lost"
after = ["lost"]
command = "inspect --model {out}/nowhere"
"#;
    study.plan(&format!("{}{failing}", PLAN.replace("[1, 2]", "[1]")));
    let output = study.run(&[]);
    let sentences = said(&output);
    assert_eq!(output.status.code(), Some(2), "{sentences}");
    assert!(sentences.contains("lost failed: cannot read") && sentences.contains("lost.log"), "{sentences}");
    let last = sentences.lines().last().unwrap();
    assert!(last.contains("3 of 5 jobs are done; failed: lost") && last.contains("not run: after-lost"), "{last}");
    assert_eq!(done(&study.out("")), ["rope-1", "all-1", "eval-all-1"].map(str::to_owned).into());

    // The same command tries again.
    for file in ["config.json", "model.safetensors"] {
        study.folder.write(&format!("out/nowhere/{file}"), std::fs::read(fixtures().join("rope").join(file)).unwrap());
    }
    assert!(study.run(&[]).status.success());
    assert_eq!(done(&study.out("")).len(), 5);
}

#[test]
fn two_shards_run_every_job_once_and_keep_what_belongs_together() {
    let study = Study::new("study-shards", 1);
    study.plan(&PLAN.replace("[1, 2]", "[1, 2, 3]"));
    let (one, two) = (study.folder.path("one"), study.folder.path("two"));
    assert!(study.run_in(&one, &["--shard", "1/2"]).status.success());
    assert!(study.run_in(&two, &["--shard", "2/2"]).status.success());
    let names = |seed: usize| [format!("rope-{seed}"), format!("all-{seed}"), format!("eval-all-{seed}")];
    assert_eq!(done(&one), [names(1), names(3)].concat().into_iter().collect());
    assert_eq!(done(&two), names(2).into());
}

#[test]
fn jobs_are_listed_in_the_order_of_the_file_and_of_its_variables() {
    let study = Study::new("study-order", 1);
    study.plan(
        r#"
[variables]
seed = [2, 1]
run = ["b", "a"]
[[job]]
name = "{run}-{seed}"
command = "inspect --model {out}/{run}"
only = { run = ["a", "b"] }
[[job]]
name = "last-{seed}"
command = "inspect --model {out}/{seed}"
only = { seed = [1] }
"#,
    );
    let output = study.run(&["--dry-run"]);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let names: Vec<&str> = said.lines().map(|line| line.split_whitespace().next().unwrap()).collect();
    assert_eq!(names, ["b-2", "a-2", "b-1", "a-1", "last-1"]);
    assert!(!study.folder.path("out").exists(), "nothing is run or written");
}

#[test]
fn a_job_that_another_process_runs_is_not_run_beside_it() {
    let study = Study::new("study-twice", 2);
    study.plan(&PLAN.replace("[1, 2]", "[1]"));
    std::fs::create_dir_all(study.out("started")).unwrap();
    let lock = std::fs::File::create(study.out("started/.rope-1.json.lock")).unwrap();
    lock.lock().unwrap();
    let output = study.run(&[]);
    assert_eq!(output.status.code(), Some(2));
    assert!(said(&output).contains("rope-1 failed: another process is running it"), "{}", said(&output));
    drop(lock);
    assert!(study.run(&[]).status.success());
}

#[test]
fn jobs_that_outlive_their_study_are_neither_disturbed_nor_run_again() {
    let study = Study::new("study-killed", 600);
    study.plan(&PLAN.replace("[1, 2]", "[1]"));
    let mut first = core(&[]).args(study.arguments(&study.out(""))).spawn().unwrap();
    wait_for(&study.out("models/rope-1/checkpoint/state.json"));
    first.kill().unwrap();
    first.wait().unwrap();
    let beside = study.run(&[]);
    assert!(said(&beside).contains("another process is running it"), "{}", said(&beside));
    wait_for(&study.out("models/rope-1/model.safetensors"));
    let start = Instant::now();
    while !study.run(&[]).status.success() {
        assert!(start.elapsed() < Duration::from_secs(120), "the job has ended but holds its lock");
    }
    let log = std::fs::read_to_string(study.out("logs/rope-1.log")).unwrap();
    assert_eq!((log.matches("> core").count(), log.matches("600 steps").count()), (1, 1), "{log}");
    assert_eq!(done(&study.out("")).len(), 3);
}

#[test]
fn plans_that_cannot_be_run_are_refused_before_anything_is() {
    let study = Study::new("study-refused", 2);
    let job = |name: &str, more: &str| {
        format!("[[job]]\nname = \"{name}\"\ncommand = \"inspect --model {{out}}/m\"\n{more}\n")
    };
    let variables = "[variables]\nseed = [1, 2]\n";
    for (plan, words) in [
        ("job = 3".to_owned(), "this is not a plan"),
        ("job = []".to_owned(), "no jobs"),
        (job("a", "colour = 1"), "colour"),
        (job("a", "cost = -1"), "cost is -1"),
        (job("a-{seed}", ""), "there is no variable seed"),
        (job("a-{seed", ""), "a { without a }"),
        (job("a/b", ""), "must be of letters"),
        (job("a", "after = [\"b\"]"), "a is after b, which is not a job"),
        (job("a", "after = [\"b\"]") + &job("b", "after = [\"a\"]"), "in a circle: a, b"),
        (job("a", "") + &job("a", ""), "two jobs with the name a"),
        (variables.to_owned() + &job("a", "after = [\"b-{seed}\"]"), "{seed}, which the name of the job does not use"),
        (variables.to_owned() + &job("a-{seed}", "only = { seed = [3] }"), "has the value 3"),
        (variables.to_owned() + &job("a", "only = { seed = [1] }"), "only restricts seed"),
        ("[variables]\nout = [1]\n".to_owned() + &job("a", ""), "give the variable another name"),
        ("[variables]\nx = 1\n".to_owned() + &job("a", ""), "must be a list"),
        (job("a", "").replace("--model", "--modle"), "unexpected argument '--modle'"),
        (job("a", "").replace("inspect", "inspekt"), "unrecognized subcommand 'inspekt'"),
        (job("a", "").replace("inspect", "study --plan p --out"), "is not a command"),
        (job("a", "").replace("inspect --model", "study --plan p --out"), "a study cannot be a job"),
        (job("a", "").replace("inspect --model", "pretrain --recipe none.toml --out"), "cannot read none.toml"),
        (job("a", "").replace("inspect --model", "pretrain --resume --recipe RECIPES/rope.toml --out"), "--resume"),
        (
            (job("a", "") + &job("b", "")).replace("inspect --model", "pretrain --recipe RECIPES/rope.toml --out"),
            "two jobs that train the model",
        ),
        (job("a", "").replace("{out}/m", "nowhere"), "cannot read nowhere/config.json"),
    ] {
        study.plan(&plan);
        let arguments = study.arguments(&study.out(""));
        refused(&arguments.iter().map(String::as_str).collect::<Vec<_>>(), words);
    }
    assert!(!study.folder.path("out").exists());
}

#[test]
fn the_plan_of_the_project_can_be_run() {
    let folder = Folder::new("study-plan");
    let out = folder.path("out");
    let plan = ["study", "--plan", "recipes/study.toml", "--dry-run", "--out", text(&out)];
    let output = core(&plan).current_dir(fixtures().join("../..")).output().unwrap();
    assert!(output.status.success(), "{}", said(&output));
    let listed = String::from_utf8(output.stdout).unwrap();
    // Five trunks, eight runs from each, and six with SSMax from the first.
    assert_eq!(listed.lines().count(), 5 + 5 * 8 + 6, "{listed}");
    assert!(listed.starts_with("rope-1 "), "{listed}");
}
