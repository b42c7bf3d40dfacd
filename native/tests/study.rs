//! `core study`: what is run, what is skipped, and how it stops and goes on.

mod common;

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use common::study::{PLAN, Study, done, said};
use common::{core, fixtures, read_json, succeeds, text};

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
    // The signal goes to the study alone, as from another terminal.
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

/// As behind a script's `&`, where programs are started to ignore Ctrl-C.
#[test]
fn a_study_that_ignores_ctrl_c_ends_its_jobs_at_sigterm() {
    let study = Study::new("study-ignores", 300);
    study.plan(PLAN);
    let program = core(&[]).get_program().to_owned();
    let mut shell = Command::new("sh");
    shell.args(["-c", "trap '' INT; exec \"$@\"", "sh"]).arg(program).args(study.arguments(&study.out("")));
    let first = shell.stderr(Stdio::piped()).spawn().unwrap();
    wait_for(&study.out("models/rope-1/checkpoint/state.json"));
    assert!(Command::new("kill").args(["-TERM", &first.id().to_string()]).status().unwrap().success());
    let output = first.wait_with_output().unwrap();
    assert!(said(&output).contains("stopped with 0 of 6 jobs done; the same command goes on"), "{}", said(&output));
    assert!(!study.out("models/rope-1/model.safetensors").exists());
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

    // Neither a moved folder nor a changed comment makes a job run again.
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
    assert!(weights("models/all-2") != before && weights("models/all-2.old-1") == before, "nothing is lost");
    assert!(weights("models/rope-2") == trunk);
    assert_eq!(list(&study).matches(" done ").count(), 6, "{}", list(&study));
    let second = weights("models/all-2");
    study.folder.write("all.toml", recipe.replace("steps = 2", "steps = 4"));
    assert!(study.run(&[]).status.success());
    assert!(weights("models/all-2.old-1") == before && weights("models/all-2.old-2") == second, "of both changes");
}

/// As on a machine that got the records and results of another: models are not kept with them.
#[test]
fn a_lost_model_is_made_again_where_a_job_still_reads_it() {
    let study = Study::new("study-lost", 2);
    study.plan(PLAN);
    assert!(study.run(&[]).status.success());
    let weights = |path: &str| std::fs::read(study.out(path).join("model.safetensors")).unwrap();
    let before = weights("models/all-1");
    std::fs::remove_dir_all(study.out("models")).unwrap();
    let again = study.run(&[]);
    assert!(again.status.success() && said(&again).is_empty(), "no job reads them: {}", said(&again));

    std::fs::remove_file(study.out("done/eval-all-1.json")).unwrap();
    let output = study.run(&[]);
    assert!(output.status.success(), "{}", said(&output));
    for name in ["rope-1", "all-1"] {
        assert!(
            said(&output).contains(&format!("{name} is run again, since what it made is not there")),
            "{}",
            said(&output)
        );
    }
    assert!(weights("models/all-1") == before && !study.out("models/all-2").exists());

    // Each comes when a job is to read it, and not all before the first such job.
    std::fs::remove_dir_all(study.out("models")).unwrap();
    for seed in [1, 2] {
        std::fs::remove_file(study.out(&format!("done/eval-all-{seed}.json"))).unwrap();
    }
    let (plan, out) = (study.folder.path("plan.toml"), study.out(""));
    let arguments = ["study", "--plan", text(&plan), "--out", text(&out), "--threads", "1"];
    let output = core(&arguments).output().unwrap();
    assert!(output.status.success(), "{}", said(&output));
    let said = said(&output);
    let begins = |name: &str| said.find(&format!("{name} begins")).expect(name);
    assert!(begins("all-1") < begins("eval-all-1") && begins("eval-all-1") < begins("rope-2"), "{said}");
}

/// A temperature in the model's own config, and one in a copy.
const FITTED: &str = r#"
[[job]]
name = "fit-{seed}"
after = ["all-{seed}"]
command = "fit-scale --model {out}/models/all-{seed} --documents 1 --device cpu"

[[job]]
name = "copy-{seed}"
after = ["fit-{seed}"]
command = "fit-scale --model {out}/models/all-{seed} --out {out}/models/copy-{seed} --documents 1 --seed 2 --device cpu"

[[job]]
name = "inspect-{seed}"
after = ["copy-{seed}"]
command = "inspect --model {out}/models/copy-{seed} --json {out}/results/models.json"
"#;

