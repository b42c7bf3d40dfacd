//! The format of perplexities in results files, and how shards of them merge.

use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, StudentsT};

use crate::error::{Error, Result};
use crate::positions::Method;
use crate::results::{Reading, ResultCell, SEED, is_false, rounded};

/// Sums of one text.
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
    /// Sum of theirs.
    pub answer_loss: f64,
    /// Tokens and summed cross entropy of each of [`PARTS`] equal parts of the first window.
    pub curve: Vec<(usize, f64)>,
}

impl TextLoss {
    /// The same with sums in whole millionths, which survive being written as text and read again.
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
    /// Name of the model's folder.
    pub model: String,
    /// Position method.
    pub method: Method,
    /// s.
    pub extension: usize,
    /// s·C tokens: the window.
    pub context: usize,
    /// Tokens from window to window.
    pub stride: usize,
    /// Seed of the texts, or the name of their file.
    pub source: String,
    /// Temperature of the logits.
    pub beta: f64,
    /// Whether that temperature was asked for and replaced the model's own, its `head_scales` included.
    #[serde(default, skip_serializing_if = "is_false")]
    pub beta_given: bool,
    /// Cut of a partial drop, where another than the model's own was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut: Option<f64>,
    /// What the model and its reading are; empty in results from before there was one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub fingerprint: String,
    /// Tokens of each text.
    #[serde(default)]
    pub length: usize,
    /// How many texts there are, those of other shards included.
    #[serde(default)]
    pub of_texts: usize,
    /// Predicted tokens.
    pub tokens: usize,
    /// Mean cross entropy in nats.
    pub loss: f64,
    /// e to the loss.
    pub perplexity: f64,
    /// 95 % interval of the perplexity: Student's, over the texts' means; none of a single text.
    pub ci95: Option<[f64; 2]>,
    /// Perplexity of answers alone, where it is known which tokens those are.
    pub answer_perplexity: Option<f64>,
    /// Mean loss in each part of the first windows; `None` where no token was predicted.
    pub curve: Vec<Option<f64>>,
    /// What the numbers above are made of, in the order of the texts.
    pub texts: Vec<TextLoss>,
}

impl ResultCell for PerplexityCell {
    fn reading(&self) -> Reading<'_> {
        Reading {
            model: &self.model,
            method: self.method,
            extension: self.extension,
            beta: self.beta,
            beta_given: self.beta_given,
            cut: self.cut,
            heads: None,
            fingerprint: &self.fingerprint,
        }
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

impl PerplexityCell {
    /// The same with every number computed from its texts, whatever their order was.
    #[must_use]
    pub fn scored(mut self) -> Self {
        self.texts.sort_by_key(|text| text.index);
        let mean = |sum: f64, count: usize| (count > 0).then(|| rounded(sum / count as f64));
        let total = |part: fn(&TextLoss) -> (usize, f64)| {
            self.texts.iter().map(part).fold((0, 0.0), |sum, text| (sum.0 + text.0, sum.1 + text.1))
        };
        let (tokens, loss) = total(|text| (text.tokens, text.loss));
        let (answers, answer_loss) = total(|text| (text.answers, text.answer_loss));
        self.tokens = tokens;
        self.loss = mean(loss, tokens).unwrap_or(0.0);
        self.perplexity = rounded(self.loss.exp());
        self.answer_perplexity = mean(answer_loss, answers).map(|loss| rounded(loss.exp()));
        self.curve = (0..PARTS)
            .map(|part| {
                let parts = self.texts.iter().filter_map(|text| text.curve.get(part));
                let (count, sum) = parts.fold((0, 0.0), |sum, part| (sum.0 + part.0, sum.1 + part.1));
                mean(sum, count)
            })
            .collect();
        let means: Vec<f64> = self.texts.iter().filter_map(|text| mean(text.loss, text.tokens)).collect();
        self.ci95 = half_width(&means).map(|half| [self.loss - half, self.loss + half].map(|loss| rounded(loss.exp())));
        self
    }
}

/// Half of the 95 % interval of a mean, by Student's t; `None` for fewer than two numbers.
fn half_width(numbers: &[f64]) -> Option<f64> {
    let freedom = numbers.len().checked_sub(2)? as f64 + 1.0;
    let mean = numbers.iter().sum::<f64>() / numbers.len() as f64;
    let variance = numbers.iter().map(|number| (number - mean).powi(2)).sum::<f64>() / freedom;
    let t = StudentsT::new(0.0, 1.0, freedom).ok()?.inverse_cdf(0.975);
    Some(t * (variance / numbers.len() as f64).sqrt())
}

/// How far the perplexity of `ours` lies above that of `other` on the same texts, as a share (0.02 is 2 %), and the 95 %
/// interval of that: Student's, over the texts' differences. It is far narrower than the two cells' own intervals tell,
/// because texts differ more than models do.
///
/// `None` where they did not read the same texts, or fewer than two.
pub fn excess(ours: &PerplexityCell, other: &PerplexityCell) -> Option<(f64, [f64; 2])> {
    let texts = |cell: &PerplexityCell| cell.texts.iter().map(|text| (text.index, text.tokens)).collect::<Vec<_>>();
    if (&ours.source, ours.length, texts(ours)) != (&other.source, other.length, texts(other)) {
        return None;
    }
    let mean = |text: &TextLoss| text.loss / text.tokens as f64;
    let differences: Vec<f64> = ours.texts.iter().zip(&other.texts).map(|(a, b)| mean(a) - mean(b)).collect();
    let half = half_width(&differences)?;
    let middle = differences.iter().sum::<f64>() / differences.len() as f64;
    Some((middle.exp_m1(), [middle - half, middle + half].map(f64::exp_m1)))
}

/// Joins the shards of each cell; the numbers are those of a run that was not shared out.
///
/// # Errors
/// If a text of a cell is missing or there twice.
pub fn merge(cells: Vec<PerplexityCell>) -> Result<Vec<PerplexityCell>> {
    let mut merged: Vec<PerplexityCell> = Vec::new();
    for cell in cells {
        match merged.iter_mut().find(|first| first.same_measurement(&cell) && first.of_texts == cell.of_texts) {
            Some(first) => first.texts.extend(cell.texts),
            None => merged.push(cell),
        }
    }
    let whole = |cell: PerplexityCell| {
        let cell = cell.scored();
        let indices: Vec<usize> = cell.texts.iter().map(|text| text.index).collect();
        if !indices.iter().copied().eq(0..cell.of_texts) {
            let name = format!("{} {} {}x", cell.model, cell.method.name(), cell.extension);
            return Err(Error::Texts { cell: name, found: format!("{indices:?}") });
        }
        Ok(cell)
    };
    merged.into_iter().map(whole).collect()
}

#[cfg(test)]
mod tests {
    use super::{PerplexityCell, TextLoss, excess, half_width, merge};
    use crate::positions::Method;
    use crate::results::ResultCell;

