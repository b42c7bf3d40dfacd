//! Documents to train on: prose, needles and, at the end, questions with their answers.

use rand::{Rng, RngExt, seq::SliceRandom};
use serde::{Deserialize, Serialize};

use super::key::{Key, Split};
use super::needle::{Needle, Values, ask_all, ask_one, ask_two, list};
use super::passkey;
use super::prose::prose;

/// Token ids, and how much each counts in the loss when it is the one to be predicted.
#[derive(Clone, Debug, PartialEq)]
pub struct Document {
    /// Begins with the beginning-of-text token.
    pub ids: Vec<u32>,
    /// As long as `ids`.
    pub weights: Vec<f32>,
    /// As long as `ids`: how often attention counts each token ([`DocumentMix::max_copies`]).
    pub copies: Vec<f32>,
}

/// Shares of the kinds of documents. Retrieval is learned only where questions are dense:
/// with one question a document a model copies *some* value and never binds key to value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DocumentMix {
    /// Documents in which a stretch of prose is repeated; induction heads form sooner.
    pub repeat: f64,
    /// Among the others, those with as many questions as fit.
    pub full: f64,
    /// Those in which every needle is asked for.
    pub all_asked: f64,
    /// Questions for two keys at once.
    pub multi_query: f64,
    /// Keys with several values.
    pub multi_value: f64,
    /// Values that are words; the rest are numbers.
    pub words: f64,
    /// Most needles in a document.
    pub max_needles: usize,
    /// Documents of nothing but a few facts, each told over and over: nearly every token teaches to bind a key
    /// to its value.
    pub facts: f64,
    /// Needles, and questions, told tersely (`amber-acorn is: 1019.`, or without the `is:`): binding is learned first
    /// where the key stands next to the value.
    pub terse: f64,
    /// Most copies that attention counts of a sentence of prose (on average over a document; 1: none are simulated).
    ///
    /// Without positions a key that stands there m times gets e^{ln m} of its weight: m copies of the haystack's tokens
    /// cost ln m on their logits and no token. The needles then stand in a crowd as large as that of a longer text,
    /// though no document is longer than the context. The idea is PoSE's (Zhu et al. 2023, arXiv 2309.10400), which
    /// skips position ids, for a model that has none.
    pub max_copies: f64,
    /// Documents that hide a pass key and ask for it; above 0 the tokenizer knows their words.
    pub passkey: f64,
    /// Weight of prose in the loss: what comes next in it is mostly chance.
    pub prose_weight: f32,
    /// Weight of answer tokens in the loss; questions and needles have 1.
    pub answer_weight: f32,
}

impl Default for DocumentMix {
    fn default() -> Self {
        Self {
            repeat: 0.1,
            full: 0.6,
            all_asked: 0.7,
            multi_query: 0.08,
            multi_value: 0.08,
            words: 0.4,
            max_needles: 8,
            facts: 0.2,
            terse: 0.15,
            max_copies: 1.0,
            passkey: 0.0,
            prose_weight: 0.2,
            answer_weight: 4.0,
        }
    }
}

/// What a stretch of a document is; decides its weight in the loss.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Prose,
    Fact,
    Answer,
}

type Piece = (String, Kind);

/// A document of at most `tokens` tokens (exactly, with a tokenizer of one token a word).
///
/// `encode` gives the ids of a text that follows a space. Only keys of [`Split::Training`] occur.
pub fn training_document(
    rng: &mut impl Rng,
    tokens: usize,
    mix: &DocumentMix,
    bos: u32,
    encode: &impl Fn(&str) -> Vec<u32>,
) -> Document {
    let count = |text: &str| encode(text).len();
    // Drawn only where wanted, so that recipes without pass keys see the documents they always did.
    let pieces = if mix.passkey > 0.0 && rng.random_bool(mix.passkey) {
        hidden_pass_key(rng, tokens - 1, &count)
    } else if rng.random_bool(mix.facts) {
        facts(rng, tokens - 1, mix, &count)
    } else if rng.random_bool(mix.repeat) {
        repeated(rng, tokens - 1, &count)
    } else {
        retrieval(rng, tokens - 1, mix, &count)
    };
    let mut document = Document { ids: vec![bos], weights: vec![0.0], copies: vec![1.0] };
    // Drawn only where wanted, so that recipes without copies see the documents they always did.
    let mean_copies = if mix.max_copies > 1.0 { mix.max_copies.powf(rng.random()) } else { 1.0 };
    for (text, kind) in pieces {
        let ids = encode(&text);
        let weight = match kind {
            Kind::Prose => mix.prose_weight,
            Kind::Fact => 1.0,
            Kind::Answer => mix.answer_weight,
        };
        let copies = match kind {
            Kind::Prose if mean_copies > 1.0 => 1.0 + (mean_copies - 1.0) * rng.random_range(0.0..2.0),
            _ => 1.0,
        };
        document.weights.extend(std::iter::repeat_n(weight, ids.len()));
        document.copies.extend(std::iter::repeat_n(copies as f32, ids.len()));
        document.ids.extend(ids);
    }
    document.ids.truncate(tokens);
    document.weights.truncate(tokens);
    document.copies.truncate(tokens);
    document
}

