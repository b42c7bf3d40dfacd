//! Plans of `core study`: what they make of variables, how they are shared out, and what is refused.

mod common;

use common::study::{PLAN, Study, done, said};
use common::{Folder, core, fixtures, refused, text};

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
fn what_belongs_to_one_value_of_the_first_variable_comes_together() {
    let study = Study::new("study-order", 1);
    let plan = r#"
[variables]
seed = [2, 1]
run = ["b", "a"]
[[job]]
name = "{run}"
command = "inspect --model {out}/{run}"
[[job]]
name = "{run}-{seed}"
command = "inspect --model {out}/{run}"
only = { run = ["a", "b"] }
[[job]]
name = "last-{seed}"
command = "inspect --model {out}/{seed}"
only = { seed = [2] }
"#;
    let order = || -> Vec<String> {
        let output = study.run(&["--dry-run"]);
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        said.lines().map(|line| line.split_whitespace().next().unwrap().to_owned()).collect()
    };
    study.plan(plan);
    assert_eq!(order(), ["b-2", "a-2", "last-2", "b-1", "a-1", "b", "a"]);
    study.plan(&format!("file_order = true\n{plan}"));
    assert_eq!(order(), ["b", "a", "b-2", "a-2", "b-1", "a-1", "last-2"]);
    assert!(!study.folder.path("out").exists(), "nothing is run or written");
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
            "two jobs that make",
        ),
        (job("a", "").replace("{out}/m", "nowhere"), "cannot read nowhere/config.json"),
    ] {
        study.plan(&plan);
        let arguments = study.arguments(&study.out(""));
        refused(&arguments.iter().map(String::as_str).collect::<Vec<_>>(), words);
    }
    assert!(!study.folder.path("out").exists());
}

/// What a plan of the project would run.
fn listed(plan: &str) -> String {
    let folder = Folder::new("study-plan");
    let out = folder.path("out");
    let plan = ["study", "--plan", plan, "--dry-run", "--out", text(&out)];
    let output = core(&plan).current_dir(fixtures().join("../..")).output().unwrap();
    assert!(output.status.success(), "{}", said(&output));
    String::from_utf8(output.stdout).unwrap()
}

/// Checks that the evaluation's questions have one seed, and those that settings are chosen by another. How many trainings there are.
fn check_seeds(listed: &str, evaluation_seed: &str, selection_seed: &str) -> usize {
    let asks = |line: &&str| line.contains(" core eval niah ");
    let is_selection = |line: &&str| line.contains("--split selection");
    let has_seed = |line: &str, seed: &str| line.contains(&format!("--seed {seed} "));
    let (selection, evaluation): (Vec<&str>, Vec<&str>) = listed.lines().filter(asks).partition(is_selection);
    assert!(selection.len() > 50 && selection.iter().all(|line| has_seed(line, selection_seed)), "{listed}");
    assert!(evaluation.len() > 100 && evaluation.iter().all(|line| has_seed(line, evaluation_seed)), "{listed}");
    let mut tunings = listed.lines().filter(|line| line.contains(" core tune "));
    assert!(tunings.all(|line| has_seed(line, selection_seed)), "{listed}");
    let is_training = |line: &&str| line.contains(" core pretrain ") || line.contains(" core recalibrate ");
    listed.lines().filter(is_training).count()
}

#[test]
fn the_plan_of_the_first_study_can_be_run() {
    let listed = listed("recipes/study.toml");
    // Five trunks, eight runs from each, six with SSMax from the first, and four pilots for two keys at once.
    assert_eq!(check_seeds(&listed, "31000", "32000"), 5 + 5 * 8 + 6 + 4, "{listed}");
    assert!(listed.starts_with("rope-1 "), "{listed}");
}

#[test]
fn the_plan_of_the_second_study_can_be_run() {
    let listed = listed("recipes/study-2.toml");
    // Of each trunk: itself, six runs with six budgets, seven rivals with two, and from scratch two models with two runs of two budgets.
    // From one trunk six runs of 16 million tokens, from two trunks three kinds of copies.
    let of_trunk = 1 + 6 * 6 + 7 * 2 + 2 * (1 + 2 * 2);
    assert_eq!(check_seeds(&listed, "33000", "34000"), 5 * of_trunk + 6 + 2 * 3, "{listed}");
    assert!(listed.starts_with("rope-6 "), "{listed}");
    // A run from a trunk does not see the trunk's documents again.
    for line in listed.lines().filter(|line| line.contains(" core recalibrate ")) {
        let trunk = line.split_whitespace().next().unwrap().rsplit('-').next().unwrap();
        assert!(line.contains(&format!("--seed 10{trunk} ")), "{line}");
    }
}
