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
    study.plan(
        r#"
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
"#,
    );
    let output = study.run(&["--dry-run"]);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let names: Vec<&str> = said.lines().map(|line| line.split_whitespace().next().unwrap()).collect();
    assert_eq!(names, ["b-2", "a-2", "last-2", "b-1", "a-1", "b", "a"]);
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
    // Five trunks, eight runs from each, six with SSMax from the first, and four pilots for two keys at once.
    let trainings =
        listed.lines().filter(|line| line.contains(" core pretrain ") || line.contains(" core recalibrate "));
    assert_eq!(trainings.count(), 5 + 5 * 8 + 6 + 4, "{listed}");
    // The evaluation's questions are asked with its seed, and settings are chosen with another.
    let asks = |line: &&str| line.contains(" core eval niah ");
    let is_selection = |line: &&str| line.contains("--split selection");
    let has_seed = |line: &str, seed: &str| line.contains(&format!("--seed {seed} "));
    let (selection, evaluation): (Vec<&str>, Vec<&str>) = listed.lines().filter(asks).partition(is_selection);
    assert!(selection.len() > 50 && selection.iter().all(|line| has_seed(line, "32000")), "{listed}");
    assert!(evaluation.len() > 100 && evaluation.iter().all(|line| has_seed(line, "31000")), "{listed}");
    assert!(listed.lines().filter(|line| line.contains(" core tune ")).all(|line| has_seed(line, "32000")), "{listed}");
    assert!(listed.starts_with("rope-1 "), "{listed}");
}