/// Prose in which a stretch of sentences comes twice.
fn repeated(rng: &mut impl Rng, budget: usize, count: &impl Fn(&str) -> usize) -> Vec<Piece> {
    let mut sentences = prose(rng, budget, count);
    let start = rng.random_range(0..sentences.len().div_ceil(2));
    let end = rng.random_range(start + 1..=sentences.len().div_ceil(2).max(start + 1));
    let again: Vec<Piece> = sentences[start..end].iter().map(|text| (text.clone(), Kind::Fact)).collect();
    let at = rng.random_range(end..=sentences.len());
    let after = sentences.split_off(at);
    let prose = |sentences: Vec<String>| sentences.into_iter().map(|text| (text, Kind::Prose));
    // The caller cuts what is now too long.
    prose(sentences).chain(again).chain(prose(after)).collect()
}

/// A pass key in filler: the repeated sentences of the evaluation, prose, or both.
///
/// Short documents have no introduction, and the shortest no pass key.
fn hidden_pass_key(rng: &mut impl Rng, budget: usize, count: &impl Fn(&str) -> usize) -> Vec<Piece> {
    let pass_key = passkey::random(rng, Split::Training);
    let needle = passkey::sentence(&pass_key);
    let answer = format!("{pass_key}.");
    let asked = [(passkey::QUESTION.to_owned(), Kind::Fact), (answer.clone(), Kind::Answer)];
    let fixed = count(&needle) + count(passkey::QUESTION) + count(&answer);
    // A rest that is too small for a sentence could not be filled.
    let smallest = fixed + super::MIN_WORDS + 1;
    if budget < smallest {
        return repeated(rng, budget, count);
    }
    let introduction = count(passkey::INTRODUCTION);
    let has_introduction = budget >= smallest + introduction;
    let left = budget - fixed - if has_introduction { introduction } else { 0 };
    let mut filler = match rng.random_range(0..3) {
        0 => Vec::new(),
        1 => passkey::grass(left / 2, count),
        _ => passkey::grass(left, count),
    };
    let tokens = |filler: &[String]| filler.iter().map(|text| count(text)).sum::<usize>();
    while (1..=super::MIN_WORDS).contains(&(left - tokens(&filler))) {
        filler.pop();
    }
    let rest = left - tokens(&filler);
    for text in prose(rng, rest, count) {
        let at = rng.random_range(0..=filler.len());
        filler.insert(at, text);
    }
    let at = rng.random_range(0..=filler.len());
    let behind = filler.split_off(at);
    let prose = |sentences: Vec<String>| sentences.into_iter().map(|text| (text, Kind::Prose));
    has_introduction
        .then(|| (passkey::INTRODUCTION.to_owned(), Kind::Fact))
        .into_iter()
        .chain(prose(filler))
        .chain([(needle, Kind::Fact)])
        .chain(prose(behind))
        .chain(asked)
        .collect()
}

/// A few facts, told again and again in random order and form.
///
/// A fact is told as a needle, as a question with its answer, or tersely (`amber-acorn is: 1019.`); whatever the
/// forms, the value must be found by the key. This is what carries binding from the terse form, where it is
/// learned first, to RULER's long ones.
fn facts(rng: &mut impl Rng, budget: usize, mix: &DocumentMix, count: &impl Fn(&str) -> usize) -> Vec<Piece> {
    // So few that most come twice: the first time teaches nothing.
    let n = rng.random_range(2..=(budget / 16).min(mix.max_needles).max(2));
    let facts: Vec<Needle> = Key::distinct(rng, Split::Training, n)
        .into_iter()
        .map(|key| {
            let values = if rng.random_bool(mix.words) { Values::Words } else { Values::Numbers };
            Needle { key, value: values.random(rng, Values::DIGITS) }
        })
        .collect();
    let mut told = vec![false; n];
    let mut pieces = Vec::new();
    let mut used = 0;
    // The caller cuts the last one where the document is full.
    while used < budget {
        let index = rng.random_range(0..n);
        let fact = &facts[index];
        let opening = if rng.random_bool(0.5) { tell(rng, fact, mix) } else { ask(rng, fact, mix) };
        let answer = format!("{}.", fact.value);
        // A tokenizer that drops what it does not know must not go on for ever.
        used += (count(&opening) + count(&answer)).max(1);
        let kind = if std::mem::replace(&mut told[index], true) { Kind::Answer } else { Kind::Prose };
        pieces.push((opening, Kind::Fact));
        pieces.push((answer, kind));
    }
    pieces
}

