//! A model and the methods and lengths with which it is read: arguments that all measurements share.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use drope_core::config::Config;
use drope_core::positions::Method;
use drope_core::results::SEED;

use super::{NumberArgs, ParameterArgs, above_zero, at_least_one, check_cut, method_names, tokens};
use crate::device::DeviceChoice;
use crate::threads;

/// A model and the ways to read it.
#[derive(Args)]
pub struct Sweep {
    /// Folder of the model, or a GGUF.
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
    #[arg(long, default_value_t = SEED)]
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

impl Sweep {
    /// The methods that the user gave, else the method of the model's config, with the cut that was given.
    ///
    /// # Errors
    /// If a cut is given and a method drops no frequencies below one.
    pub fn methods(&self, config: &Config) -> Result<Vec<Method>> {
        let own = Method::of(&config.clone().with_cut(self.cut));
        let methods = if self.methods.is_empty() { vec![own] } else { self.methods.clone() };
        methods.iter().try_for_each(|&method| check_cut(method, self.cut))?;
        Ok(methods)
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
}
