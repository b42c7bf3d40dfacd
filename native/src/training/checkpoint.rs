//! Unfinished runs: model, optimizer and position in the schedule, replaced as a whole.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use burn::tensor::Device;
use drope_core::config::Config;
use drope_core::model::Model;
use drope_core::train::{GuardState, Trainer};
use serde::{Deserialize, Serialize};

use super::job::Job;
use super::progress::RunningMeans;
use crate::files::{self, model_folder};

const STATE: &str = "state.json";
const OPTIMIZER: &str = "optimizer.bin";
/// Earlier checkpoints have this name and the number of their updates.
const EARLIER: &str = "checkpoint-";

/// How far a run is.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct TrainingState {
    /// Updates done.
    pub step: usize,
    /// Tokens in them.
    pub tokens: u64,
    /// Seconds of training.
    pub seconds: f64,
    /// Updates that the guard left out.
    #[serde(default)]
    pub left_out: usize,
    /// Of the updates since the last line of the loss curve.
    #[serde(default)]
    pub means: RunningMeans,
    /// What the guard knows.
    #[serde(default)]
    pub guard: GuardState,
    /// The recipe, as TOML: a run is resumed with the one that it began with.
    recipe: String,
    /// Hash of the model that recalibration began with.
    #[serde(default)]
    base: Option<String>,
    /// Hash of the shards of the text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    data: Option<String>,
}

/// A checkpoint on disk.
pub struct Checkpoint(PathBuf);

impl Checkpoint {
    /// The checkpoint of an unfinished run in `out`.
    pub fn find(out: &Path) -> Result<Option<Self>> {
        let folder = files::current_folder(&folder(out));
        Ok(folder.exists().then_some(Self(folder)))
    }

    pub fn folder(&self) -> &Path {
        &self.0
    }

    /// Updates done.
    pub fn step(&self) -> Result<usize> {
        Ok(self.state()?.step)
    }

    fn state(&self) -> Result<TrainingState> {
        let text = files::read_text(&self.0.join(STATE))?;
        serde_json::from_str(&text)
            .with_context(|| format!("{} is damaged; start again in another --out", self.0.display()))
    }

    /// How far the run is, if it is a run of this job.
    pub fn state_for(&self, job: &Job) -> Result<TrainingState> {
        let state = self.state()?;
        let run = self.0.display();
        ensure!(
            state.recipe == toml::to_string(job.recipe)?,
            "the recipe is not the one that the run in {run} began with; give the same --recipe, --set, --tokens and --seed, or choose another --out"
        );
        ensure!(
            state.base.as_ref() == job.base.as_ref().map(|(_, hash)| hash),
            "the model in --from is not the one that the run in {run} began with; give that one, or choose another --out"
        );
        ensure!(
            state.data == job.data,
            "the shards are not those that the run in {run} began with; give those, or choose another --out"
        );
        Ok(state)
    }

    /// The model as it was.
    pub fn model(&self, config: &Config, device: &Device) -> Result<Model> {
        model_folder::model(&self.0, config, device)
    }

    /// The optimizer's state as it was.
    pub fn optimizer_state(&self) -> Result<Vec<u8>> {
        files::read(&self.0.join(OPTIMIZER))
    }
}

/// Writes the checkpoint of `out`. Of earlier ones so many stay that there are `keep` in all, as `checkpoint-STEP`.
pub fn save(out: &Path, state: &TrainingState, job: &Job, trainer: &Trainer, keep: usize) -> Result<()> {
    let state = TrainingState {
        recipe: toml::to_string(job.recipe)?,
        base: job.base.as_ref().map(|(_, hash)| hash.clone()),
        data: job.data.clone(),
        guard: trainer.guard().clone(),
        ..state.clone()
    };
    let fill = |new: &Path| {
        model_folder::save(new, trainer.model(), job.metadata())?;
        let optimizer = new.join(OPTIMIZER);
        trainer.optimizer().save(&optimizer).with_context(|| files::cannot_write(&optimizer))?;
        files::write(&new.join(STATE), serde_json::to_string(&state)?.as_bytes())
    };
    match Checkpoint::find(out)? {
        Some(last) if keep > 1 => {
            files::replace_and_keep(&folder(out), &out.join(format!("{EARLIER}{}", last.step()?)), fill)?;
            remove_earlier_but(out, keep - 1)
        }
        _ => files::replace_folder(&folder(out), fill),
    }
}

/// Removes all but the last `keep` of the earlier checkpoints.
fn remove_earlier_but(out: &Path, keep: usize) -> Result<()> {
    let step =
        |entry: std::fs::DirEntry| -> Option<usize> { entry.file_name().to_str()?.strip_prefix(EARLIER)?.parse().ok() };
    let entries = std::fs::read_dir(out).with_context(|| format!("cannot list {}", out.display()))?;
    let mut steps: Vec<usize> = entries.filter_map(|entry| step(entry.ok()?)).collect();
    steps.sort_unstable_by(|a, b| b.cmp(a));
    steps
        .into_iter()
        .skip(keep)
        .try_for_each(|step| files::remove_replaced_folder(&out.join(format!("{EARLIER}{step}"))))
}

/// Removes the checkpoint of a finished run.
pub fn remove(out: &Path) -> Result<()> {
    files::remove_replaced_folder(&folder(out))
}

/// Writes the model whose held-out loss is the lowest so far, without its optimizer.
pub fn save_best(out: &Path, job: &Job, model: &Model) -> Result<()> {
    files::replace_folder(&best_folder(out), |new| model_folder::save(new, model, job.metadata()))
}

/// Removes it, when the last model of the run is the best.
pub fn remove_best(out: &Path) -> Result<()> {
    files::remove_replaced_folder(&best_folder(out))
}

/// Where the model of the lowest held-out loss is kept.
pub fn best_folder(out: &Path) -> PathBuf {
    out.join("best")
}

/// Whether a model lies where a run in `out` keeps its best model or its checkpoints.
pub fn replaces(out: &Path, model: &Path) -> bool {
    let (Ok(model), Ok(out)) = (model.canonicalize(), out.canonicalize()) else { return false };
    let is_of_the_run = |place: &Path| {
        let is_earlier = place.file_name().is_some_and(|name| name.to_string_lossy().starts_with(EARLIER));
        place.parent() == Some(&*out) && is_earlier || place == folder(&out) || place == best_folder(&out)
    };
    model.ancestors().any(is_of_the_run)
}

/// Where the checkpoint of `out` is: a model's folder, with the optimizer beside.
pub fn folder(out: &Path) -> PathBuf {
    out.join("checkpoint")
}
