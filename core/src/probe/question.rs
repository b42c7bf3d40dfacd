//! The tokens of each sentence of a question, and the attention that every head gives them.

use std::ops::Range;

use super::attention::{AttentionStatistics, attention};
use super::head::{HeadProbe, PARTS, entropy, mass};
use crate::config::Config;
use crate::error::Result;
use crate::generate::{Flow, prompt_room};
use crate::model::Model;
use crate::niah::{Sample, SentenceKind};
use crate::positions::Positions;
use crate::tokenizer::Tokenizer;

/// A question as tokens.
pub struct TokenizedSample {
    /// Tokens of the prompt.
    pub ids: Vec<u32>,
    /// Tokens of each sentence of the haystack.
    pub sentences: Vec<(Range<usize>, SentenceKind)>,
    /// Tokens after the haystack.
    pub question: usize,
    /// How many of those a chat template wrote behind the question.
    pub template: usize,
}

impl TokenizedSample {
    /// Finds the sentences. `chat_affixes` is what a chat template writes around the prompt.
    ///
    /// # Errors
    /// If the tokenizer fails.
    pub fn new(sample: &Sample, tokenizer: &Tokenizer, chat_affixes: Option<[&str; 2]>) -> Result<Self> {
        let prompt = sample.prompt();
        let (ids, spans) = match chat_affixes {
            None => tokenizer.prompt_with_spans(&prompt)?,
            Some([before, behind]) => tokenizer.encode_with_spans(&[before, &prompt, behind].concat())?,
        };
        let before = chat_affixes.map_or(0, |[before, _]| before.len());
        // Added tokens have empty spans.
        let start = spans.iter().take_while(|span| span.is_empty() || span.end <= before).count();
        let (mut text, mut sentences, mut from) = (String::new(), Vec::new(), start);
        for sentence in &sample.haystack {
            sentence.join(&mut text);
            // A token belongs to the sentence that its last byte is in.
            let to = from + spans[from..].partition_point(|span| span.end <= before + text.len());
            sentences.push((from..to, sentence.kind));
            from = to;
        }
        let end = before + prompt.len();
        let template = spans[from..].iter().rev().take_while(|span| span.end > end || span.is_empty()).count();
        Ok(Self { question: ids.len() - from, template, ids, sentences })
    }

    /// The tokens that a method reads if it is given at most `crop_length` tokens, the answer included
    /// ([`Method::crop_length`](crate::positions::Method::crop_length)): the first one and the last ones.
    #[must_use]
    pub fn cropped(mut self, crop_length: Option<usize>, max_new_tokens: usize) -> Self {
        let room = prompt_room(crop_length, max_new_tokens).max(self.question + 1);
        let dropped = self.ids.len().saturating_sub(room);
        self.ids.drain(1..1 + dropped);
        for (at, _) in &mut self.sentences {
            *at = at.start.max(dropped + 1) - dropped..at.end.max(dropped + 1) - dropped;
        }
        self
    }

    /// Share of a query's attention that falls on sentences of a kind.
    fn attention_on(&self, kind: SentenceKind, weights: &[f32]) -> f64 {
        let of_kind = self.sentences.iter().filter(|sentence| sentence.1 == kind);
        of_kind.map(|(at, _)| mass(weights, at, self.ids.len())).sum()
    }
}

/// Reads a question and summarises the attention of every head, layer after layer. Calls `observe` with the number of tokens read; `None` if it
/// stops.
///
/// # Errors
/// If an id is outside the vocabulary, or the device fails.
pub async fn probe_heads(
    model: &Model,
    config: &Config,
    positions: &Positions,
    marked: &TokenizedSample,
    observe: impl AsyncFnMut(usize) -> Flow,
) -> Result<Option<Vec<HeadProbe>>> {
    let tokens = marked.ids.len();
    let seen = attention(model, config, positions, &marked.ids, marked.question, observe).await?;
    let Some(AttentionStatistics { last, entropies, bias, spread }) = seen else { return Ok(None) };
    let mut probes = Vec::new();
    for (layer, heads) in last.iter().enumerate() {
        let window = positions.layer(layer).window.unwrap_or(usize::MAX);
        let bounds: Vec<f64> = (1..=tokens).map(|keys| (keys.min(window) as f64).ln()).collect();
        for (head, weights) in heads.iter().enumerate() {
            let query = &weights[weights.len() - 1];
            let on_needle = |query: &Vec<f32>| marked.attention_on(SentenceKind::Needle, query);
            let most = weights.iter().enumerate().max_by(|(_, a), (_, b)| on_needle(a).total_cmp(&on_needle(b)));
            let (place, of_question) = most.unwrap_or((weights.len() - 1, query));
            let of_sentences = |query: &[f32]| marked.sentences.iter().map(|(at, _)| mass(query, at, tokens)).collect();
            let entropies: Vec<f64> = entropies[layer][head].iter().map(|&nats| f64::from(nats)).collect();
            probes.push(HeadProbe {
                layer,
                head,
                needle: marked.attention_on(SentenceKind::Needle, query),
                needle_of_question: on_needle(of_question),
                token_from_end: (weights.len() - 1 - place).checked_sub(marked.template),
                sentences: of_sentences(of_question),
                sentences_of_last: of_sentences(query),
                distractors: marked.attention_on(SentenceKind::Distractor, query),
                distractors_of_question: marked.attention_on(SentenceKind::Distractor, of_question),
                decoys_of_question: marked.attention_on(SentenceKind::Decoy, of_question),
                first: mass(query, &(0..1), tokens),
                entropy: entropy(query),
                entropy_bound: bounds[tokens - 1],
                entropies: means_of_parts(&entropies),
                entropy_bounds: means_of_parts(&bounds),
                diagonal_bias: bias[layer][head][0],
                previous_bias: bias[layer][head][1],
                prefix_spread: spread[layer],
            });
        }
    }
    Ok(Some(probes))
}

/// Means of equal parts of a text of at least as many tokens.
fn means_of_parts(numbers: &[f64]) -> Vec<f64> {
    let part = |index: usize| {
        let numbers = &numbers[index * numbers.len() / PARTS..(index + 1) * numbers.len() / PARTS];
        numbers.iter().sum::<f64>() / numbers.len().max(1) as f64
    };
    (0..PARTS).map(part).collect()
}
