//! Unfinished runs: model, optimizer and position in the schedule, replaced as a whole.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use burn::tensor::Device;
use drope_core::config::Config;
use drope_core::model::Model;
use drope_core::tokenizer::Tokenizer;
use drope_core::train::Optimizer;
use serde::{Deserialize, Serialize};

use crate::recipe::Recipe;
use crate::{files, model_folder};

/// Where the run is.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct TrainingState {
    /// Updates done.
    pub step: usize,
    /// Tokens seen.
    pub tokens: u64,
    /// Seconds of training.
    pub seconds: f64,
    /// The recipe, as TOML: a run is resumed with the one that it began with.
    recipe: String,
}

/// A checkpoint on disk.
pub struct Checkpoint(PathBuf);

impl Checkpoint {
    /// The checkpoint of an unfinished run in `out`.
    pub fn find(out: &Path) -> Result<Option<Self>> {
        let folder = files::current_folder(&folder(out));
        Ok(folder.exists().then_some(Self(folder)))
    }

    /// Updates done.
    pub fn step(&self) -> Result<usize> {
        Ok(self.state()?.step)
    }

    fn state(&self) -> Result<TrainingState> {
        let text = files::read_text(&self.0.join("state.json"))?;
        serde_json::from_str(&text)
            .with_context(|| format!("{} is damaged; start again in another --out", self.0.display()))
    }

    /// TrainingState, model and optimizer as they were.
    pub fn load(
        &self,
        recipe: &Recipe,
        config: &Config,
        fresh: Optimizer,
        device: &Device,
    ) -> Result<(TrainingState, Model, Optimizer)> {
        let state = self.state()?;
        if state.recipe != toml::to_string(recipe)? {
            bail!("the recipe is not the one that the run in {} began with", self.0.display());
        }
        let model = model_folder::model(&self.0, config, device)?;
        let optimizer = fresh.load_bytes(files::read(&self.0.join("optimizer.bin"))?)?;
        Ok((state, model, optimizer))
    }
}

/// Writes the checkpoint of `out`.
pub fn save(
    out: &Path,
    state: &TrainingState,
    recipe: &Recipe,
    config: &Config,
    model: &Model,
    tokenizer: &Tokenizer,
    optimizer: &Optimizer,
) -> Result<()> {
    let state = TrainingState { recipe: toml::to_string(recipe)?, ..state.clone() };
    files::replace_folder(&folder(out), |new| {
        model_folder::save(new, config, model, tokenizer)?;
        files::write(&new.join("optimizer.bin"), &optimizer.to_bytes()?)?;
        files::write(&new.join("state.json"), serde_json::to_string(&state)?.as_bytes())
    })
}

/// A finished run needs none.
pub fn remove(out: &Path) -> Result<()> {
    let folder = files::current_folder(&folder(out));
    if folder.exists() {
        std::fs::remove_dir_all(&folder).with_context(|| format!("cannot remove {}", folder.display()))?;
    }
    Ok(())
}

/// Where the checkpoint of `out` is: a model's folder, with the optimizer beside.
pub fn folder(out: &Path) -> PathBuf {
    out.join("checkpoint")
}
