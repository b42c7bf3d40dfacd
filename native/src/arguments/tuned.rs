//! The file that `core tune` writes and `--tuned` reads.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use drope_core::language::Values;
use drope_core::niah::{Difficulty, Filler, Task};
use drope_core::positions::{Amount, Method, Parameter, Parameters};
use drope_core::tune::{Grid, ScoredPoint};
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
    pub grid: BTreeMap<Parameter, Vec<Amount>>,
    /// In the order in which they were measured.
    pub candidates: Vec<TunedCandidate>,
}

/// A combination that was measured.
#[derive(Serialize, Deserialize)]
pub struct TunedCandidate {
    pub parameters: Parameters,
    /// Mean over the extensions.
    pub accuracy: f64,
}

impl TunedCandidate {
    pub fn new(candidate: &ScoredPoint) -> Self {
        Self { parameters: candidate.parameters.clone(), accuracy: candidate.score }
    }
}

/// The grid as the file has it.
pub fn axes(grid: &Grid) -> BTreeMap<Parameter, Vec<Amount>> {
    grid.0.iter().map(|axis| (axis.parameter, axis.values.clone())).collect()
}

/// The parameters in a file, which must be of this method.
pub fn parameters(path: &Path, method: Method) -> Result<Parameters> {
    let tuned: Tuned = serde_json::from_slice(&files::read(path)?)
        .with_context(|| format!("{} is not a file that `core tune` wrote", path.display()))?;
    ensure!(
        tuned.method == method,
        "{} has parameters of {}, not of {}; give --method {}",
        path.display(),
        tuned.method.name(),
        method.name(),
        tuned.method.name()
    );
    Ok(tuned.parameters)
}
