//! The file that `core tune` writes and `--tuned` reads.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result};
use drope_core::language::Values;
use drope_core::niah::{Difficulty, Filler, Task};
use drope_core::positions::{Amount, Method, Parameter, Parameters};
use drope_core::tune::{Grid, RandomSearch};
use serde::{Deserialize, Serialize};

use crate::files;

/// What was found, and how.
#[derive(Serialize, Deserialize)]
pub struct Tuned {
    pub model: String,
    pub fingerprint: String,
    pub method: Method,
    /// The best of the candidates.
    pub parameters: Parameters,
    /// Its mean accuracy.
    pub accuracy: f64,
    pub task: Task,
    pub values: Values,
    pub filler: Filler,
    #[serde(flatten)]
    pub difficulty: Difficulty,
    pub extensions: Vec<usize>,
    /// Questions at each extension.
    pub trials: usize,
    pub seed: u64,
    /// What was tried of each parameter; empty where candidates were drawn.
    pub grid: BTreeMap<Parameter, Vec<Amount>>,
    /// How candidates were drawn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub random: Option<RandomSearch>,
    /// In the order in which they were measured.
    pub candidates: Vec<TunedCandidate>,
}

/// What the file holds: what was found for a method, or for each of several.
#[derive(Deserialize)]
#[serde(untagged)]
enum OneOrMore {
    One(Box<Tuned>),
    More(Vec<Tuned>),
}

/// A combination that was measured.
#[derive(Clone, Serialize, Deserialize)]
pub struct TunedCandidate {
    pub parameters: Parameters,
    /// Mean over the extensions.
    pub accuracy: f64,
}

/// The grid as the file has it.
pub fn axes(grid: &Grid) -> BTreeMap<Parameter, Vec<Amount>> {
    grid.0.iter().map(|axis| (axis.parameter, axis.values.clone())).collect()
}

/// The parameters in a file, which must be of this method.
pub fn parameters(path: &Path, method: Method) -> Result<Parameters> {
    let found: OneOrMore = serde_json::from_slice(&files::read(path)?)
        .with_context(|| format!("{} is not a file that `core tune` wrote", path.display()))?;
    let tuned = match found {
        OneOrMore::One(only) => vec![*only],
        OneOrMore::More(several) => several,
    };
    let names = || tuned.iter().map(|tuned| tuned.method.name()).collect::<Vec<_>>().join(",");
    let of_method = tuned.iter().find(|tuned| tuned.method == method).with_context(|| {
        let (path, names) = (path.display(), names());
        format!("{path} has parameters of {names}, not of {}; give --method {names}", method.name())
    })?;
    Ok(of_method.parameters.clone())
}
