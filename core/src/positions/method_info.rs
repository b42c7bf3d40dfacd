//! What is said of a method: its names, what it does to frequencies, and the parameters that a user may choose.

use super::{Amount, Parameter, Positions};
use crate::config::Config;
use crate::error::Result;

/// What the project knows of a method; each method's file holds one as a constant.
pub struct MethodInfo {
    /// Name on the command line and in files.
    pub name: &'static str,
    /// Name in tables and on the page.
    pub title: &'static str,
    /// What it does, in one sentence.
    pub explanation: &'static str,
    /// Folder under `models/` of the nano model that it is shown with.
    pub nano_model: &'static str,
    /// How its positions relate to the frequencies that the model was trained with.
    pub frequencies: Frequencies,
    /// Whether the model is given no more than the training context: the first token and the last ones.
    pub crops: bool,
    /// Whether it treats the heads that `dope_heads` of the config lists.
    pub is_dope: bool,
    /// The parameters that a user may choose ([`Method::positions_with`]).
    pub parameters: &'static [Tunable],
    /// Whether a config asks for this method.
    pub(super) asked_by: fn(&Config) -> bool,
    /// Positions for reading `factor` times the training context.
    pub(super) positions: fn(&Config, f64) -> Result<Positions>,
}

/// A parameter that a user may choose.
pub struct Tunable {
    /// The parameter.
    pub parameter: Parameter,
    /// Values that `core tune` tries; if empty, it tries only values from the command line.
    pub grid: &'static [Amount],
    /// Where `core tune --candidates` draws values from; `None`: nowhere.
    pub range: Option<SearchInterval>,
}

/// How `core tune --candidates` draws a value, between the first and the second number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SearchInterval {
    /// Uniform in the logarithm; both numbers are above 0.
    LogUniform(f64, f64),
    /// Multiples of the extension factor, uniform in the logarithm.
    LogUniformTimesS(f64, f64),
    /// Uniform, for a parameter that may be negative.
    Uniform(f64, f64),
}

impl Tunable {
    /// The temperature, which every method has. Fitted values in the papers are from 0.1 to 0.41 (DroPE, section 5; Wang et
    /// al. 2024); models that were trained with SSMax or copies may want none, or less than none.
    pub(super) const TEMPERATURE: Self = Self {
        parameter: Parameter::TemperatureCoefficient,
        grid: &numbers([-0.1, -0.05, 0.0, 0.05, 0.1, 0.2, 0.3, 0.4]),
        range: Some(SearchInterval::Uniform(-0.2, 0.8)),
    };
}

/// Amounts that are the same at every length.
pub(super) const fn numbers<const N: usize>(values: [f64; N]) -> [Amount; N] {
    let mut amounts = [Amount::Number(0.0); N];
    let mut index = 0;
    while index < N {
        amounts[index] = Amount::Number(values[index]);
        index += 1;
    }
    amounts
}

/// What a method can do with a checkpoint whose frequencies were scaled in training already, as Llama 3.1's were.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frequencies {
    /// The method has no frequencies, so it can read any checkpoint.
    None,
    /// The method expects those of RoPE, and would read such a checkpoint wrongly.
    Unscaled,
    /// The method scales frequencies of its own kind further.
    Rescaled,
}
