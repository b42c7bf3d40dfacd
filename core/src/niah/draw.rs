//! Drawing a question and the haystack around its needles.

use rand::{RngExt, SeedableRng, seq::SliceRandom};
use rand_chacha::ChaCha8Rng;

use super::problem::{Problem, magic, pass_key};
use super::{Filler, Sample, Sentence, SentenceKind, Spec, Task};
use crate::error::{Error, Result};
use crate::language::{Decoys, MIN_WORDS, holds_decoy, passkey, prose_with};
use crate::tokenizer::Tokenizer;

/// Tokens of the sentences that [`Filler::RepeatedDecoys`] repeats: about as many as a question leaves room for in a text of 256.
const REPEATED_TOKENS: usize = 128;

/// Draws a sample whose prompt and answer fill `context` tokens (exactly in prose, with a tokenizer of one token a
/// word; in repeated sentences to within one of them; needles alone to within one of them).
///
/// # Errors
/// If the settings do not fit the task, the split has too few keys, or the context is too short for the needles and the
/// question.
pub fn sample(spec: &Spec, tokenizer: &Tokenizer) -> Result<Sample> {
    let count = &|text: &str| tokenizer.count(text);
    spec.check()?;
    if spec.context == 0 {
        return Err(Error::Zero("the context"));
    }
    let mut rng = ChaCha8Rng::seed_from_u64(spec.seed);
    rng.set_stream(spec.difficulty.split.stream());
    let rng = &mut rng;
    let problem = if spec.task == Task::Passkey { pass_key(rng) } else { magic(rng, spec, spec.keys(count))? };
    let sinks = spec.sinks.filter(|sinks| sinks.count > 0).map(|sinks| sinks.token.repeat(sinks.count));
    let mut sample = Sample {
        haystack: Vec::new(),
        question: problem.question.clone(),
        references: problem.references(spec.task, 0..problem.asked),
        ordered: spec.task != Task::MultiValue,
    };
    let before = match spec.chat_affixes {
        None => tokenizer.prefix().len(),
        chat_affixes => tokenizer.message("", chat_affixes)?.len(),
    };
    let fixed: usize = before
        + problem.introduction.map_or(0, count)
        + problem.needles.iter().map(|(text, _)| count(text)).sum::<usize>()
        + problem.asked * sinks.as_deref().map_or(0, |text| tokenizer.encode(text).map_or(0, |ids| ids.len()))
        + count(&sample.question)
        + count(&sample.expected());
    let needed = if spec.filler == Filler::Needles { fixed } else { fixed + MIN_WORDS + 1 };
    if needed > spec.context {
        return Err(Error::TooLong { needed, context: spec.context });
    }
    let room = spec.context - fixed;
    let (split, avoid, values) = (spec.difficulty.split.keys(), &problem.keys[..], spec.values);
    let decoys = Decoys { split, avoid, values, digits: spec.difficulty.digits };
    let filler = match spec.filler {
        Filler::Prose => prose_with(rng, room, None, count),
        Filler::Grass => passkey::grass(room, count),
        Filler::Needles => Vec::new(),
        Filler::Decoys => prose_with(rng, room, Some(&decoys), count),
        Filler::RepeatedDecoys => repeated_decoys(rng, room, &decoys, count),
    };
    let places = hide(rng, filler, &problem, spec.depth);
    let told = places.iter().filter_map(|place| match place {
        Place::Needle(index) => Some(*index),
        Place::Filler(_) => None,
    });
    sample.references = problem.references(spec.task, told);
    sample.haystack = sentences(places, &problem, spec.filler, sinks.as_deref());
    // The first word follows no space, which may cost a byte-level tokenizer a token more than was counted.
    let answer = count(&sample.expected());
    while tokenizer.message(&sample.prompt(), spec.chat_affixes)?.len() + answer > spec.context {
        let last = sample.haystack.iter().rposition(|sentence| sentence.kind.is_filler());
        let Some(last) = last else { break };
        sample.haystack.remove(last);
    }
    Ok(sample)
}

/// The same sentences again and again, and at the end new ones where a rest is left.
fn repeated_decoys(rng: &mut ChaCha8Rng, room: usize, decoys: &Decoys, count: &impl Fn(&str) -> usize) -> Vec<String> {
    let once = prose_with(rng, room.min(REPEATED_TOKENS), Some(decoys), count);
    let (mut filler, mut left) = (Vec::new(), room);
    for sentence in once.iter().cycle() {
        let tokens = count(sentence).max(1);
        // If the tokens left are too few for a sentence, they cannot be filled.
        if tokens > left || (1..=MIN_WORDS).contains(&(left - tokens)) {
            break;
        }
        left -= tokens;
        filler.push(sentence.clone());
    }
    filler.extend(prose_with(rng, left, Some(decoys), count));
    filler
}

