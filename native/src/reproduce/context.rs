//! What sections share: models, results files, and how many questions to ask.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use drope_core::config::Config;
use drope_core::language::Values;
use drope_core::loaded_model::WEIGHTS_FILE;
use drope_core::niah::Task;
use drope_core::perplexity::PerplexityCell;
use drope_core::positions::Method;
use drope_core::results::{Cell, Shard, rounded};
use serde::Deserialize;

use super::ReproduceOptions;
use crate::fit_scale::{self, Kind};
use crate::recipe::{Dropped, PositionEmbedding, Recipe};
use crate::sweep::Sweep;
use crate::{device, evaluate, files, model_folder, perplexity, results_file, train};

/// Seed of all questions and texts that are measured with.
pub const SEED: u64 = 20_000;

/// Extension factors of tables.
pub const EXTENSIONS: [usize; 4] = [1, 2, 4, 8];

/// The workplace of a run.
pub struct ReportContext<'a> {
    options: &'a ReproduceOptions,
}

/// One line of `loss.jsonl`.
#[derive(Deserialize)]
pub struct CurvePoint {
    pub tokens: f64,
    pub loss: f64,
    pub answer_loss: f64,
}

impl<'a> ReportContext<'a> {
    pub fn new(options: &'a ReproduceOptions) -> Result<Self> {
        let context = Self { options };
        context.model("nano-rope").with_context(|| {
            format!("{} has no model nano-rope; give the folder of the models with --models", options.models.display())
        })?;
        Ok(context)
    }

    /// Whether it must be done in minutes.
    pub fn is_quick(&self) -> bool {
        self.options.quick
    }

    pub fn device(&self) -> device::DeviceChoice {
        self.options.device
    }

    /// A results file.
    pub fn data(&self, name: &str) -> PathBuf {
        self.options.data.join(if self.is_quick() { format!("quick-{name}") } else { name.to_owned() })
    }

    /// The folder of a model: one of those to begin with, or one that this run trained.
    pub fn model(&self, name: &str) -> Option<PathBuf> {
        let folders = [self.options.models.join(name), self.own(name)];
        folders.into_iter().find(|folder| folder.join(WEIGHTS_FILE).exists())
    }

    /// Where this run puts a model.
    pub fn own(&self, name: &str) -> PathBuf {
        self.options.out.join("models").join(name)
    }

    pub fn recipe(&self, name: &str) -> Result<Recipe> {
        Recipe::read(&self.options.recipes.join(name))
    }

    pub fn config(&self, model: &str) -> Result<Config> {
        let folder = self.model(model).with_context(|| format!("the model {model} is missing"))?;
        model_folder::config(&folder)
    }

    /// A model read with one method.
    pub fn sweep(&self, model: PathBuf, method: Method, extensions: Vec<usize>, cut: Option<f64>, json: &str) -> Sweep {
        Sweep {
            model,
            methods: vec![method],
            extensions,
            seed: SEED,
            beta: None,
            cut,
            json: Some(self.data(json)),
            device: self.options.device,
            threads: self.options.threads,
        }
    }

    /// Scores; where nothing is to be measured or the model is missing, those that were measured before.
    pub fn niah(&self, file: &str, model: &str, ask: &Ask) -> Result<Vec<Cell>> {
        let folder = match self.model(model) {
            Some(folder) if !self.options.render => folder,
            _ => {
                let known: Vec<Cell> = results_file::read(Some(&self.data(file)))?;
                return Ok(known.into_iter().filter(|cell| cell.model == model && ask.asks_for(cell)).collect());
            }
        };
        evaluate::niah(&evaluate::NiahArgs {
            sweep: self.sweep(folder, ask.method, ask.extensions.clone(), ask.cut, file),
            tasks: vec![ask.task],
            values: vec![ask.values],
            trials: ask.trials,
            shard: Shard::WHOLE,
            depths: ask.depths.clone(),
            filler: None,
            sinks: ask.sinks,
            heads: ask.heads.clone(),
        })
    }

    /// Perplexities of held-out texts as long as the longest of the extensions; where nothing is to be measured or the model
    /// is missing, those of before.
    pub fn perplexity(
        &self,
        model: &str,
        method: Method,
        cut: Option<f64>,
        extensions: &[usize],
    ) -> Result<Vec<PerplexityCell>> {
        let file = "perplexity.json";
        let folder = match self.model(model) {
            Some(folder) if !self.options.render => folder,
            _ => {
                let known: Vec<PerplexityCell> = results_file::read(Some(&self.data(file)))?;
                let is_asked = |cell: &PerplexityCell| {
                    (&*cell.model, cell.method) == (model, method)
                        && extensions.contains(&cell.extension)
                        && cell.cut == cut.map(rounded)
                        && cell.source == format!("synthetic, seed {SEED}")
                        && cell.stride == cell.context / 2
                };
                return Ok(known.into_iter().filter(is_asked).collect());
            }
        };
        perplexity::perplexities(&perplexity::PerplexityArgs {
            sweep: self.sweep(folder, method, extensions.to_vec(), cut, file),
            stride: None,
            text: None,
            texts: if self.is_quick() { 6 } else { 16 },
            shard: Shard::WHOLE,
        })
    }

