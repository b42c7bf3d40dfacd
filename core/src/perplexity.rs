//! How well a model predicts texts.

use std::ops::Range;

use burn::tensor::{Int, Tensor, TensorData, activation::log_softmax};

use serde::{Deserialize, Serialize};

use crate::config::Config;
use crate::error::{Error, Result};
use crate::generate::CHUNK;
use crate::model::{Cache, Model};
use crate::positions::Positions;
use crate::results::rounded;
use crate::stats::half_width;

/// Cross entropy in nats of each token but the first, given all before it. Perplexity is exp of the mean.
///
/// # Errors
/// If there are fewer than two tokens, one is outside the vocabulary, or the device fails.
pub async fn token_losses(model: &Model, config: &Config, positions: &Positions, ids: &[u32]) -> Result<Vec<f32>> {
    if ids.len() < 2 {
        return Err(Error::Zero("the number of tokens to predict"));
    }
    if let Some(&id) = ids.iter().find(|&&id| id as usize >= config.vocab_size) {
        return Err(Error::TokenId { id, vocab_size: config.vocab_size });
    }
    let device = model.device();
    let tensor = |ids: &[u32], shape: [usize; 2]| {
        let values: Vec<i32> = ids.iter().map(|&id| id as i32).collect();
        Tensor::<2, Int>::from_data(TensorData::new(values, shape), &device)
    };
    let mut cache = Cache::new(config, positions, ids.len(), &device);
    let mut losses = Vec::with_capacity(ids.len() - 1);
    let (inputs, targets) = (&ids[..ids.len() - 1], &ids[1..]);
    for (input, target) in inputs.chunks(CHUNK).zip(targets.chunks(CHUNK)) {
        let seq = input.len();
        let logits = model.forward(tensor(input, [1, seq]), positions, Some(&mut cache)); // [1, seq, vocab]
        let log_probabilities = log_softmax(logits.reshape([seq, config.vocab_size]), 1);
        let chosen = log_probabilities.gather(1, tensor(target, [seq, 1]));
        let data = chosen.into_data_async().await.map_err(|error| Error::Device(error.to_string()))?;
        losses.extend(data.iter::<f32>().map(|log_probability| -log_probability));
    }
    Ok(losses)
}

/// A stretch of a text that is read at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Window {
    /// Tokens that are read.
    pub read: Range<usize>,
    /// Tokens whose losses count: those that no window before has counted.
    pub counted: Range<usize>,
}

/// Windows of at most `window` tokens, each `stride` further, until every token but the first is counted once.
///
/// A counted token has at least `window − stride` tokens before it, or all that there are.
///
/// # Errors
/// If the stride is 0 or not shorter than the window: the first token of a window is never predicted.
pub fn windows(tokens: usize, window: usize, stride: usize) -> Result<Vec<Window>> {
    if stride == 0 {
        return Err(Error::Zero("the stride"));
    }
    if stride >= window {
        return Err(Error::Stride { stride, window });
    }
    let mut windows: Vec<Window> = Vec::new();
    let mut counted = 1;
    while counted < tokens {
        let end = if windows.is_empty() { window.min(tokens) } else { (counted + stride).min(tokens) };
        windows.push(Window { read: end.saturating_sub(window)..end, counted: counted..end });
        counted = end;
    }
    Ok(windows)
}

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
    /// Name of the position method.
    pub method: String,
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

impl PerplexityCell {
    /// Whether the other is of the same texts, up to the shard.
    pub fn is_of(&self, other: &Self) -> bool {
        // What was measured does not matter, all that was asked for does.
        let asked = |cell: &Self| Self { texts: Vec::new(), ..cell.clone() }.scored();
        asked(self) == asked(other)
    }

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
        (self.beta, self.cut) = (rounded(self.beta), self.cut.map(rounded));
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

/// Joins the shards of each cell; the numbers are those of a run that was not shared out.
///
/// # Errors
/// If a text of a cell is missing or there twice.
pub fn merge(cells: Vec<PerplexityCell>) -> Result<Vec<PerplexityCell>> {
    let mut merged: Vec<PerplexityCell> = Vec::new();
    for cell in cells {
        match merged.iter_mut().find(|first| first.is_of(&cell)) {
            Some(first) => first.texts.extend(cell.texts),
            None => merged.push(cell),
        }
    }
    let whole = |cell: PerplexityCell| {
        let cell = cell.scored();
        let indices: Vec<usize> = cell.texts.iter().map(|text| text.index).collect();
        if !indices.iter().copied().eq(0..cell.of_texts) {
            let name = format!("{} {} {}x", cell.model, cell.method, cell.extension);
            return Err(Error::Texts { cell: name, found: format!("{indices:?}") });
        }
        Ok(cell)
    };
    merged.into_iter().map(whole).collect()
}

#[cfg(test)]
mod tests {
    use super::{PerplexityCell, TextLoss, merge, windows};

    #[test]
    fn windows_count_every_token_once_with_enough_before_it() {
        for (tokens, window, stride) in [(100, 10, 3), (100, 10, 9), (7, 10, 5), (10, 10, 1), (11, 10, 4), (2, 2, 1)] {
            let windows = windows(tokens, window, stride).unwrap();
            let counted: Vec<usize> = windows.iter().flat_map(|window| window.counted.clone()).collect();
            assert!(counted.into_iter().eq(1..tokens), "{tokens} {window} {stride}");
            for part in windows {
                assert!(part.read.len() <= window && part.read.end == part.counted.end);
                let before = part.counted.start - part.read.start;
                assert!(before >= 1 && (part.read.start == 0 || before >= window - stride));
            }
        }
        assert!(windows(10, 4, 0).is_err() && windows(10, 4, 4).is_err() && windows(10, 1, 1).is_err());
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
        let cell = |texts: &[usize]| PerplexityCell {
            model: "m".into(),
            method: "rope".into(),
            extension: 1,
            context: 256,
            stride: 128,
            source: "1".into(),
            beta: 1.0,
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
            texts: texts.iter().map(|&index| text(index)).collect(),
        };
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
        assert!(other.iter().all(|other| !other.is_of(&cell(&[0]))) && cell(&[1]).is_of(&cell(&[0])));
    }
}
