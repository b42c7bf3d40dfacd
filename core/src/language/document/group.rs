//! Needles that one question asks for.

use rand::{Rng, RngExt, seq::SliceRandom};

use super::DocumentMix;
use super::facts::{ask, state};
use crate::language::{Key, Needle, ask_all, ask_latest, ask_one, ask_two, chain, list};

/// Most links of a chain, and most values of a key.
const LONGEST: usize = 4;

/// Needles that one question asks for, as text.
pub(super) struct NeedleGroup {
    /// In the order in which they stand in the document.
    pub needles: Vec<String>,
    pub question: String,
    pub answer: String,
}

/// What the questions of a document are about.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// One key, two keys, or all values of a key, in prose.
    Facts,
    /// One key, among needles alone.
    NeedlesOnly,
    /// The value at the end of a chain.
    Tracking,
    /// The latest value of a key.
    Latest,
}

impl Form {
    pub(super) fn draw(rng: &mut impl Rng, mix: &DocumentMix) -> Self {
        let shares = [mix.needles_only, mix.tracking, mix.latest];
        if shares == [0.0; 3] {
            return Self::Facts;
        }
        let mut at = rng.random::<f64>();
        for (form, share) in [Self::NeedlesOnly, Self::Tracking, Self::Latest].into_iter().zip(shares) {
            if at < share {
                return form;
            }
            at -= share;
        }
        Self::Facts
    }

    /// Most keys of a question.
    pub(super) fn most_keys(self) -> usize {
        if self == Self::Tracking { LONGEST + 1 } else { 1 }
    }

    /// The next group; `None` when the keys are used up. Of facts it has at most `most` needles.
    pub(super) fn group(
        self,
        rng: &mut impl Rng,
        keys: &mut impl Iterator<Item = Key>,
        mix: &DocumentMix,
        most: usize,
    ) -> Option<NeedleGroup> {
        match self {
            Self::Facts | Self::NeedlesOnly => facts(rng, keys, mix, most),
            Self::Tracking => tracking(rng, keys, mix),
            Self::Latest => latest(rng, keys, mix),
        }
    }
}

fn facts(
    rng: &mut impl Rng,
    keys: &mut impl Iterator<Item = Key>,
    mix: &DocumentMix,
    most: usize,
) -> Option<NeedleGroup> {
    let (values, digits) = mix.values(rng);
    let needle = |rng: &mut _, key| Needle { key, value: values.random(rng, digits) };
    let first = needle(rng, keys.next()?);
    let kind = rng.random::<f64>();
    let has_several_keys = kind < mix.multi_query;
    let (needles, question) = if most == 1 || kind >= mix.multi_query + mix.multi_value {
        let question = ask(rng, &first, mix);
        (vec![first], question)
    } else if has_several_keys {
        let second = needle(rng, keys.next()?);
        let question = ask_two(&first, &second);
        (vec![first, second], question)
    } else {
        let (key, question) = (first.key, ask_all(&first));
        let more = rng.random_range(1..most.min(LONGEST));
        (std::iter::once(first).chain((0..more).map(|_| needle(rng, key))).collect(), question)
    };
    let values: Vec<&str> = needles.iter().map(|needle| needle.value.as_str()).collect();
    let answer = format!("{}.", list(&values));
    let mut needles: Vec<String> =
        needles.iter().map(|needle| format!("{} {}.", state(rng, needle, mix), needle.value)).collect();
    // The question names its two keys in any order; the values of one key are listed in the order of the text.
    if has_several_keys {
        needles.shuffle(rng);
    }
    Some(NeedleGroup { needles, question, answer })
}

/// A chain of 1 to 4 links. Its question is never in the short form, which would ask for what stands next to the key.
fn tracking(rng: &mut impl Rng, keys: &mut impl Iterator<Item = Key>, mix: &DocumentMix) -> Option<NeedleGroup> {
    let hops = rng.random_range(1..=LONGEST);
    let keys: Vec<Key> = keys.take(hops + 1).collect();
    let (values, digits) = mix.values(rng);
    let value = values.random(rng, digits);
    let needles = chain(&keys, &value);
    let end = Needle { key: *keys.last()?, value };
    Some(NeedleGroup { needles, question: ask_one(&end), answer: format!("{}.", end.value) })
}

/// 2 to 4 values of one key. Half of the groups are in the short form, so that more fit.
fn latest(rng: &mut impl Rng, keys: &mut impl Iterator<Item = Key>, mix: &DocumentMix) -> Option<NeedleGroup> {
    let key = keys.next()?;
    let (values, digits) = mix.values(rng);
    let is_short = rng.random_bool(0.5);
    let count = rng.random_range(2..=LONGEST);
    let needles: Vec<Needle> = (0..count).map(|_| Needle { key, value: values.random(rng, digits) }).collect();
    let last = needles.last()?;
    let (question, answer) = (ask_latest(last), format!("{}.", last.value));
    let sentence = |needle: &Needle| if is_short { needle.short_sentence() } else { needle.sentence() };
    Some(NeedleGroup { needles: needles.iter().map(sentence).collect(), question, answer })
}
