//! Results files: JSON lists of cells, one a line. Retrieval, perplexity and probe cells share what identifies a
//! reading ([`ResultCell`]), and one rule says which of two results for the same cell counts ([`current`]).

mod current;
#[cfg(feature = "model")]
mod fingerprint;
mod held_out;
#[cfg(feature = "statistics")]
mod join;
mod model;
mod outcomes;
mod retrieval;
mod shard;
mod study;

use serde::{Deserialize, Serialize};

pub use self::current::current;
#[cfg(feature = "model")]
pub use self::fingerprint::fingerprint;
pub use self::held_out::HeldOutLine;
#[cfg(feature = "statistics")]
pub(crate) use self::join::{check_all, joined};
pub use self::model::{ModelRecord, TrainingRecord};
pub use self::outcomes::Outcomes;
pub use self::retrieval::RetrievalCell;
pub use self::shard::{Shard, merge};
pub use self::study::{Finding, LinePoint, MethodLine, StudyFigure};
use crate::error::{Error, Result};
use crate::left_out::is_default;
use crate::positions::{Method, Parameters};

/// Seed of the questions and texts of every published result.
pub const SEED: u64 = 20_000;

/// What was read, and how: the part that all kinds of cells share.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reading<'a> {
    /// Name of the model's folder.
    pub model: &'a str,
    /// Position method.
    pub method: Method,
    /// Extension factor s.
    pub extension: usize,
    /// Temperature of the logits.
    pub beta: f64,
    /// Whether that temperature was asked for and replaced the model's own.
    pub beta_given: bool,
    /// Cut of a partial drop, where another than the model's own was asked for.
    pub cut: Option<f64>,
    /// Parameters of the method that were chosen.
    pub parameters: &'a Parameters,
    /// The heads that DoPE treats.
    pub heads: Option<&'a str>,
    /// Hash of the model; empty in results from before there was one.
    pub fingerprint: &'a str,
}

/// What every cell says of its reading. In files the fields stand beside the cell's own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CellHeader {
    /// Name of the model's folder.
    pub model: String,
    /// Position method.
    pub method: Method,
    /// Extension factor s.
    pub extension: usize,
    /// Temperature of the logits.
    pub beta: f64,
    /// Whether that temperature was asked for and replaced the model's own, its `head_scales` included.
    #[serde(default, skip_serializing_if = "is_default")]
    pub beta_given: bool,
    /// Cut of a partial drop, where another than the model's own was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut: Option<f64>,
    /// Parameters of the method that were chosen in place of the config's or its customary ones.
    #[serde(default, skip_serializing_if = "Parameters::is_empty")]
    pub parameters: Parameters,
    /// Hash of the model and of what its config says ([`LoadedModel::fingerprint`]); empty in results from before there was
    /// one.
    ///
    /// [`LoadedModel::fingerprint`]: crate::loaded_model::LoadedModel::fingerprint
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub fingerprint: String,
}

impl CellHeader {
    /// What was read, and how; `heads` are those that DoPE treats.
    pub fn reading<'a>(&'a self, heads: Option<&'a str>) -> Reading<'a> {
        let Self { model, method, extension, beta, beta_given, cut, parameters, fingerprint } = self;
        Reading {
            model,
            method: *method,
            extension: *extension,
            beta: *beta,
            beta_given: *beta_given,
            cut: *cut,
            parameters,
            heads,
            fingerprint,
        }
    }
}

impl Reading<'_> {
    /// Whether the model was read as its config says: no temperature, cut or parameters of the command line.
    pub fn is_standard(&self) -> bool {
        !self.beta_given && self.cut.is_none() && self.parameters.is_empty()
    }

    /// What was asked for on the command line. The fingerprint and the model's own temperature follow from the model: they
    /// change when it is trained or fitted anew.
    fn asked(self) -> Self {
        Self { fingerprint: "", beta: if self.beta_given { self.beta } else { 1.0 }, ..self }
    }
}

/// One result in a results file.
pub trait ResultCell {
    /// What was read, and how.
    fn reading(&self) -> Reading<'_>;

    /// Whether both are about the same question, whatever read it and however many samples of it were measured.
    fn same_question(&self, other: &Self) -> bool;

    /// Questions or texts that were measured.
    fn questions(&self) -> usize;

    /// Whether a table may show it without a remark: the standard questions, all of them, in the standard filler and at
    /// random depths, read as the model's config says.
    fn is_standard(&self) -> bool;

    /// Whether both stand in the same place of a table: the same question to the same reading. They may differ in the
    /// fingerprint, in what follows from the model, and in the number of samples.
    fn same_place(&self, other: &Self) -> bool {
        self.reading().asked() == other.reading().asked() && self.same_question(other)
    }

    /// Whether both are results of the same measurement: the same question to the same reading of the same model.
    fn same_measurement(&self, other: &Self) -> bool {
        self.reading() == other.reading() && self.same_question(other)
    }
}

/// The text of a results file: a JSON list, one cell a line.
///
/// # Errors
/// If a cell cannot be written as JSON.
pub fn to_json<T: Serialize>(cells: &[T]) -> Result<String> {
    append("", cells)
}

/// The text of a results file with cells added after those of `text`, which stay as they are to the last digit; an empty
/// text is a file without cells.
///
/// # Errors
/// If the text is not a list, or a cell cannot be written as JSON.
pub fn append<T: Serialize>(text: &str, cells: &[T]) -> Result<String> {
    let fail = |reason: &str| Error::Results(reason.to_owned());
    let held = match text.trim() {
        "" => "",
        list => {
            list.strip_prefix('[').and_then(|list| list.strip_suffix(']')).ok_or_else(|| fail("not a list"))?.trim()
        }
    };
    let mut lines = if held.is_empty() { vec![] } else { vec![held.to_owned()] };
    for cell in cells {
        lines.push(serde_json::to_string(cell).map_err(|error| fail(&error.to_string()))?);
    }
    Ok(format!("[\n{}\n]\n", lines.join(",\n")))
}

/// Rounds to steps of 1e-9, so that a file that is read and written again does not change.
pub fn rounded(value: f64) -> f64 {
    (value * 1e9).round() / 1e9
}
