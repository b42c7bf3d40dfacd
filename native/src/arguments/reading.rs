//! A model and how to read it: arguments that several commands share.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use drope_core::config::Config;
use drope_core::positions::{Method, Positions};

use super::{NumberArgs, ParameterArgs, above_zero, at_least_one, check_cut, method_names, positions};
use crate::device::DeviceChoice;
use crate::files::model_folder;
use crate::threads;

/// A model and its positions.
#[derive(Args)]
pub struct ModelArgs {
    /// Folder of the model, or a GGUF.
    #[arg(id = "model", long = "model", value_name = "MODEL")]
    pub path: PathBuf,
    #[arg(long, help = format!("Position method; {}; default: what the config says", method_names()))]
    method: Option<Method>,
    /// Extension factor: how many times the training context is to be read; default: what the config's own scaling says.
    #[arg(long)]
    factor: Option<f64>,
    /// Temperature of the logits instead of the config's 1 + c·ln s.
    #[arg(long, value_parser = above_zero)]
    beta: Option<f64>,
    /// For p-drope: frequencies below this, in radians a token, are dropped; default: the config's, else 2π/C.
    #[arg(long, value_parser = above_zero)]
    cut: Option<f64>,
    #[command(flatten)]
    parameters: ParameterArgs,
}

/// A model, its positions and what computes.
#[derive(Args)]
pub struct ReadingArgs {
    #[command(flatten)]
    pub model: ModelArgs,
    #[command(flatten)]
    pub numbers: NumberArgs,
    /// Where to compute.
    #[arg(long, value_enum, default_value = "auto")]
    pub device: DeviceChoice,
    /// CPU threads that compute.
    #[arg(long, default_value_t = threads::available(), value_parser = at_least_one)]
    pub threads: usize,
}

impl ModelArgs {
    pub fn method(&self, config: &Config) -> Method {
        self.method.unwrap_or_else(|| Method::of(config))
    }

    /// The model's config, with the cut that is asked for.
    pub fn config(&self) -> Result<Config> {
        Ok(model_folder::config(&self.path)?.with_cut(self.cut))
    }

    /// The extension factor: --factor, else the config's own factor if the config's own method reads the model, else 1.
    pub fn factor(&self, config: &Config) -> f64 {
        let own = if self.method(config) == Method::of(config) { config.extension_factor() } else { 1.0 };
        self.factor.unwrap_or(own)
    }

    pub fn positions(&self, config: &Config) -> Result<Positions> {
        let method = self.method(config);
        check_cut(method, self.cut)?;
        positions(config, method, self.factor(config), self.beta, &self.parameters.of(method)?)
    }
}