    /// A model trained from random weights, once.
    pub fn pretrained(&self, name: &str, recipe: &str, pe: PositionEmbedding) -> Result<PathBuf> {
        let recipe = self.recipe(recipe)?;
        self.trained(name, &recipe, None, |options| train::pretrain(Some(pe), options))
    }

    /// The folder of a model trained from random weights for so many steps of its recipe; the run can go on from there.
    pub fn paused(&self, name: &str, recipe: &str, steps: usize) -> Result<PathBuf> {
        if train::unfinished(&self.own(name))? != Some(steps) {
            let recipe = self.recipe(recipe)?;
            self.trained(name, &recipe, Some(steps), |options| train::pretrain(None, options))?;
        }
        Ok(self.own(name).join("checkpoint"))
    }

    /// A model recalibrated from another, once.
    pub fn recalibrated(&self, name: &str, recipe: &Recipe, from: &Path) -> Result<PathBuf> {
        self.trained(name, recipe, None, |options| train::recalibrate(from, options))
    }

    /// Whether a model need not be trained: the folders of those that this run trains are not kept, their results are.
    pub fn is_measured(&self, file: &str, name: &str) -> Result<bool> {
        let known: Vec<Cell> = results_file::read(Some(&self.data(file)))?;
        Ok(self.options.render || known.iter().any(|cell| cell.model == name))
    }

    /// Recalibrates nano-rope by a recipe, with a temperature, unless the model is measured.
    pub fn recalibrated_once(&self, file: &str, name: &str, recipe: &Recipe) -> Result<()> {
        if self.is_measured(file, name)? {
            return Ok(());
        }
        let from = self.model("nano-rope").context("nano-rope is missing")?;
        self.recalibrated(name, recipe, &from)?;
        // Where nothing is dropped there is no temperature to fit.
        if recipe.drop.as_ref().is_none_or(|drop| drop.positions == Dropped::None) {
            return Ok(());
        }
        self.fit_temperature(name)
    }

    /// Fits the temperature of a model that this run trained, once.
    pub fn fit_temperature(&self, name: &str) -> Result<()> {
        let folder = self.own(name);
        if folder.exists() && model_folder::config(&folder)?.temperature_coefficient == 0.0 {
            let config = fit_scale::fit(&folder, Kind::Uniform, 16, 1, self.options.device)?;
            model_folder::save_config(&folder, &config)?;
        }
        Ok(())
    }

    fn trained(
        &self,
        name: &str,
        recipe: &Recipe,
        until: Option<usize>,
        train: impl Fn(&train::TrainOptions) -> Result<()>,
    ) -> Result<PathBuf> {
        if let Some(folder) = self.model(name) {
            return Ok(folder);
        }
        let out = self.own(name);
        println!("training {name}");
        train(&train::TrainOptions {
            recipe,
            out: &out,
            resume: train::unfinished(&out)?.is_some(),
            device: self.options.device,
            // The weights depend on the number of threads in their last bits.
            threads: 1,
            save_every: 200,
            until,
            how_to_go_on: "the same command goes on",
        })?;
        Ok(out)
    }

    /// The loss curve of a model; empty where there is none.
    pub fn curve(&self, model: &str) -> Vec<CurvePoint> {
        let text = self.model(model).and_then(|folder| files::read_text(&folder.join("loss.jsonl")).ok());
        text.unwrap_or_default().lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }
}

/// Questions.
pub struct Ask {
    pub method: Method,
    pub task: Task,
    pub values: Values,
    pub extensions: Vec<usize>,
    pub trials: usize,
    pub depths: Vec<f64>,
    pub sinks: usize,
    pub heads: Option<PathBuf>,
    pub cut: Option<f64>,
}

impl Ask {
    /// For numbers at random depths.
    pub fn new(method: Method, task: Task, extensions: Vec<usize>, trials: usize) -> Self {
        Self {
            method,
            task,
            values: Values::Numbers,
            extensions,
            trials,
            depths: Vec::new(),
            sinks: 0,
            heads: None,
            cut: None,
        }
    }

    /// Whether a cell is one of these, however many questions it has.
    fn asks_for(&self, cell: &Cell) -> bool {
        (self.method, self.task) == (cell.method, cell.task)
            && cell.values == self.values
            && self.extensions.contains(&cell.extension)
            && (cell.seed, cell.filler, cell.shard, &cell.heads) == (SEED, None, None, &None)
            && cell.depth.map_or(self.depths.is_empty(), |depth| self.depths.contains(&depth))
            && (self.sinks, self.cut.map(rounded)) == (cell.sinks, cell.cut)
    }
}
