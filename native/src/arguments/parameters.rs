//! Parameters of a position method on the command line.

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use clap::Args;
use drope_core::config::Config;
use drope_core::positions::{Amount, Method, Parameter, Parameters, Positions};

use super::tuned;

/// Parameters of the method.
#[derive(Args, Default)]
pub struct ParameterArgs {
    /// Parameters of the method in place of the config's or the customary ones, such as beta_fast=16,beta_slow=2; of yarn:
    /// beta_fast, beta_slow, attention_factor, mscale (the attention factor is then 0.1·mscale·ln s + 1); of llama3:
    /// low_freq_factor, high_freq_factor; of ntk: alpha (in place of s); of dynamic-ntk: factor (f); of p-drope: cut
    /// (radians a token); of cope: clipped_pairs; of all:
    /// temperature_coefficient (c of β = 1 + c·ln s). alpha and factor may be multiples of the extension factor: s, 1.5s.
    #[arg(long, value_name = "NAME=VALUE", value_delimiter = ',', value_parser = Parameters::setting)]
    set: Vec<(Parameter, Amount)>,
    /// Parameters that `core tune` found, in place of --set.
    #[arg(long, conflicts_with = "set")]
    tuned: Option<PathBuf>,
}

impl ParameterArgs {
    /// Arguments that set these parameters.
    pub fn these(parameters: &Parameters) -> Self {
        Self { set: parameters.iter().collect(), tuned: None }
    }

    /// The parameters that the arguments set for a method.
    pub fn of(&self, method: Method) -> Result<Parameters> {
        match &self.tuned {
            Some(path) => tuned::parameters(path, method),
            None => Ok(Parameters::new(self.set.iter().copied())?),
        }
    }
}

/// `name=value,value`: the values of a parameter that `core tune` tries.
pub fn axis(text: &str) -> Result<(Parameter, Vec<Amount>)> {
    let (name, values) =
        text.split_once('=').context("values to try are given as name=value,value, such as beta_fast=8,16,32")?;
    Ok((name.parse()?, values.split(',').map(str::parse).collect::<Result<_, _>>()?))
}

/// Refuses a cut (`--cut`) for a method that drops no frequencies below one.
pub fn check_cut(method: Method, cut: Option<f64>) -> Result<()> {
    ensure!(
        cut.is_none() || method == Method::PDrope,
        "--cut is for p-drope, and {} drops no frequencies below a cut; leave out --cut, or give --method p-drope",
        method.name()
    );
    Ok(())
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
