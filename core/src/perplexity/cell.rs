//! The format of perplexities in results files.

use std::ops::Deref;

use serde::{Deserialize, Serialize};

use crate::results::{CellHeader, Reading, ResultCell, SEED, rounded};
use crate::stats::student_half_width;

/// Sums over one text.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TextLoss {
    /// Number of the text.
    pub index: usize,
    /// Predicted tokens.
    pub tokens: usize,
    /// Sum of their cross entropies, in nats.
    pub loss: f64,
    /// Predicted tokens that are answers.
    pub answers: usize,
    /// Sum of the cross entropies of the answers.
    pub answer_loss: f64,
    /// Tokens and summed cross entropy of each of [`PARTS`] equal parts of the first window.
    pub curve: Vec<(usize, f64)>,
}

impl TextLoss {
    /// The same with sums rounded to millionths, which do not change when they are written as text and read again.
    #[must_use]
    pub fn rounded(mut self) -> Self {
        let sums = [&mut self.loss, &mut self.answer_loss];
        for sum in sums.into_iter().chain(self.curve.iter_mut().map(|part| &mut part.1)) {
            *sum = (*sum * 1e6).round() / 1e6;
        }
        self
    }
}

/// Parts of a window in a curve of the loss by position.
pub const PARTS: usize = 16;

/// Perplexity of a model read with a method at a length: what `core eval ppl` writes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PerplexityCell {
    /// What was read, and how.
    #[serde(flatten)]
    pub header: CellHeader,
    /// s·C tokens: the window.
    pub context: usize,
    /// Tokens from window to window.
    pub stride: usize,
    /// Seed of the texts, or the name of their file.
    pub source: String,
    /// Tokens of each text.
    #[serde(default)]
    pub length: usize,
    /// Number of texts, including those of other shards.
    #[serde(default)]
    pub of_texts: usize,
    /// Predicted tokens.
    pub tokens: usize,
    /// Mean cross entropy in nats.
    pub loss: f64,
    /// e^loss.
    pub perplexity: f64,
    /// 95 % interval of the perplexity: Student's, over the texts' means; none of a single text.
    pub ci95: Option<[f64; 2]>,
    /// Perplexity of answers alone, where it is known which tokens those are.
    pub answer_perplexity: Option<f64>,
    /// Mean loss in each part of the first windows; `None` where no token was predicted.
    pub curve: Vec<Option<f64>>,
    /// The sums that the numbers above are computed from, in the order of the texts.
    pub texts: Vec<TextLoss>,
}

impl Deref for PerplexityCell {
    type Target = CellHeader;

    fn deref(&self) -> &CellHeader {
        &self.header
    }
}

impl ResultCell for PerplexityCell {
    fn reading(&self) -> Reading<'_> {
        self.header.reading(None)
    }

    fn same_question(&self, other: &Self) -> bool {
        let question = |cell: &Self| (cell.context, cell.stride, cell.length);
        question(self) == question(other) && self.source == other.source
    }

    fn questions(&self) -> usize {
        self.texts.len()
    }

    fn is_standard(&self) -> bool {
        let is_usual_text = self.stride == self.context / 2 && self.source == synthetic_source(SEED);
        is_usual_text && self.texts.len() == self.of_texts && self.reading().is_standard()
    }
}

/// Name of the held-out documents of the synthetic language that are drawn with this seed.
pub fn synthetic_source(seed: u64) -> String {
    format!("synthetic, seed {seed}")
}

/// e^loss. A loss beyond all real ones is limited, so that a file can hold the result.
fn perplexity(loss: f64) -> f64 {
    const GREATEST: f64 = 600.0;
    rounded(loss.min(GREATEST).exp())
}

impl PerplexityCell {
    /// The same cell with its texts sorted, and every number computed from them.
    #[must_use]
    pub fn recomputed(mut self) -> Self {
        self.texts.sort_by_key(|text| text.index);
        let mean = |sum: f64, count: usize| (count > 0).then(|| rounded(sum / count as f64));
        let total = |part: fn(&TextLoss) -> (usize, f64)| {
            self.texts.iter().map(part).fold((0, 0.0), |sum, text| (sum.0 + text.0, sum.1 + text.1))
        };
        let (tokens, loss) = total(|text| (text.tokens, text.loss));
        let (answers, answer_loss) = total(|text| (text.answers, text.answer_loss));
        self.tokens = tokens;
        self.loss = mean(loss, tokens).unwrap_or(0.0);
        self.perplexity = perplexity(self.loss);
        self.answer_perplexity = mean(answer_loss, answers).map(perplexity);
        self.curve = (0..PARTS)
            .map(|part| {
                let parts = self.texts.iter().filter_map(|text| text.curve.get(part));
                let (count, sum) = parts.fold((0, 0.0), |sum, part| (sum.0 + part.0, sum.1 + part.1));
                mean(sum, count)
            })
            .collect();
        let means: Vec<f64> = self.texts.iter().filter_map(|text| mean(text.loss, text.tokens)).collect();
        self.ci95 = student_half_width(&means).map(|half| [self.loss - half, self.loss + half].map(perplexity));
        self
    }
}

#[cfg(test)]
impl PerplexityCell {
    /// A cell without texts, for tests.
    pub(super) fn example() -> Self {
        Self {
            header: CellHeader {
                model: "m".into(),
                method: crate::positions::Method::Rope,
                extension: 1,
                beta: 1.0,
                beta_given: false,
                cut: None,
                parameters: crate::positions::Parameters::default(),
                fingerprint: String::new(),
            },
            context: 256,
            stride: 128,
            source: "1".into(),
            length: 2048,
            of_texts: 5,
            tokens: 0,
            loss: 0.0,
            perplexity: 0.0,
            ci95: None,
            answer_perplexity: None,
            curve: vec![],
            texts: vec![],
        }
    }
}