/// A place in the haystack.
enum Place {
    Filler(String),
    /// The needle of this index.
    Needle(usize),
}

/// Puts needles between sentences of filler: the first one asked for at `depth`, the others anywhere; those of a chain in
/// their order.
fn hide(rng: &mut ChaCha8Rng, filler: Vec<String>, problem: &Problem, depth: Option<f64>) -> Vec<Place> {
    let needles = &problem.needles;
    let mut haystack: Vec<Place> = filler.into_iter().map(Place::Filler).collect();
    let mut others: Vec<usize> = (1..needles.len()).collect();
    others.shuffle(rng);
    for index in others {
        let at = rng.random_range(0..=haystack.len());
        haystack.insert(at, Place::Needle(index));
    }
    let depth = depth.unwrap_or_else(|| rng.random()).clamp(0.0, 1.0);
    // Depth is measured in bytes, so that long and short sentences count as what they are.
    let bytes = |place: &Place| match place {
        Place::Filler(text) => text.len() + 1,
        Place::Needle(index) => needles[*index].0.len() + 1,
    };
    let total: usize = haystack.iter().map(bytes).sum();
    let mut before = 0.0;
    let at = haystack.iter().position(|place| {
        let length = bytes(place) as f64;
        let is_place = before + length / 2.0 > depth * total as f64;
        before += length;
        is_place
    });
    let at = at.unwrap_or(haystack.len());
    haystack.insert(at, Place::Needle(0));
    if problem.chain_length > 1 {
        let mut told = vec![0; needles.len() / problem.chain_length];
        for place in &mut haystack {
            if let Place::Needle(index) = place {
                let chain = *index / problem.chain_length;
                *index = chain * problem.chain_length + told[chain];
                told[chain] += 1;
            }
        }
    }
    haystack
}

/// The haystack, with attention sinks behind each needle that is asked for.
fn sentences(places: Vec<Place>, problem: &Problem, filler: Filler, sinks: Option<&str>) -> Vec<Sentence> {
    let introduction = problem.introduction.map(|text| Sentence { text: text.to_owned(), kind: SentenceKind::Prose });
    let sentence = |place| match place {
        Place::Filler(text) => {
            let is_decoy = filler.has_decoys() && holds_decoy(&text);
            let kind = if is_decoy { SentenceKind::Decoy } else { SentenceKind::Prose };
            Sentence { text, kind }
        }
        Place::Needle(index) => {
            let kind = if index < problem.asked { SentenceKind::Needle } else { SentenceKind::Distractor };
            Sentence { text: problem.needles[index].0.clone(), kind }
        }
    };
    let with_sink = |sentence: Sentence| {
        let sink = sinks.filter(|_| sentence.kind == SentenceKind::Needle);
        std::iter::once(sentence).chain(sink.map(|text| Sentence { text: text.to_owned(), kind: SentenceKind::Sink }))
    };
    introduction.into_iter().chain(places.into_iter().map(sentence)).flat_map(with_sink).collect()
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    use super::super::problem::magic;
    use super::{Spec, Task};
    use crate::language::Values;
    use crate::niah::{Difficulty, Distractors};

    #[test]
    fn the_floor_of_one_word_is_what_its_reader_scores() {
        for keys in [4, 5, 8] {
            let difficulty =
                Difficulty { distractors: Distractors::Sharing, keys: Some(keys), ..Difficulty::default() };
            let spec = Spec { difficulty, ..Spec::new(Task::MultiKey, Values::Numbers, 256, 0) };
            let score = |word: usize| {
                let of_question = |seed| {
                    let problem = magic(&mut ChaCha8Rng::seed_from_u64(seed), &spec, keys).unwrap();
                    let words = problem.keys.iter().map(|key| key.to_string().split('-').nth(word).unwrap().to_owned());
                    let words: Vec<String> = words.collect();
                    1.0 / words.iter().filter(|other| **other == words[0]).count() as f64
                };
                (0..2000).map(of_question).sum::<f64>() / 2000.0
            };
            let floor = spec.one_word_chance_level().unwrap();
            for found in [0, 1].map(score) {
                assert!((found - floor).abs() < 0.01, "{keys} keys: {found} and not {floor}");
            }
        }
        let unrelated = Spec::new(Task::MultiKey, Values::Numbers, 256, 0);
        assert_eq!(unrelated.one_word_chance_level(), None);
    }
}
