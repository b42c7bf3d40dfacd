//! A model read with several methods at several lengths.

use anyhow::Result;
use drope_core::loaded_model::LoadedModel;
use drope_core::positions::{Method, Parameters, Positions};
use drope_core::results::{CellHeader, rounded};

use crate::arguments::{Sweep, positions};
use crate::device;
use crate::files::model_folder::{self, model_name};

/// The model that is measured.
pub struct MeasuredModel {
    /// Name of its folder.
    pub name: String,
    pub loaded: LoadedModel,
    /// Number of questions or texts that are measured at the same time: `--threads` on the CPU, one on a GPU.
    pub threads: usize,
}

/// One way to read the model: a method at a length.
#[derive(Clone)]
pub struct PlannedReading {
    pub method: Method,
    pub extension: usize,
    /// Tokens: s·C, or the length that was asked for.
    pub context: usize,
    /// The parameters of the method that the user set.
    pub parameters: Parameters,
    pub positions: Positions,
    pub fingerprint: String,
}

/// Loads the model.
pub fn load(sweep: &Sweep) -> Result<MeasuredModel> {
    let chosen = device::open(sweep.device)?;
    Ok(MeasuredModel {
        name: model_name(&sweep.model)?,
        loaded: model_folder::load(&sweep.model, chosen.checked(sweep.numbers.types())?, &chosen.device)?,
        threads: if chosen.is_cpu { sweep.threads } else { 1 },
    })
}

/// Every length with one method.
pub fn readings(sweep: &Sweep, model: &LoadedModel, method: Method) -> Result<Vec<PlannedReading>> {
    let fingerprint = model.fingerprint(method)?;
    let parameters = sweep.parameters.of(method)?;
    let reading = |(extension, context): (usize, usize)| {
        Ok(PlannedReading {
            method,
            extension,
            context,
            parameters: parameters.clone(),
            positions: positions_at(sweep, model, method, extension)?,
            fingerprint: fingerprint.clone(),
        })
    };
    sweep.contexts(&model.config).into_iter().map(reading).collect()
}

/// What a method makes of the model's positions at an extension factor.
pub fn positions_at(sweep: &Sweep, model: &LoadedModel, method: Method, extension: usize) -> Result<Positions> {
    let config = model.config.clone().with_cut(sweep.cut);
    positions(&config, method, extension as f64, sweep.beta, &sweep.parameters.of(method)?)
}

impl PlannedReading {
    /// What the cells of this reading say of it.
    pub fn header(&self, model: &MeasuredModel, sweep: &Sweep) -> CellHeader {
        CellHeader {
            model: model.name.clone(),
            method: self.method,
            extension: self.extension,
            beta: rounded(self.positions.logit_scale),
            beta_given: sweep.beta.is_some(),
            cut: sweep.cut.map(rounded),
            parameters: self.parameters.clone(),
            fingerprint: self.fingerprint.clone(),
        }
    }
}
