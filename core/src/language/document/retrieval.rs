//! Needles in a haystack, and questions for them at the end.

use rand::{Rng, RngExt};

use super::group::Form;
use super::needles_only::needle_pieces;
use super::repeated::repeated_pieces;
use super::{DocumentMix, Piece};
use crate::language::{Decoys, MIN_WORDS, prose_with};

/// A sentence of a haystack.
enum HaystackSlot {
    Prose(String),
    /// The next needle of the group of this index.
    NeedleOf(usize),
}

/// Pieces of at most `budget` tokens. A document of needles alone has at least `budget` tokens, and the caller
/// truncates it.
pub(super) fn retrieval_pieces(
    rng: &mut impl Rng,
    budget: usize,
    mix: &DocumentMix,
    count: &impl Fn(&str) -> usize,
) -> Vec<Piece> {
    let form = Form::draw(rng, mix);
    if form == Form::NeedlesOnly {
        return needle_pieces(rng, budget, mix, count);
    }
    let most = if rng.random_bool(mix.full) { mix.max_needles } else { rng.random_range(1..=mix.max_needles) };
    let asks_all = rng.random_bool(mix.all_asked);
    let all_keys = mix.keys(rng, most * form.most_keys());
    let mut keys = all_keys.iter().copied();
    // For every needle the index of its group; for every group its needles in the order of the text.
    let mut group_of_needle: Vec<usize> = Vec::new();
    let mut needles_of_group: Vec<std::vec::IntoIter<String>> = Vec::new();
    let mut asked: Vec<Piece> = Vec::new();
    let mut left = budget;
    loop {
        let used = if form == Form::Facts { group_of_needle.len() } else { needles_of_group.len() };
        let Some(group) = (used < most).then(|| form.group(rng, &mut keys, mix, most - used)).flatten() else { break };
        let tokens_of_needles: usize = group.needles.iter().map(|needle| count(needle)).sum();
        let tokens_of_question = count(&group.question) + count(&group.answer);
        // The first question is always asked; a needle that is not queried costs fewer tokens.
        let is_asked = asked.is_empty() || asks_all || rng.random_bool(0.3);
        let cost = tokens_of_needles + if is_asked { tokens_of_question } else { 0 };
        // If the tokens left are too few for a sentence, they cannot be filled.
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
    let decoys = DocumentMix::draws(rng, mix.decoys).then(|| {
        let (values, digits) = mix.values(rng);
        Decoys { split: mix.split(), avoid: &all_keys, values, digits }
    });
    let filler = prose_with(rng, left, decoys.as_ref(), count);
    let mut haystack: Vec<HaystackSlot> = filler.into_iter().map(HaystackSlot::Prose).collect();
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
