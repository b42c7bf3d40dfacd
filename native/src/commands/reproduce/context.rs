//! What sections share: where models, recipes and results are, and how much to measure.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use drope_core::config::Config;
use drope_core::loaded_model::WEIGHTS_FILE;
use safetensors::SafeTensors;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::{ReproduceArgs, report};
use crate::device;
use crate::files::{self, model_folder};
use crate::training::recipe;
use drope_core::train::recipe::Recipe;

/// Seed of all questions and texts that are measured with.
pub const SEED: u64 = 20_000;

/// Extension factors of tables.
pub const EXTENSIONS: [usize; 4] = [1, 2, 4, 8];

/// The arguments of a run, and the folders that they name.
pub struct ReportContext<'a> {
    pub args: &'a ReproduceArgs,
    data: PathBuf,
}

/// One line of `loss.jsonl`.
#[derive(Clone, Copy, Deserialize)]
pub struct CurvePoint {
    pub tokens: f64,
    pub loss: f64,
    pub answer_loss: Option<f64>,
}

impl<'a> ReportContext<'a> {
    pub fn new(args: &'a ReproduceArgs) -> Result<Self> {
        let data = args.data.clone().unwrap_or_else(|| args.out.join("data"));
        let context = Self { args, data };
        context.model("nano-rope").with_context(|| {
            format!("{} has no model nano-rope; give the folder of the models with --models", args.models.display())
        })?;
        Ok(context)
    }

    /// Whether it must be done in minutes.
    pub fn is_quick(&self) -> bool {
        self.args.quick
    }

    /// How many questions, texts or models to measure with: what the user asks for, or one of these.
    pub fn trials(&self, full: usize, quick: usize) -> usize {
        self.args.trials.unwrap_or(if self.is_quick() { quick } else { full })
    }

    pub fn device(&self) -> device::DeviceChoice {
        self.args.device
    }

    /// A results file.
    pub fn data(&self, name: &str) -> PathBuf {
        self.data.join(if self.is_quick() { format!("quick-{name}") } else { name.to_owned() })
    }

    /// The rows of a section as it was made before.
    pub fn saved_rows<T: DeserializeOwned>(&self, section: &str) -> Result<T> {
        report::saved_rows(&self.args.out, section)
    }

    /// The folder of a model: one of those to begin with, or one that this run trained.
    pub fn model(&self, name: &str) -> Option<PathBuf> {
        [self.shipped(name), self.own(name)].into_iter().find(|folder| is_model(folder))
    }

    /// Where a model to begin with is.
    pub fn shipped(&self, name: &str) -> PathBuf {
        self.args.models.join(name)
    }

    /// Where this run puts a model.
    pub fn own(&self, name: &str) -> PathBuf {
        self.args.out.join("models").join(name)
    }

    /// A recipe, with no more steps than the user asks for.
    pub fn recipe(&self, name: &str) -> Result<Recipe> {
        let recipe = recipe::read(&self.args.recipes.join(name))?;
        Ok(Recipe { steps: self.args.steps.map_or(recipe.steps, |steps| steps.min(recipe.steps)), ..recipe })
    }

    pub fn config(&self, model: &str) -> Result<Config> {
        model_folder::config(&self.folder(model)?)
    }

    /// How many numbers a model learned.
    pub fn parameters(&self, model: &str) -> Result<usize> {
        let bytes = files::read(&self.folder(model)?.join(WEIGHTS_FILE))?;
        let tensors = SafeTensors::deserialize(&bytes)?;
        Ok(tensors.tensors().iter().map(|(_, tensor)| tensor.shape().iter().product::<usize>()).sum())
    }

    /// The recipe that a model was trained with.
    pub fn recipe_of(&self, model: &str) -> Result<Recipe> {
        recipe::read(&self.folder(model)?.join("recipe.toml"))
    }

    /// Tokens that a model was trained on in its own run.
    pub fn tokens(&self, model: &str) -> Option<f64> {
        self.curve(model).last().map(|point| point.tokens)
    }

    /// The loss curve of a model; empty where there is none.
    pub fn curve(&self, model: &str) -> Vec<CurvePoint> {
        let text = self.model(model).and_then(|folder| files::read_text(&folder.join("loss.jsonl")).ok());
        text.unwrap_or_default().lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    fn folder(&self, model: &str) -> Result<PathBuf> {
        self.model(model).with_context(|| format!("the model {model} is missing"))
    }
}

/// Whether a folder holds a whole model: its weights are written last.
pub fn is_model(folder: &Path) -> bool {
    folder.join(WEIGHTS_FILE).exists()
}
