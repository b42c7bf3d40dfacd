//! A model read with several methods at several lengths: what all measurements are told.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::Args;
use drope_core::config::Config;
use drope_core::config::dope::DopeHeads;
use drope_core::positions::{Method, Positions};

use crate::device::DeviceChoice;
use crate::model_folder;

/// A model and the ways to read it.
#[derive(Args)]
pub struct Sweep {
    /// Folder of the model.
    #[arg(long)]
    pub model: PathBuf,
    #[arg(long = "method", value_delimiter = ',', required = true, help = format!("Position methods: {}", method_names()))]
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
    /// File for the results; what it already holds is not measured again.
    #[arg(long)]
    pub json: Option<PathBuf>,
    /// Where to compute.
    #[arg(long, value_enum, default_value = "auto")]
    pub device: DeviceChoice,
}

impl Sweep {
    pub fn config(&self) -> Result<Config> {
        Ok(model_folder::config(&self.model)?.with_cut(self.cut))
    }

    pub fn positions(&self, config: &Config, method: Method, extension: usize) -> Result<Positions> {
        positions(config, method, extension as f64, self.beta)
    }

    /// What tells the results of this model and reading from those of another of the same name.
    pub fn fingerprint(&self, method: Method, heads: Option<&DopeHeads>) -> Result<String> {
        model_folder::fingerprint(&self.model, heads.filter(|_| method.is_dope()))
    }

    /// The model in results.
    pub fn model_name(&self) -> Result<String> {
        model_name(&self.model)
    }
}

/// Positions for reading `factor` times the context, with another temperature where one is given.
pub fn positions(config: &Config, method: Method, factor: f64, beta: Option<f64>) -> Result<Positions> {
    let positions = method.positions(config, factor)?;
    Ok(match beta {
        Some(beta) => positions.with_logit_scale(beta),
        None => positions,
    })
}

/// Name of a model in results: that of its folder.
pub fn model_name(folder: &Path) -> Result<String> {
    let folder = folder.canonicalize().context("cannot find the model's folder")?;
    Ok(folder.file_name().unwrap_or_default().to_string_lossy().into_owned())
}

/// For help texts.
pub fn method_names() -> String {
    Method::ALL.map(Method::name).join(", ")
}

/// A number above 0, on the command line.
pub fn above_zero(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number: &f64| number.is_finite() && *number > 0.0);
    number.ok_or_else(|| format!("{text} is not a number above 0"))
}

/// A whole number above 0, on the command line.
pub fn at_least_one(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|&number| number > 0).ok_or_else(|| format!("{text} is not a whole number of at least 1"))
}
