//! Positions of a method with parameters that the user chose.

use super::method::Method;
use super::{Amount, Parameter, Parameters, Positions, cope, dynamic_ntk, llama3, p_drope, yarn};
use crate::config::{Config, Llama3Parameters, MAX_FACTOR, PositionScheme, RopeScaling, YarnParameters};
use crate::error::{Error, Result};

impl Method {
    /// [`Method::positions`] with the parameters that were chosen; those that were not are the config's or the method's
    /// customary ones. A temperature replaces the model's own, its `head_scales` included.
    ///
    /// # Errors
    /// Those of [`Method::positions`]; and if the method has no such parameter, a value is impossible, or the weights
    /// were trained with the scaling of their config, which then cannot be changed.
    pub fn positions_with(self, config: &Config, factor: f64, parameters: &Parameters) -> Result<Positions> {
        let own = self.positions(config, factor)?;
        if parameters.is_empty() {
            return Ok(own);
        }
        self.check_parameters(config, parameters)?;
        let value = |parameter| parameters.get(parameter).map(|amount| amount.at(factor));
        let mut adjusted = config.clone();
        adjusted.rope.scaling = self.adjusted_scaling(config, factor, &value);
        if let Some(cut) = value(Parameter::Cut) {
            if cut <= 0.0 {
                return Err(self.refusal(&format!("cut is {cut} but must be above 0 radians a token")));
            }
            adjusted.positions = PositionScheme::Partial { min_frequency: cut };
        }
        if let Some(pairs) = value(Parameter::ClippedPairs) {
            let most = config.rotary_dim() / 2;
            if pairs.fract() != 0.0 || !(1.0..=most as f64).contains(&pairs) {
                return Err(
                    self.refusal(&format!("clipped_pairs is {pairs} but must be a whole number from 1 to {most}"))
                );
            }
            adjusted.positions = PositionScheme::Clipped { pairs: pairs as usize };
        }
        let temperature = value(Parameter::TemperatureCoefficient);
        adjusted.temperature_coefficient = temperature.unwrap_or(config.temperature_coefficient);
        adjusted.check().map_err(|error| match error {
            Error::Config(reason) => self.refusal(&reason),
            other => other,
        })?;
        let alpha = value(Parameter::Alpha).unwrap_or(factor);
        if !(1.0..=MAX_FACTOR).contains(&alpha) {
            return Err(self.refusal(&format!("alpha is {alpha} at s = {factor} but must be from 1 to {MAX_FACTOR}")));
        }
        let Some(c) = temperature else { return self.positions(&adjusted, alpha) };
        let beta = 1.0 + c * factor.ln();
        if beta <= 0.0 {
            return Err(self.refusal(&format!(
                "temperature_coefficient {c} makes the temperature {beta} at s = {factor}, which must be above 0"
            )));
        }
        // β takes the place of the config's own temperatures.
        (adjusted.temperature_coefficient, adjusted.head_scales) = (0.0, None);
        Ok(self.positions(&adjusted, alpha)?.with_logit_scale(beta))
    }

    /// The value that a parameter has where none is chosen; `None` where no single number is equivalent, or none can be
    /// chosen.
    pub fn own_value(self, config: &Config, parameter: Parameter) -> Option<Amount> {
        if !may_be_chosen(config, parameter) {
            return None;
        }
        let yarn = || yarn::parameters(config, 1.0);
        Some(match parameter {
            Parameter::BetaFast => Amount::Number(yarn().beta_fast),
            Parameter::BetaSlow => Amount::Number(yarn().beta_slow),
            Parameter::Mscale if yarn().attention_factor.is_none() && yarn().mscale.is_none() => Amount::Number(1.0),
            Parameter::Mscale | Parameter::AttentionFactor => return None,
            Parameter::LowFreqFactor => Amount::Number(llama3::parameters(config, 1.0).low_freq_factor),
            Parameter::HighFreqFactor => Amount::Number(llama3::parameters(config, 1.0).high_freq_factor),
            Parameter::Alpha => Amount::TimesS(1.0),
            Parameter::Cut => Amount::Number(p_drope::cut(config)),
            Parameter::ClippedPairs => Amount::Number(cope::clipped_pairs(config) as f64),
            Parameter::Factor => Amount::Number(dynamic_ntk::factor(config)),
            Parameter::TemperatureCoefficient => {
                let positions = self.positions(config, 2.0).ok()?;
                let is_tempered = positions.logit_scale != 1.0;
                let c = if is_tempered { config.temperature_coefficient } else { 0.0 };
                return positions.head_scales.is_empty().then_some(Amount::Number(c));
            }
        })
    }

    fn check_parameters(self, config: &Config, parameters: &Parameters) -> Result<()> {
        let known = self.info().parameters;
        for (parameter, amount) in parameters.iter() {
            if !known.iter().any(|tunable| tunable.parameter == parameter) {
                let names: Vec<&str> = known.iter().map(|tunable| tunable.parameter.name()).collect();
                let reason = format!("it has no {}; choose from {}", parameter.name(), names.join(", "));
                return Err(self.refusal(&reason));
            }
            let follows_length = [Parameter::Alpha, Parameter::Factor].contains(&parameter);
            if matches!(amount, Amount::TimesS(_)) && !follows_length {
                return Err(self.refusal(&format!("{} must be a number, not a multiple of s", parameter.name())));
            }
            if !may_be_chosen(config, parameter) {
                return Err(self.refusal(
                    "the weights were trained with the scaling of their config; only temperature_coefficient can be set",
                ));
            }
        }
        let is_set = |parameter| parameters.get(parameter).is_some();
        if is_set(Parameter::AttentionFactor) && is_set(Parameter::Mscale) {
            return Err(self.refusal("attention_factor and mscale set the same factor; give one of them"));
        }
        Ok(())
    }

    fn refusal(self, reason: &str) -> Error {
        Error::Parameter(format!("these parameters do not fit {}: {reason}", self.name()))
    }

    fn adjusted_scaling(self, config: &Config, factor: f64, value: &dyn Fn(Parameter) -> Option<f64>) -> RopeScaling {
        match self {
            Self::Yarn => {
                let own = yarn::parameters(config, factor);
                let by_mscale = value(Parameter::Mscale).map(|mscale| yarn::attention_factor_of(mscale, factor));
                RopeScaling::Yarn(YarnParameters {
                    beta_fast: value(Parameter::BetaFast).unwrap_or(own.beta_fast),
                    beta_slow: value(Parameter::BetaSlow).unwrap_or(own.beta_slow),
                    attention_factor: value(Parameter::AttentionFactor).or(by_mscale).or(own.attention_factor),
                    ..own
                })
            }
            Self::Llama3 => {
                let own = llama3::parameters(config, factor);
                RopeScaling::Llama3(Llama3Parameters {
                    low_freq_factor: value(Parameter::LowFreqFactor).unwrap_or(own.low_freq_factor),
                    high_freq_factor: value(Parameter::HighFreqFactor).unwrap_or(own.high_freq_factor),
                    ..own
                })
            }
            Self::DynamicNtk => match value(Parameter::Factor) {
                Some(factor) => RopeScaling::Dynamic { factor },
                None => config.rope.scaling.clone(),
            },
            _ => config.rope.scaling.clone(),
        }
    }
}

/// Whether a parameter may be chosen: parameters of a scaling that the weights were trained with may not.
fn may_be_chosen(config: &Config, parameter: Parameter) -> bool {
    parameter == Parameter::TemperatureCoefficient || config.trained_factor() == 1.0
}
