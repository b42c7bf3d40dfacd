//! What sections ask for: measured now, or taken from the results files.

use std::path::PathBuf;

use anyhow::Result;
use drope_core::config::dope::DopeHeads;
use drope_core::language::Values;
use drope_core::niah::{Difficulty, Task};
use drope_core::perplexity::PerplexityCell;
use drope_core::positions::Method;
use drope_core::probe::HeadCell;
use drope_core::results::{self, ResultCell, RetrievalCell, Shard, rounded};
use serde::de::DeserializeOwned;

use super::context::{ReportContext, SEED};
use crate::arguments::Sweep;
use crate::arguments::{DifficultyArgs, NumberArgs, ParameterArgs};
use crate::commands::{niah, perplexity, probe};
use crate::files::model_folder;
use crate::reading::results_file;

/// Questions about needles.
#[derive(Clone)]
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
    pub fn new(method: Method, task: Task, extensions: &[usize], trials: usize) -> Self {
        Self {
            method,
            task,
            values: Values::Numbers,
            extensions: extensions.to_vec(),
            trials,
            depths: Vec::new(),
            sinks: 0,
            heads: None,
            cut: None,
        }
    }

    /// Whether a cell is one of these, however many questions it has; `heads` is what the cell must say of its heads.
    fn asks_for(&self, cell: &RetrievalCell, heads: Option<&str>) -> bool {
        (self.method, self.task) == (cell.method, cell.task)
            && cell.values == self.values
            && self.extensions.contains(&cell.extension)
            && (cell.seed, cell.filler, cell.shard, cell.heads.as_deref()) == (SEED, None, None, heads)
            && !cell.beta_given
            && cell.parameters.is_empty()
            && cell.depth.map_or(self.depths.is_empty(), |depth| self.depths.contains(&depth))
            && (self.sinks, self.cut.map(rounded)) == (cell.sinks, cell.cut)
            && cell.difficulty == Difficulty::default()
    }
}

impl ReportContext<'_> {
    /// The folder of a model that is to be measured; `None` where nothing is to be measured or the model is not there.
    fn measurable(&self, model: &str) -> Option<PathBuf> {
        self.model(model).filter(|_| !self.args.render)
    }

    /// A model read with one method.
    fn sweep(&self, model: PathBuf, method: Method, extensions: &[usize], cut: Option<f64>, file: &str) -> Sweep {
        Sweep {
            lengths: Vec::new(),
            numbers: NumberArgs::default(),
            model,
            methods: vec![method],
            extensions: extensions.to_vec(),
            seed: SEED,
            beta: None,
            cut,
            parameters: ParameterArgs::default(),
            json: Some(self.data(file)),
            device: self.device(),
            threads: self.args.threads,
        }
    }

    /// Of the results file the cells that are asked for; of several for the same place the one that counts.
    fn known<T: ResultCell + DeserializeOwned>(
        &self,
        file: &str,
        model: &str,
        method: Method,
        heads: Option<&DopeHeads>,
        is_asked: impl Fn(&T) -> bool,
    ) -> Result<Vec<T>> {
        let mut known: Vec<T> = results_file::read(Some(&self.data(file)))?;
        known.retain(is_asked);
        let present = self.model(model).map(|folder| model_folder::fingerprint(&folder, method, heads)).transpose()?;
        Ok(results::current(known, |_| present.clone()))
    }

    /// Scores; where nothing is to be measured, those that count of the results file.
    pub fn niah(&self, file: &str, model: &str, ask: &Ask) -> Result<Vec<RetrievalCell>> {
        let Some(folder) = self.measurable(model) else {
            let heads = ask.heads.as_deref().map(model_folder::dope_heads).transpose()?;
            let label = heads.as_ref().map(DopeHeads::label);
            let is_asked = |cell: &RetrievalCell| cell.model == model && ask.asks_for(cell, label.as_deref());
            return self.known(file, model, ask.method, heads.as_ref(), is_asked);
        };
        niah::niah(&niah::NiahArgs {
            sweep: self.sweep(folder, ask.method, &ask.extensions, ask.cut, file),
            tasks: vec![ask.task],
            values: vec![ask.values],
            trials: ask.trials,
            shard: Shard::WHOLE,
            depths: ask.depths.clone(),
            filler: None,
            difficulty: DifficultyArgs::default(),
            sinks: ask.sinks,
            heads: ask.heads.clone(),
        })
    }

    /// Perplexities of held-out texts as long as the longest of the extensions, likewise.
    pub fn perplexity(
        &self,
        model: &str,
        method: Method,
        cut: Option<f64>,
        extensions: &[usize],
    ) -> Result<Vec<PerplexityCell>> {
        let file = "perplexity.json";
        let Some(folder) = self.measurable(model) else {
            let longest = extensions.iter().max().copied().unwrap_or(1);
            let length = longest * self.config("nano-rope")?.max_position_embeddings;
            let is_asked = |cell: &PerplexityCell| {
                (&*cell.model, cell.method) == (model, method)
                    && extensions.contains(&cell.extension)
                    && cell.cut == cut.map(rounded)
                    && !cell.beta_given
                    && cell.parameters.is_empty()
                    && cell.texts.len() == cell.of_texts
                    && cell.source == format!("synthetic, seed {SEED}")
                    && cell.length == length
                    && cell.stride == cell.context / 2
            };
            return self.known(file, model, method, None, is_asked);
        };
        perplexity::perplexities(&perplexity::PerplexityArgs {
            sweep: self.sweep(folder, method, extensions, cut, file),
            stride: None,
            text: None,
            whole: false,
            texts: self.trials(16, 6),
            shard: Shard::WHOLE,
        })
    }

    /// What every head does at every length, likewise.
    pub fn heads(&self, model: &str, method: Method, extensions: &[usize]) -> Result<Vec<HeadCell>> {
        let file = "probe.json";
        let Some(folder) = self.measurable(model) else {
            let is_asked = |cell: &HeadCell| {
                (&*cell.model, cell.method, cell.seed, cell.cut, cell.runs) == (model, method, SEED, None, 0)
                    && !cell.beta_given
                    && cell.parameters.is_empty()
                    && extensions.contains(&cell.extension)
            };
            return self.known(file, model, method, None, is_asked);
        };
        let sweep = self.sweep(folder, method, extensions, None, file);
        probe::probe(&probe::ProbeArgs { sweep, trials: self.trials(50, 15), gradients: 0 })
    }
}
