//! Needles in a haystack of prose, and questions for them at the end.

use rand::{Rng, RngExt, seq::SliceRandom};

use super::facts::{ask, state};
use super::repeated::repeated_pieces;
use super::{DocumentMix, Piece};
use crate::language::{Key, MIN_WORDS, Needle, Split, Values, ask_all, ask_two, list, prose};

/// Needles that one question asks for, as text.
struct NeedleGroup {
    /// In the order in which they stand in the document.
    needles: Vec<String>,
    question: String,
    answer: String,
}

/// A sentence of a haystack.
enum HaystackSlot {
    Prose(String),
    /// The next needle of the group of this index.
    NeedleOf(usize),
}

/// Pieces of at most `budget` tokens.
pub(super) fn retrieval_pieces(
    rng: &mut impl Rng,
    budget: usize,
    mix: &DocumentMix,
    count: &impl Fn(&str) -> usize,
) -> Vec<Piece> {
    let most = if rng.random_bool(mix.full) { mix.max_needles } else { rng.random_range(1..=mix.max_needles) };
    let asks_all = rng.random_bool(mix.all_asked);
    let mut keys = Key::distinct(rng, Split::Training, most).into_iter();
    // For every needle the index of its group; for every group its needles in the order of the text.
    let mut group_of_needle: Vec<usize> = Vec::new();
    let mut needles_of_group: Vec<std::vec::IntoIter<String>> = Vec::new();
    let mut asked: Vec<Piece> = Vec::new();
    let mut left = budget;
    while let Some(group) = draw_group(rng, &mut keys, mix, most - group_of_needle.len()) {
        let tokens_of_needles: usize = group.needles.iter().map(|needle| count(needle)).sum();
        let tokens_of_question = count(&group.question) + count(&group.answer);
        // The first question is always asked; a needle that is not queried costs fewer tokens.
        let is_asked = asked.is_empty() || asks_all || rng.random_bool(0.3);
        let cost = tokens_of_needles + if is_asked { tokens_of_question } else { 0 };
        // A rest that is too small for a sentence could not be filled.
        if cost > left || (1..=MIN_WORDS).contains(&(left - cost)) {
            break;
        }
        left -= cost;
        group_of_needle.extend(std::iter::repeat_n(needles_of_group.len(), group.needles.len()));
        needles_of_group.push(group.needles.into_iter());
        if is_asked {
            let at = 2 * rng.random_range(0..=asked.len() / 2);
            asked.splice(at..at, [Piece::question(group.question), Piece::answer(group.answer)]);
        }
    }
    if asked.is_empty() {
        return repeated_pieces(rng, budget, count);
    }
    let mut haystack: Vec<HaystackSlot> = prose(rng, left, count).into_iter().map(HaystackSlot::Prose).collect();
    for group in group_of_needle {
        let at = rng.random_range(0..=haystack.len());
        haystack.insert(at, HaystackSlot::NeedleOf(group));
    }
    let sentences = haystack.into_iter().map(|slot| match slot {
        HaystackSlot::Prose(text) => Piece::prose(text),
        HaystackSlot::NeedleOf(group) => Piece::needle(needles_of_group[group].next().unwrap_or_default()),
    });
    sentences.chain(asked).collect()
}

/// The next group, of at most `most` needles; `None` when the keys or needles are used up.
fn draw_group(
    rng: &mut impl Rng,
    keys: &mut impl Iterator<Item = Key>,
    mix: &DocumentMix,
    most: usize,
) -> Option<NeedleGroup> {
    if most == 0 {
        return None;
    }
    let values = if rng.random_bool(mix.words) { Values::Words } else { Values::Numbers };
    let needle = |rng: &mut _, key| Needle { key, value: values.random(rng, Values::DIGITS) };
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
        let more = rng.random_range(1..most.min(4));
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
