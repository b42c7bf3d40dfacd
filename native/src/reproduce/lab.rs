//! What sections share: models, results files, and how many questions to ask.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use drope_core::config::Config;
use drope_core::language::Values;
use drope_core::niah::Task;
use drope_core::perplexity::PerplexityCell;
use drope_core::positions::Method;
use drope_core::results::{Cell, Shard};
use serde::Deserialize;

use super::Request;
use crate::recipe::PositionEmbedding;
use crate::{device, evaluate, files, model_folder, perplexity, train};

/// Seed of all questions and texts that are measured with.
pub const SEED: u64 = 20_000;

/// Extension factors of tables.
pub const EXTENSIONS: [usize; 4] = [1, 2, 4, 8];

/// The workplace of a run.
pub struct Lab<'a> {
    request: &'a Request,
}

/// One line of `loss.jsonl`.
#[derive(Deserialize)]
pub struct Step {
    pub tokens: f64,
    pub loss: f64,
    pub answer_loss: f64,
}

impl<'a> Lab<'a> {
    pub fn new(request: &'a Request) -> Result<Self> {
        let lab = Self { request };
        lab.model("nano-rope").with_context(|| {
            format!("{} has no model nano-rope; give the folder of the models with --models", request.models.display())
        })?;
        Ok(lab)
    }

    /// Whether it must be done in minutes.
    pub fn is_quick(&self) -> bool {
        self.request.quick
    }

    pub fn device(&self) -> device::DeviceChoice {
        self.request.device
    }

    /// A results file.
    pub fn data(&self, name: &str) -> PathBuf {
        self.request.data.join(if self.is_quick() { format!("quick-{name}") } else { name.to_owned() })
    }

    /// The folder of a model: one of those to begin with, or one that this run trained.
    pub fn model(&self, name: &str) -> Option<PathBuf> {
        let folders = [self.request.models.join(name), self.own(name)];
        folders.into_iter().find(|folder| folder.join("model.safetensors").exists())
    }

    /// Where this run puts a model.
    pub fn own(&self, name: &str) -> PathBuf {
        self.request.out.join("models").join(name)
    }

    pub fn recipe(&self, name: &str) -> PathBuf {
        self.request.recipes.join(name)
    }

    pub fn config(&self, model: &str) -> Result<Config> {
        let folder = self.model(model).with_context(|| format!("the model {model} is missing"))?;
        model_folder::config(&folder)
    }

    /// Scores; where nothing is to be measured or the model is missing, those that were measured before.
    pub fn niah(&self, file: &str, model: &str, ask: &Ask) -> Result<Vec<Cell>> {
        let folder = match self.model(model) {
            Some(folder) if !self.request.render => folder,
            _ => {
                let known: Vec<Cell> = evaluate::done_before(Some(&self.data(file)))?;
                return Ok(known.into_iter().filter(|cell| cell.model == model && ask.asks_for(cell)).collect());
            }
        };
        evaluate::niah(&evaluate::Request {
            model: folder,
            methods: vec![ask.method],
            tasks: vec![ask.task],
            values: vec![Values::Numbers],
            extensions: ask.extensions.clone(),
            trials: ask.trials,
            seed: SEED,
            depths: ask.depths.clone(),
            filler: None,
            sinks: ask.sinks,
            heads: ask.heads.clone(),
            shard: Shard::WHOLE,
            beta: None,
            cut: ask.cut,
            json: Some(self.data(file)),
            device: self.request.device,
            threads: self.request.threads,
        })
    }

    /// Perplexities of held-out texts; where nothing is to be measured or the model is missing, those of before.
    pub fn perplexity(&self, model: &str, method: Method, cut: Option<f64>) -> Result<Vec<PerplexityCell>> {
        let folder = match self.model(model) {
            Some(folder) if !self.request.render => folder,
            _ => {
                let known: Vec<PerplexityCell> = evaluate::done_before(Some(&self.data("perplexity.json")))?;
                let is_asked =
                    |cell: &PerplexityCell| cell.model == model && cell.cut == cut && cell.method == method.name();
                return Ok(known.into_iter().filter(is_asked).collect());
            }
        };
        perplexity::run(&perplexity::Request {
            model: folder,
            methods: vec![method],
            extensions: EXTENSIONS.to_vec(),
            stride: None,
            text: None,
            texts: if self.is_quick() { 6 } else { 16 },
            seed: SEED,
            shard: Shard::WHOLE,
            beta: None,
            cut,
            json: Some(self.data("perplexity.json")),
            device: self.request.device,
        })
    }

    /// A model trained from random weights, once.
    pub fn pretrained(&self, name: &str, recipe: &str, pe: PositionEmbedding, until: Option<usize>) -> Result<PathBuf> {
        self.trained(name, recipe, until, |options| train::pretrain(Some(pe), options))
    }

    /// Whether a run of ours paused after so many steps.
    pub fn is_paused_at(&self, name: &str, steps: usize) -> Result<bool> {
        Ok(train::unfinished(&self.own(name))? == Some(steps))
    }

    /// A model recalibrated from another, once.
    pub fn recalibrated(&self, name: &str, recipe: &str, from: &Path) -> Result<PathBuf> {
        self.trained(name, recipe, None, |options| train::recalibrate(from, options))
    }

    fn trained(
        &self,
        name: &str,
        recipe: &str,
        until: Option<usize>,
        train: impl Fn(&train::Options) -> Result<()>,
    ) -> Result<PathBuf> {
        if let Some(folder) = self.model(name) {
            return Ok(folder);
        }
        let out = self.own(name);
        println!("training {name}");
        train(&train::Options {
            recipe: &self.recipe(recipe),
            out: &out,
            resume: train::unfinished(&out)?.is_some(),
            device: self.request.device,
            // The weights depend on the number of threads in their last bits.
            threads: 1,
            save_every: 200,
            until,
        })?;
        Ok(out)
    }

    /// The loss curve of a model; empty where there is none.
    pub fn curve(&self, model: &str) -> Vec<Step> {
        let text = self.model(model).and_then(|folder| files::read_text(&folder.join("loss.jsonl")).ok());
        text.unwrap_or_default().lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }
}

/// Questions for numbers.
pub struct Ask {
    pub method: Method,
    pub task: Task,
    pub extensions: Vec<usize>,
    pub trials: usize,
    pub depths: Vec<Option<f64>>,
    pub sinks: usize,
    pub heads: Option<PathBuf>,
    pub cut: Option<f64>,
}

impl Ask {
    /// At random depths.
    pub fn new(method: Method, task: Task, extensions: Vec<usize>, trials: usize) -> Self {
        Self { method, task, extensions, trials, depths: vec![None], sinks: 0, heads: None, cut: None }
    }

    /// Whether a cell is one of these, however many questions it has.
    fn asks_for(&self, cell: &Cell) -> bool {
        (self.method.name(), self.task.name()) == (&*cell.method, &*cell.task)
            && cell.values == Values::Numbers.name()
            && self.extensions.contains(&cell.extension)
            && self.depths.contains(&cell.depth)
            && (self.sinks, self.cut) == (cell.sinks, cell.cut)
    }
}
