//! What tests of `core study` share.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Output;

use super::{Folder, RECIPE, core, text};

/// A folder with recipes and a plan.
pub struct Study {
    pub folder: Folder,
}

impl Study {
    pub fn new(name: &str, steps: usize) -> Self {
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
    pub fn plan(&self, plan: &str) {
        self.folder.write("plan.toml", plan.replace("RECIPES", text(&self.folder.0)));
    }

    pub fn arguments(&self, out: &Path) -> Vec<String> {
        let plan = self.folder.path("plan.toml");
        ["study", "--plan", text(&plan), "--out", text(out), "--threads", "2"].map(str::to_owned).into()
    }

    /// Runs the study in the folder `out`.
    pub fn run(&self, more: &[&str]) -> Output {
        self.run_in(&self.out(""), more)
    }

    /// Runs the study, which must succeed; what it says.
    pub fn succeeds(&self) -> String {
        let output = self.run(&[]);
        assert!(output.status.success(), "{}", said(&output));
        said(&output)
    }

    pub fn run_in(&self, out: &Path, more: &[&str]) -> Output {
        core(&[]).args(self.arguments(out)).args(more).output().unwrap()
    }

    pub fn out(&self, path: &str) -> PathBuf {
        self.folder.path("out").join(path)
    }
}

/// Two trunks, a model from each, and its evaluation.
pub const PLAN: &str = r#"
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

pub fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Names of the jobs that are done.
pub fn done(out: &Path) -> BTreeSet<String> {
    let names = std::fs::read_dir(out.join("done")).into_iter().flatten().flatten();
    let name = |entry: std::fs::DirEntry| entry.file_name().to_str()?.strip_suffix(".json").map(str::to_owned);
    names.filter_map(name).collect()
}
