//! Whether the attention of one head decides on an answer: in a long text it is replaced by what it is in a short one with the same question
//! (activation patching; Wang et al. 2023, arXiv 2211.00593).

use burn::tensor::{Int, Tensor};
use rand::Rng;
use rand::seq::SliceRandom;

use super::TokenizedSample;
use crate::config::Config;
use crate::error::{Error, Result};
use crate::generate::Flow;
use crate::model::{AttentionPatch, Model, token_ids};
use crate::niah::Sample;
use crate::positions::Positions;
use crate::read_back::numbers;
use crate::tokenizer::Tokenizer;

/// A question in a long text, and in a short one that has its needles and some of its filler.
pub struct QuestionPair {
    /// Tokens of prompt and answer.
    long: Vec<u32>,
    short: Vec<u32>,
    /// Where each token of the short text stands in the long one.
    places: Vec<usize>,
    /// Tokens of the answer.
    answer: usize,
}

/// Which readings of a question give its answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatchedAnswers {
    /// The short text.
    pub short: bool,
    /// The long text.
    pub long: bool,
    /// The long text in which a head attends as in the short one: each head, layer after layer.
    pub heads: Vec<bool>,
}

impl QuestionPair {
    /// Takes filler from a question until prompt and answer have at most `tokens` tokens.
    ///
    /// # Errors
    /// If the tokenizer fails, or splits a sentence differently in the two texts.
    pub fn new(rng: &mut impl Rng, sample: &Sample, tokenizer: &Tokenizer, tokens: usize) -> Result<Self> {
        let answer = tokenizer.encode(&format!(" {}", sample.expected()))?;
        let long = TokenizedSample::new(sample, tokenizer, None)?;
        let lengths: Vec<usize> = long.sentences.iter().map(|(at, _)| at.len()).collect();
        let mut filler: Vec<usize> = (0..lengths.len()).filter(|&index| long.sentences[index].1.is_filler()).collect();
        let of_filler = filler.iter().map(|&index| lengths[index]).sum::<usize>();
        let mut left = tokens.saturating_sub(long.ids.len() + answer.len() - of_filler);
        // The first sentence follows no space, for which a tokenizer may split it differently: it stays where it is.
        filler.shuffle(rng);
        filler.sort_by_key(|&index| index != 0);
        let mut stays: Vec<bool> = long.sentences.iter().map(|(_, kind)| !kind.is_filler()).collect();
        for index in filler {
            if lengths[index] <= left {
                left -= lengths[index];
                stays[index] = true;
            }
        }
        let kept =
            sample.haystack.iter().zip(&stays).filter(|(_, stays)| **stays).map(|(sentence, _)| sentence.clone());
        let short = TokenizedSample::new(&Sample { haystack: kept.collect(), ..sample.clone() }, tokenizer, None)?;
        let before = long.sentences.first().map_or(0, |(at, _)| at.start);
        let of_sentences =
            long.sentences.iter().zip(&stays).filter(|(_, stays)| **stays).flat_map(|((at, _), _)| at.clone());
        let question = long.ids.len() - long.question..long.ids.len() + answer.len();
        let places: Vec<usize> = (0..before).chain(of_sentences).chain(question).collect();
        let [long, short] = [long.ids, short.ids].map(|ids| [ids, answer.clone()].concat());
        if places.iter().map(|&place| long[place]).ne(short.iter().copied()) {
            return Err(Error::Question(
                "the tokenizer splits sentences differently in a shorter text; use a model whose tokens are whole words".into(),
            ));
        }
        Ok(Self { long, short, places, answer: answer.len() })
    }

    /// Tokens of the long text, and of the short one.
    pub fn tokens(&self) -> [usize; 2] {
        [self.long.len(), self.short.len()]
    }

    /// Reads both texts, and the long one once more for every head. An answer counts where each of its tokens is the most probable one behind
    /// those before it, which is where greedy decoding gives it. Calls `observe` after every reading; `None` if it stops.
    ///
    /// # Errors
    /// If an id is outside the vocabulary, or the device fails.
    pub async fn answers(
        &self,
        model: &Model,
        config: &Config,
        [short, long]: [&Positions; 2],
        mut observe: impl AsyncFnMut() -> Flow,
    ) -> Result<Option<PatchedAnswers>> {
        config.check_ids(&self.long)?;
        let device = model.device();
        let ids = |ids: &[u32]| -> Tensor<2, Int> { token_ids(ids, [1, ids.len()], &device) };
        let patterns = model.capture(ids(&self.short), short, None).attention;
        let mut found = PatchedAnswers {
            short: self.is_right(model, model.hidden(ids(&self.short), short, None)).await?,
            long: self.is_right(model, model.hidden(ids(&self.long), long, None)).await?,
            heads: Vec::new(),
        };
        for (layer, pattern) in patterns.into_iter().enumerate() {
            let pattern = numbers(pattern).await?;
            for (head, pattern) in pattern.chunks(self.short.len() * self.short.len()).enumerate() {
                let patch = AttentionPatch::new([layer, head], pattern, &self.places, self.long.len(), &device);
                let hidden = model.hidden_patched(ids(&self.long), long, vec![patch]);
                found.heads.push(self.is_right(model, hidden).await?);
                if observe().await == Flow::Stop {
                    return Ok(None);
                }
            }
        }
        Ok(Some(found))
    }

    /// Whether the residual stream of a text, `[1, seq, hidden]`, leads to the answer.
    async fn is_right(&self, model: &Model, hidden: Tensor<3>) -> Result<bool> {
        let seq = hidden.dims()[1];
        let before_answer = hidden.slice_dim(1, seq - self.answer - 1..seq - 1);
        let likeliest = model.logits(before_answer).argmax(2).into_data_async().await; // [1, answer, 1]
        let likeliest = likeliest.map_err(|error| Error::Device(error.to_string()))?;
        let answer = self.long[self.long.len() - self.answer..].iter().map(|&id| i64::from(id));
        Ok(likeliest.iter::<i64>().eq(answer))
    }
}