#[test]
fn models_that_other_commands_change_or_copy_are_made_again_too() {
    let study = Study::new("study-fitted", 2);
    let plan = format!("{}{FITTED}", PLAN.replace("[1, 2]", "[1]"));
    study.plan(&plan);
    study.succeeds();
    let config = |model: &str| std::fs::read(study.out(&format!("models/{model}/config.json"))).unwrap();
    let (fitted, copied) = (config("all-1"), config("copy-1"));
    std::fs::remove_dir_all(study.out("models")).unwrap();
    std::fs::remove_file(study.out("done/inspect-1.json")).unwrap();
    let sentences = study.succeeds();
    for name in ["rope-1", "all-1", "copy-1"] {
        assert!(sentences.contains(&format!("{name} is run again, since")), "{name}: {sentences}");
    }
    assert!(sentences.contains("fit-1 begins") && sentences.contains("6 of 6 jobs done"), "{sentences}");
    assert!(!sentences.contains("7 of 6"), "{sentences}");
    assert!(config("all-1") == fitted && config("copy-1") == copied);

    // A model that only its evaluation still reads gets its temperature again, also where the study ends before that.
    std::fs::remove_dir_all(study.out("models/all-1")).unwrap();
    std::fs::remove_file(study.out("done/eval-all-1.json")).unwrap();
    let log = study.out("logs/fit-1.log");
    std::fs::remove_file(&log).unwrap();
    std::fs::create_dir(&log).unwrap();
    let output = study.run(&[]);
    assert!(!output.status.success() && said(&output).contains("fit-1 failed"), "{}", said(&output));
    std::fs::remove_dir(&log).unwrap();
    assert!(study.succeeds().contains("fit-1 begins"));
    assert!(config("all-1") == fitted);

    // A copy refuses to overwrite a model, so that the one before goes aside.
    study.plan(&plan.replace("--seed 2 ", "--seed 3 "));
    assert!(
        study.succeeds().contains("copy-1 has changed since it was run and is run again; what it made before is in")
    );
    assert!(config("copy-1.old-1") == copied && config("all-1") == fitted);
    let kept = std::fs::read(study.out("done/copy-1.json")).unwrap();

    // What another program put there is not taken for the job's own, however often the study is run.
    std::fs::remove_file(study.out("done/copy-1.json")).unwrap();
    for _ in 0..2 {
        let output = study.run(&[]);
        assert!(said(&output).contains("copy-1 is there, and not made by this study"), "{}", said(&output));
    }
    study.folder.write("out/done/copy-1.json", kept);

    // The copy was whole when the study was killed.
    let started = std::fs::read(study.out("done/copy-1.json")).unwrap();
    std::fs::remove_file(study.out("done/copy-1.json")).unwrap();
    study.folder.write("out/started/copy-1.json", started);
    let sentences = study.succeeds();
    assert!(sentences.contains("copy-1 is done") && !sentences.contains("copy-1 begins"), "{sentences}");
}

/// Shards, which a recipe names by a path that is not the study's, parts of a measurement, and a run that pauses.
const OUTSIDE: &str = r#"
[[job]]
name = "shards"
command = "data prepare --text RECIPES/corpus/*.txt --tokenizer RECIPES/tokenizer --out RECIPES/shards"

[[job]]
name = "half"
after = ["shards"]
command = "recalibrate --recipe RECIPES/own.toml --from RECIPES/base --out {out}/models/own --device cpu --until 1"

[[job]]
name = "whole"
after = ["half"]
command = "recalibrate --recipe RECIPES/own.toml --from RECIPES/base --out {out}/models/whole --device cpu"

[[job]]
name = "part"
after = ["whole"]
command = "eval niah --model {out}/models/whole --method drope --task single --trials 2 --extension 1 --device cpu --shard 1/1 --json {out}/part.json"

[[job]]
name = "merged"
after = ["part"]
command = "merge {out}/part.json --json {out}/merged.json"
"#;

#[test]
fn what_jobs_make_elsewhere_is_known_and_text_that_changes_is_seen() {
    let study = Study::new("study-outside", 2);
    let folder = &study.folder;
    for file in ["config.json", "tokenizer.json", "model.safetensors"] {
        let bytes = std::fs::read(common::nano_rope().join(file)).unwrap();
        folder.write(&format!("base/{file}"), &bytes);
        if file != "model.safetensors" {
            folder.write(&format!("tokenizer/{file}"), bytes);
        }
    }
    let text_of = |count: usize| "the number is in the text of this study and so on. ".repeat(count);
    folder.write("corpus/a.txt", text_of(100));
    let recipe = std::fs::read_to_string(folder.path("all.toml")).unwrap();
    folder.write("own.toml", format!("{recipe}\n{}", common::data_of(&folder.path("shards"))));
    study.plan(OUTSIDE);
    assert!(study.succeeds().contains("merged is done"));
    folder.write("tokenizer/notes.txt", "A note changes nothing.");
    assert_eq!(study.succeeds(), "", "nothing is run again, the run that paused included");
    // Of another part: what was merged goes aside.
    study.plan(&OUTSIDE.replace("part.json", "other.json"));
    let sentences = study.succeeds();
    assert!(sentences.contains("merged has changed") && sentences.contains("merged is done"), "{sentences}");
    assert!(!sentences.contains("whole has"), "{sentences}");
    folder.write("corpus/b.txt", text_of(50));
    let sentences = study.succeeds();
    assert!(sentences.contains("shards has changed") && sentences.contains("whole has changed"), "{sentences}");
}

#[test]
fn urgent_jobs_come_first_with_what_they_wait_for() {
    let study = Study::new("study-first", 2);
    study.plan(&format!("file_order = true\nfirst = [{{ seed = [2] }}]\n{PLAN}"));
    let output = study.run(&["--dry-run"]);
    let list = String::from_utf8_lossy(&output.stdout).into_owned();
    let names: Vec<&str> = list.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(names, ["rope-2", "all-2", "eval-all-2", "rope-1", "all-1", "eval-all-1"], "{}", said(&output));
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
