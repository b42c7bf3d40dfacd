//! Parameters of methods that a user may choose in place of the config's, or of the method's usual ones.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::names::named;

named! {
    /// A parameter, named as in `rope_scaling` of transformers where it is there.
    #[derive(PartialOrd, Ord)]
    Parameter: "parameter" {
        /// YaRN: rotations over the training context above which a frequency is kept.
        BetaFast = "beta_fast",
        /// YaRN: rotations below which a frequency is interpolated.
        BetaSlow = "beta_slow",
        /// YaRN: the factor of cos and sin, the same at every length.
        AttentionFactor = "attention_factor",
        /// YaRN: the factor of cos and sin is 0.1·mscale·ln s + 1.
        Mscale = "mscale",
        /// Llama 3: rotations within the training context below which a frequency is divided by s.
        LowFreqFactor = "low_freq_factor",
        /// Llama 3: rotations above which it is kept.
        HighFreqFactor = "high_freq_factor",
        /// Static NTK: α of the base θ·α^(d/(d−2)), in place of s.
        Alpha = "alpha",
        /// Dynamic NTK: f, how fast the base grows beyond the training context.
        Factor = "factor",
        /// Partial DroPE: frequencies below this, in radians a token, are dropped.
        Cut = "cut",
        /// CoPE: pairs, of those with the lowest frequencies, that are clipped softly.
        ClippedPairs = "clipped_pairs",
        /// Every method: c of the temperature β = 1 + c·ln s.
        TemperatureCoefficient = "temperature_coefficient",
    }
}

/// The value of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "Written")]
pub enum Amount {
    /// The same at every length.
    Number(f64),
    /// This many times the extension factor s; 1 at s = 1, where nothing is extended. Written `s`, `1.5s`.
    TimesS(f64),
}

impl Amount {
    /// The number at an extension factor.
    pub fn at(self, factor: f64) -> f64 {
        match self {
            Self::Number(number) => number,
            Self::TimesS(_) if factor == 1.0 => 1.0,
            Self::TimesS(multiple) => multiple * factor,
        }
    }
}

impl FromStr for Amount {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let number = |digits: &str| digits.parse().ok().filter(|number: &f64| number.is_finite());
        let amount = match text.strip_suffix('s') {
            None => number(text).map(Self::Number),
            Some("") => Some(Self::TimesS(1.0)),
            Some(multiple) => number(multiple).map(Self::TimesS),
        };
        amount.ok_or_else(|| {
            Error::Parameter(format!(
                "{text:?} is neither a number nor a multiple of the extension factor such as 1.5s"
            ))
        })
    }
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::TimesS(1.0) => f.write_str("s"),
            Self::TimesS(multiple) => write!(f, "{multiple}s"),
        }
    }
}

/// An amount in JSON.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Written {
    Number(f64),
    Text(String),
}

impl TryFrom<Written> for Amount {
    type Error = Error;

    fn try_from(written: Written) -> Result<Self> {
        match written {
            Written::Number(number) => Ok(Self::Number(number)),
            Written::Text(text) => text.parse(),
        }
    }
}

impl From<Amount> for Written {
    fn from(amount: Amount) -> Self {
        match amount {
            Amount::Number(number) => Self::Number(number),
            Amount::TimesS(_) => Self::Text(amount.to_string()),
        }
    }
}

/// The parameters that were chosen for a reading; in JSON an object such as `{"beta_fast":16.0,"alpha":"1.5s"}`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Parameters(BTreeMap<Parameter, Amount>);

impl Parameters {
    /// Makes parameters of settings in any order.
    ///
    /// # Errors
    /// If a parameter occurs twice.
    pub fn new(settings: impl IntoIterator<Item = (Parameter, Amount)>) -> Result<Self> {
        let mut chosen = BTreeMap::new();
        for (parameter, amount) in settings {
            if chosen.insert(parameter, amount).is_some() {
                return Err(Error::Parameter(format!("{} is given twice; give it once", parameter.name())));
            }
        }
        Ok(Self(chosen))
    }