/// Needles asked for together, as text.
struct Question {
    /// In the order in which they stand in the document.
    needles: Vec<String>,
    text: String,
    answer: String,
}

/// A sentence of a haystack whose needles are not in place yet.
enum Slot {
    Prose(String),
    /// The next needle of this question.
    NeedleOf(usize),
}

fn retrieval(rng: &mut impl Rng, budget: usize, mix: &DocumentMix, count: &impl Fn(&str) -> usize) -> Vec<Piece> {
    let most = if rng.random_bool(mix.full) { mix.max_needles } else { rng.random_range(1..=mix.max_needles) };
    let ask_every = rng.random_bool(mix.all_asked);
    let mut keys = Key::distinct(rng, Split::Training, most).into_iter();
    // For every needle, the index of its question; for every question, its needles in the order of the text.
    let mut needles: Vec<usize> = Vec::new();
    let mut told: Vec<std::vec::IntoIter<String>> = Vec::new();
    let mut asked: Vec<Piece> = Vec::new();
    let mut left = budget;
    while let Some(question) = draw_question(rng, &mut keys, mix, most - needles.len()) {
        let hidden: usize = question.needles.iter().map(|needle| count(needle)).sum();
        let (text, answer) = (question.text, question.answer);
        let spoken = count(&text) + count(&answer);
        // The first question is always asked; a needle that is not costs less room.
        let ask = asked.is_empty() || ask_every || rng.random_bool(0.3);
        let cost = hidden + if ask { spoken } else { 0 };
        // A rest that is too small for a sentence could not be filled.
        if cost > left || (1..=super::MIN_WORDS).contains(&(left - cost)) {
            break;
        }
        left -= cost;
        needles.extend(std::iter::repeat_n(told.len(), question.needles.len()));
        told.push(question.needles.into_iter());
        if ask {
            let at = 2 * rng.random_range(0..=asked.len() / 2);
            asked.splice(at..at, [(text, Kind::Fact), (answer, Kind::Answer)]);
        }
    }
    if asked.is_empty() {
        return repeated(rng, budget, count);
    }
    let mut haystack: Vec<Slot> = prose(rng, left, count).into_iter().map(Slot::Prose).collect();
    for question in needles {
        let at = rng.random_range(0..=haystack.len());
        haystack.insert(at, Slot::NeedleOf(question));
    }
    let sentences = haystack.into_iter().map(|slot| match slot {
        Slot::Prose(text) => (text, Kind::Prose),
        Slot::NeedleOf(question) => (told[question].next().unwrap_or_default(), Kind::Fact),
    });
    sentences.chain(asked).collect()
}

/// The next question, of at most `most` needles; `None` when the keys or needles are used up.
fn draw_question(
    rng: &mut impl Rng,
    keys: &mut impl Iterator<Item = Key>,
    mix: &DocumentMix,
    most: usize,
) -> Option<Question> {
    if most == 0 {
        return None;
    }
    let values = if rng.random_bool(mix.words) { Values::Words } else { Values::Numbers };
    let needle = |rng: &mut _, key| Needle { key, value: values.random(rng, Values::DIGITS) };
    let first = needle(rng, keys.next()?);
    let kind = rng.random::<f64>();
    let has_several_keys = kind < mix.multi_query;
    let (needles, text) = if most == 1 || kind >= mix.multi_query + mix.multi_value {
        let text = ask(rng, &first, mix);
        (vec![first], text)
    } else if has_several_keys {
        let second = needle(rng, keys.next()?);
        let text = ask_two(&first, &second);
        (vec![first, second], text)
    } else {
        let (key, text) = (first.key, ask_all(&first));
        let more = rng.random_range(1..most.min(4));
        (std::iter::once(first).chain((0..more).map(|_| needle(rng, key))).collect(), text)
    };
    let values: Vec<&str> = needles.iter().map(|needle| needle.value.as_str()).collect();
    let answer = format!("{}.", list(&values));
    let mut needles: Vec<String> =
        needles.iter().map(|needle| format!("{} {}.", tell(rng, needle, mix), needle.value)).collect();
    // The question names its two keys in any order; the values of one key are listed in the order of the text.
    if has_several_keys {
        needles.shuffle(rng);
    }
    Some(Question { needles, text, answer })
}

/// A needle up to its value, in one of its forms.
fn tell(rng: &mut impl Rng, needle: &Needle, mix: &DocumentMix) -> String {
    if rng.random_bool(mix.terse) { needle.short_opening(rng.random_bool(0.5)) } else { needle.opening() }
}

/// The question for a needle, in one of its forms.
fn ask(rng: &mut impl Rng, needle: &Needle, mix: &DocumentMix) -> String {
    if rng.random_bool(mix.terse) { needle.short_opening(rng.random_bool(0.5)) } else { ask_one(needle) }
}