    #[test]
    fn means_have_students_interval() {
        // Standard error 1; t for 97.5 % at 3 degrees of freedom is 3.182446.
        let half = half_width(&[-1.5, -1.5, 1.5, 1.5]).unwrap();
        assert!((half - 3.182_446 * 3f64.sqrt() / 2.0).abs() < 1e-5, "{half}");
        assert_eq!(half_width(&[1.0]), None);
    }

    #[test]
    fn texts_are_compared_one_by_one() {
        let cell = |losses: [f64; 3]| {
            let text = |(index, loss)| TextLoss { index, tokens: 100, loss, ..TextLoss::default() };
            PerplexityCell { texts: losses.into_iter().enumerate().map(text).collect(), ..blank() }
        };
        // The texts are far apart, the models are not: 0.01 nats a token more, in one text 0.02.
        let (share, [low, high]) = excess(&cell([101.0, 202.0, 301.0]), &cell([100.0, 200.0, 300.0])).unwrap();
        assert!((share - (0.04f64 / 3.0).exp_m1()).abs() < 1e-12);
        // t for 97.5 % at 2 degrees of freedom is 4.302653; the standard error is 1/300.
        assert!((low.ln_1p() - (0.04 - 0.04302653) / 3.0).abs() < 1e-7 && low < share && share < high);
        let other = PerplexityCell { source: "another".into(), ..cell([1.0; 3]) };
        assert_eq!(excess(&other, &cell([1.0; 3])), None);
    }

    fn blank() -> PerplexityCell {
        PerplexityCell {
            model: "m".into(),
            method: Method::Rope,
            extension: 1,
            context: 256,
            stride: 128,
            source: "1".into(),
            beta: 1.0,
            beta_given: false,
            cut: None,
            fingerprint: String::new(),
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

    #[test]
    fn totals_do_not_depend_on_the_shards() {
        let text = |index: usize| TextLoss {
            index,
            tokens: 10 + index,
            loss: 7.1 * index as f64 / 3.0,
            answers: 2,
            answer_loss: 0.1 * index as f64,
            curve: vec![(1, 0.3); 16],
        };
        let cell =
            |texts: &[usize]| PerplexityCell { texts: texts.iter().map(|&index| text(index)).collect(), ..blank() };
        let whole = merge(vec![cell(&[0, 1, 2, 3, 4])]).unwrap();
        assert_eq!(merge(vec![cell(&[4, 1]), cell(&[0, 3]), cell(&[2])]).unwrap(), whole);
        assert!((whole[0].perplexity - (7.1f64 * 10.0 / 3.0 / 60.0).exp()).abs() < 1e-8);
        let [low, high] = whole[0].ci95.unwrap();
        assert!(low < whole[0].perplexity && whole[0].perplexity < high);
        // A gap, a text twice, the last one missing.
        assert!(merge(vec![cell(&[0, 2, 3, 4])]).is_err() && merge(vec![cell(&[0, 1, 2, 3, 4]), cell(&[1])]).is_err());
        assert!(merge(vec![cell(&[0, 1, 2, 3])]).is_err());
        assert_eq!(cell(&[3]).scored().ci95, None);
        // Other texts are another cell, and so is another model.
        let other =
            [PerplexityCell { length: 512, ..cell(&[0]) }, PerplexityCell { fingerprint: "b".into(), ..cell(&[0]) }];
        assert!(other.iter().all(|other| !other.same_measurement(&cell(&[0]))));
        assert!(cell(&[1]).same_measurement(&cell(&[0])));
    }
}
