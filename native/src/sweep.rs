//! A model read with several methods at several lengths: arguments and readings that all measurements share.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use clap::Args;
use drope_core::config::Config;
use drope_core::loaded_model::LoadedModel;
use drope_core::positions::{Method, Parameter, Parameters, Positions};

use crate::cli::{ParameterArgs, above_zero, at_least_one, method_names};
use crate::device::DeviceChoice;
use crate::{device, model_folder, threads};

/// A model and the ways to read it.
#[derive(Args)]
pub struct Sweep {
    /// Folder of the model.
    #[arg(long)]
    pub model: PathBuf,
    #[arg(
        long = "method",
        value_delimiter = ',',
        help = format!("Position methods: {}; default: what the config says", method_names())
    )]
    pub methods: Vec<Method>,
    /// Extension factors: multiples of the training context.
    #[arg(long = "extension", value_delimiter = ',', default_value = "1,2,4,8", value_parser = at_least_one)]
    pub extensions: Vec<usize>,
    /// Seed of the questions or texts.
    #[arg(long, default_value_t = 20_000)]
    pub seed: u64,
    /// Temperature of the logits instead of the config's 1 + c·ln s.
    #[arg(long, value_parser = above_zero)]
    pub beta: Option<f64>,
    /// For p-drope: frequencies below this, in radians a token, are dropped; default: the config's, else 2π/C.
    #[arg(long, value_parser = above_zero)]
    pub cut: Option<f64>,
    #[command(flatten)]
    pub parameters: ParameterArgs,
    /// File for the results; what it already holds is not measured again.
    #[arg(long)]
    pub json: Option<PathBuf>,
    /// Where to compute.
    #[arg(long, value_enum, default_value = "auto")]
    pub device: DeviceChoice,
    /// CPU threads that compute: questions or texts at a time.
    #[arg(long, default_value_t = threads::available(), value_parser = at_least_one)]
    pub threads: usize,
}

/// The model that is measured.
pub struct MeasuredModel {
    /// Name of its folder.
    pub name: String,
    pub loaded: LoadedModel,
    /// Questions or texts at a time: `--threads` on the CPU, one on a GPU.
    pub threads: usize,
}

/// One way to read the model: a method at a length.
#[derive(Clone)]
pub struct PlannedReading {
    pub method: Method,
    pub extension: usize,
    /// s·C tokens.
    pub context: usize,
    /// Those of the method that were chosen.
    pub parameters: Parameters,
    pub positions: Positions,
    pub fingerprint: String,
}

impl Sweep {
    /// What was asked for, else what the model's config says.
    pub fn methods(&self, config: &Config) -> Vec<Method> {
        if self.methods.is_empty() { vec![Method::of(config)] } else { self.methods.clone() }
    }

    /// Loads the model.
    pub fn load(&self) -> Result<MeasuredModel> {
        let chosen = device::open(self.device)?;
        Ok(MeasuredModel {
            name: model_name(&self.model)?,
            loaded: model_folder::load(&self.model, &chosen.device)?,
            threads: if chosen.is_cpu { self.threads } else { 1 },
        })
    }

    /// Every length with one method.
    pub fn readings(&self, model: &LoadedModel, method: Method) -> Result<Vec<PlannedReading>> {
        let fingerprint = model.fingerprint(method)?;
        let config = model.config.clone().with_cut(self.cut);
        let parameters = self.parameters.of(method)?;
        let reading = |&extension: &usize| {
            Ok(PlannedReading {
                method,
                extension,
                context: extension * config.max_position_embeddings,
                parameters: parameters.clone(),
                positions: positions(&config, method, extension as f64, self.beta, &parameters)?,
                fingerprint: fingerprint.clone(),
            })
        };
        self.extensions.iter().map(reading).collect()
    }
}

/// Positions for reading `factor` times the context, with another temperature and other parameters where they are given.
pub fn positions(
    config: &Config,
    method: Method,
    factor: f64,
    beta: Option<f64>,
    parameters: &Parameters,
) -> Result<Positions> {
    let positions = method.positions_with(config, factor, parameters)?;
    let Some(beta) = beta else { return Ok(positions) };
    let is_set = parameters.get(Parameter::TemperatureCoefficient).is_some();
    ensure!(!is_set, "--beta and temperature_coefficient set the same temperature; give one of them");
    Ok(positions.with_logit_scale(beta))
}

/// Name of a model in results: that of its folder.
pub fn model_name(folder: &Path) -> Result<String> {
    let folder = folder.canonicalize().context("cannot find the model's folder")?;
    Ok(folder.file_name().unwrap_or_default().to_string_lossy().into_owned())
}
