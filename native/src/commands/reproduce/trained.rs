//! Models that sections train for themselves: their folders are not kept, their results are.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use drope_core::loaded_model::{CONFIG_FILE, TOKENIZER_FILE, WEIGHTS_FILE, short_hash};
use drope_core::results::RetrievalCell;
use serde::{Deserialize, Serialize};

use super::context::{ReportContext, is_model};
use crate::commands::fit_scale::{self, Kind};
use crate::files::{self, model_folder};
use crate::reading::results_file;
use crate::training;
use drope_core::train::recipe::{Dropped, PositionEmbedding, Recipe};

/// Results file that says what the models of other results files were trained with.
const FILE: &str = "trained.json";

/// Documents a length that temperatures are fitted to.
const DOCUMENTS: usize = 16;

/// What a model was trained with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct TrainedModel {
    model: String,
    /// As TOML.
    recipe: String,
    /// Hash of the weights that training went on from; `None`: random weights, or not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    from: Option<String>,
}

impl TrainedModel {
    fn new(model: &str, recipe: &Recipe, from: Option<&Path>) -> Result<Self> {
        let hash = |folder: &Path| Ok::<_, anyhow::Error>(short_hash(&[&files::read(&folder.join(WEIGHTS_FILE))?]));
        Ok(Self { model: model.to_owned(), recipe: toml::to_string(recipe)?, from: from.map(hash).transpose()? })
    }

    /// Whether both were trained alike; what a recipe of an earlier version does not name has its default.
    fn is_like(&self, other: &Self) -> bool {
        let recipe = |record: &Self| toml::from_str::<Recipe>(&record.recipe).ok();
        let is_from_another = matches!((&self.from, &other.from), (Some(ours), Some(theirs)) if ours != theirs);
        recipe(self) == recipe(other) && !is_from_another
    }
}

impl ReportContext<'_> {
    /// A model trained from random weights, once.
    pub fn pretrained(&self, name: &str, recipe: &str, pe: PositionEmbedding) -> Result<PathBuf> {
        let mut recipe = self.recipe(recipe)?;
        recipe.model.as_mut().context("the recipe has no [model] table")?.pe = pe;
        self.trained(name, &recipe, None, None, |options| training::pretrain(None, options))
    }

    /// The folder of a model trained from random weights for so many steps of its recipe; the run can go on from there.
    pub fn paused(&self, name: &str, recipe: &str, steps: usize) -> Result<PathBuf> {
        if training::unfinished(&self.own(name))? != Some(steps) {
            let recipe = self.recipe(recipe)?;
            self.trained(name, &recipe, None, Some(steps), |options| training::pretrain(None, options))?;
        }
        Ok(self.own(name).join("checkpoint"))
    }

    /// A model recalibrated from another, once.
    pub fn recalibrated(&self, name: &str, recipe: &Recipe, from: &Path) -> Result<PathBuf> {
        self.trained(name, recipe, Some(from), None, |options| training::recalibrate(from, options))
    }

    /// Whether the results of a model are there, and are of a model that was trained so: with this recipe, and from these
    /// weights where they are given. Results from before recipes were recorded count as they are.
    pub fn is_measured(&self, file: &str, name: &str, recipe: &Recipe, from: Option<&Path>) -> Result<bool> {
        if self.args.render {
            return Ok(true);
        }
        let known: Vec<RetrievalCell> = results_file::read(Some(&self.data(file)))?;
        let records: Vec<TrainedModel> = results_file::read(Some(&self.data(FILE)))?;
        let record = records.iter().rfind(|record| record.model == name);
        let wanted = TrainedModel::new(name, recipe, from)?;
        Ok(known.iter().any(|cell| cell.model == name) && record.is_none_or(|record| record.is_like(&wanted)))
    }

    /// Recalibrates nano-rope by a recipe, with a temperature, unless the model is measured.
    pub fn recalibrated_once(&self, file: &str, name: &str, recipe: &Recipe) -> Result<()> {
        let from = self.model("nano-rope").context("nano-rope is missing")?;
        if self.is_measured(file, name, recipe, Some(&from))? {
            return Ok(());
        }
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
        if is_model(&folder) && model_folder::config(&folder)?.temperature_coefficient == 0.0 {
            let config = self.fitted_config(&folder, Kind::Uniform)?;
            model_folder::save_config(&folder, &config)?;
        }
        Ok(())
    }

    /// A copy of a model with a temperature of its own, once.
    pub fn with_temperature(&self, name: &str, from: &Path, kind: Kind) -> Result<()> {
        if self.model(name).is_some() {
            return Ok(());
        }
        let out = self.own(name);
        let config = self.fitted_config(from, kind)?;
        for file in [CONFIG_FILE, TOKENIZER_FILE, "recipe.toml"] {
            files::write(&out.join(file), &files::read(&from.join(file))?)?;
        }
        model_folder::save_config(&out, &config)?;
        // The weights come last: a folder with weights is done.
        files::write(&out.join(WEIGHTS_FILE), &files::read(&from.join(WEIGHTS_FILE))?)
    }

    fn fitted_config(&self, folder: &Path, kind: Kind) -> Result<drope_core::config::Config> {
        fit_scale::fit(folder, kind, self.trials(DOCUMENTS, DOCUMENTS), 1, self.device())
    }

    fn trained(
        &self,
        name: &str,
        recipe: &Recipe,
        from: Option<&Path>,
        until: Option<usize>,
        train: impl Fn(&training::TrainOptions) -> Result<()>,
    ) -> Result<PathBuf> {
        // A model to begin with is taken as it is.
        if is_model(&self.shipped(name)) {
            return Ok(self.shipped(name));
        }
        let out = self.own(name);
        let record = TrainedModel::new(name, recipe, from)?;
        if self.is_trained(name, recipe, from)? {
            return Ok(out);
        }
        println!("training {name}");
        train(&training::TrainOptions {
            recipe,
            out: &out,
            resume: training::unfinished(&out)?.is_some(),
            device: self.device(),
            // The weights depend on the number of threads in their last bits.
            threads: 1,
            save_every: 200,
            until,
            how_to_go_on: "the same command goes on",
        })?;
        if is_model(&out) {
            results_file::append(Some(&self.data(FILE)), &[record])?;
        }
        Ok(out)
    }

    /// Whether this run need not train a model. Refuses one that was trained otherwise: its results would be taken for those
    /// of the recipe as it is now.
    pub fn is_trained(&self, name: &str, recipe: &Recipe, from: Option<&Path>) -> Result<bool> {
        let folder = self.own(name);
        if !is_model(&folder) {
            return Ok(false);
        }
        let wanted = TrainedModel::new(name, recipe, from)?;
        let records: Vec<TrainedModel> = results_file::read(Some(&self.data(FILE)))?;
        let record = records.iter().rfind(|record| record.model == wanted.model);
        let in_folder = TrainedModel { recipe: files::read_text(&folder.join("recipe.toml"))?, ..wanted.clone() };
        if !in_folder.is_like(&wanted) || record.is_some_and(|record| !record.is_like(&wanted)) {
            bail!(
                "{} was trained with another recipe or from other weights than it would be now; move it away to train it anew",
                folder.display()
            );
        }
        Ok(true)
    }
}
