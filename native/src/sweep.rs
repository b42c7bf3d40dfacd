//! A model read with several methods at several lengths: arguments and readings that all measurements share.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use clap::Args;
use drope_core::config::Config;
use drope_core::loaded_model::LoadedModel;
use drope_core::positions::{Method, Parameter, Parameters, Positions};

use crate::cli::{NumberArgs, ParameterArgs, above_zero, at_least_one, method_names, tokens};
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
    /// Lengths in tokens in place of --extension, such as 512,4k,16k; each is read with the smallest whole extension factor whose
    /// context holds it.
    #[arg(long, value_delimiter = ',', value_parser = tokens, conflicts_with = "extensions")]
    pub lengths: Vec<usize>,
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
    #[command(flatten)]
    pub numbers: NumberArgs,
    /// Where to compute.
    #[arg(long, value_enum, default_value = "auto")]
    pub device: DeviceChoice,
    /// CPU threads that compute; each thread works on one question or text at a time.
    #[arg(long, default_value_t = threads::available(), value_parser = at_least_one)]
    pub threads: usize,
}

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

impl Sweep {
    /// The methods that the user gave, else the method of the model's config.
    pub fn methods(&self, config: &Config) -> Vec<Method> {
        if self.methods.is_empty() { vec![Method::of(config)] } else { self.methods.clone() }
    }

    /// Loads the model.
    pub fn load(&self) -> Result<MeasuredModel> {
        let chosen = device::open(self.device)?;
        Ok(MeasuredModel {
            name: model_name(&self.model)?,
            loaded: model_folder::load(&self.model, chosen.keeps(self.numbers.types())?, &chosen.device)?,
            threads: if chosen.is_cpu { self.threads } else { 1 },
        })
    }

    /// Extension factors, each with its length in tokens.
    pub fn contexts(&self, config: &Config) -> Vec<(usize, usize)> {
        let trained = config.max_position_embeddings;
        if self.lengths.is_empty() {
            self.extensions.iter().map(|&extension| (extension, extension * trained)).collect()
        } else {
            self.lengths.iter().map(|&length| (length.div_ceil(trained), length)).collect()
        }
    }

    /// Every length with one method.
    pub fn readings(&self, model: &LoadedModel, method: Method) -> Result<Vec<PlannedReading>> {
        let fingerprint = model.fingerprint(method)?;
        let config = model.config.clone().with_cut(self.cut);
        let parameters = self.parameters.of(method)?;
        let reading = |(extension, context): (usize, usize)| {
            Ok(PlannedReading {
                method,
                extension,
                context,
                parameters: parameters.clone(),
                positions: positions(&config, method, extension as f64, self.beta, &parameters)?,
                fingerprint: fingerprint.clone(),
            })
        };
        self.contexts(&config).into_iter().map(reading).collect()
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