    /// A setting as it is written: `beta_fast=16`.
    ///
    /// # Errors
    /// If it is not a parameter's name, an equals sign and an amount.
    pub fn setting(text: &str) -> Result<(Parameter, Amount)> {
        match text.split_once('=') {
            Some((name, value)) => Ok((name.parse()?, value.parse()?)),
            None => Err(Error::Parameter(format!("{text:?} is not given as name=value, such as beta_fast=16"))),
        }
    }

    /// These parameters with one of them changed, or without it, so that the method's own value counts.
    #[must_use]
    pub fn with(mut self, parameter: Parameter, amount: Option<Amount>) -> Self {
        match amount {
            Some(amount) => self.0.insert(parameter, amount),
            None => self.0.remove(&parameter),
        };
        self
    }

    /// Whether none was chosen: the reading is the method's own.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The value that was chosen for a parameter.
    pub fn get(&self, parameter: Parameter) -> Option<Amount> {
        self.0.get(&parameter).copied()
    }

    /// All of them, in a fixed order.
    pub fn iter(&self) -> impl Iterator<Item = (Parameter, Amount)> {
        self.0.iter().map(|(&parameter, &amount)| (parameter, amount))
    }
}

impl fmt::Display for Parameters {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let settings: Vec<String> = self.iter().map(|(name, amount)| format!("{}={amount}", name.name())).collect();
        f.write_str(&settings.join(","))
    }
}

impl FromStr for Parameters {
    type Err = Error;

    /// `beta_fast=16,beta_slow=2`, as it is written; nothing for none.
    fn from_str(text: &str) -> Result<Self> {
        let settings = text.split(',').filter(|setting| !setting.is_empty()).map(Self::setting);
        Self::new(settings.collect::<Result<Vec<_>>>()?)
    }
}

#[cfg(test)]
mod tests {
    use super::{Amount, Parameter, Parameters};

    #[test]
    fn amounts_follow_the_length_where_they_are_multiples_of_it() {
        for (text, values) in [("8", [8.0; 3]), ("s", [1.0, 2.0, 8.0]), ("1.5s", [1.0, 3.0, 12.0])] {
            let amount: Amount = text.parse().unwrap();
            assert_eq!([1.0, 2.0, 8.0].map(|factor| amount.at(factor)), values, "{text}");
            assert_eq!(amount.to_string(), text);
        }
        for bad in ["", "x", "2x", "inf", "nans", "2s s"] {
            assert!(bad.parse::<Amount>().unwrap_err().to_string().contains("neither a number nor"), "{bad}");
        }
    }

    #[test]
    fn parameters_survive_being_written_as_text() {
        for text in ["", "beta_fast=16,beta_slow=2", "alpha=1.5s"] {
            assert_eq!(text.parse::<Parameters>().unwrap().to_string(), text);
        }
        for (bad, reason) in [("beta_fast", "name=value"), ("beta_fast=x", "neither a number"), ("beta=1", "beta")] {
            let error = bad.parse::<Parameters>().unwrap_err().to_string();
            assert!(error.contains(reason), "{error}");
        }
        let chosen: Parameters = "beta_fast=16,beta_slow=2".parse().unwrap();
        let other = chosen.with(Parameter::BetaFast, None).with(Parameter::BetaSlow, Some(Amount::Number(3.0)));
        assert_eq!(other.to_string(), "beta_slow=3");
    }

    #[test]
    fn parameters_survive_their_file_in_any_order() {
        let settings = [(Parameter::Alpha, "1.5s"), (Parameter::BetaFast, "16")];
        let settings = settings.map(|(parameter, amount)| (parameter, amount.parse::<Amount>().unwrap()));
        let parameters = Parameters::new(settings).unwrap();
        assert_eq!(serde_json::to_string(&parameters).unwrap(), r#"{"beta_fast":16.0,"alpha":"1.5s"}"#);
        let read: Parameters = serde_json::from_str(r#"{"alpha":"1.5s","beta_fast":16}"#).unwrap();
        assert_eq!(read, parameters);
        assert_eq!(parameters.to_string(), "beta_fast=16,alpha=1.5s");
        assert!(serde_json::from_str::<Parameters>(r#"{"beta":16}"#).is_err());
        assert!(Parameters::new([settings[0], settings[0]]).unwrap_err().to_string().contains("alpha is given twice"));
    }
}
