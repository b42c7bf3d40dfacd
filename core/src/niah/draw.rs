//! Drawing a question and the haystack around its needles.

use rand::{RngExt, SeedableRng, seq::SliceRandom};
use rand_chacha::ChaCha8Rng;

use super::problem::{Problem, magic, pass_key};
use super::{Filler, Sample, Sentence, SentenceKind, Spec, Task};
use crate::error::{Error, Result};
use crate::language::{Decoys, MIN_WORDS, passkey, prose_with};
use crate::tokenizer::Tokenizer;

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
    let before = match spec.around {
        None => tokenizer.prefix().len(),
        around => tokenizer.message("", around)?.len(),
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
    let filler = match spec.filler {
        Filler::Prose => prose_with(rng, spec.context - fixed, None, count),
        Filler::Grass => passkey::grass(spec.context - fixed, count),
        Filler::Needles => Vec::new(),
        Filler::Decoys => {
            let (split, avoid, values) = (spec.difficulty.split.keys(), &problem.keys, spec.values);
            let decoys = Decoys { split, avoid, values, digits: spec.difficulty.digits };
            prose_with(rng, spec.context - fixed, Some(&decoys), count)
        }
    };
    let places = hide(rng, filler, &problem, spec.depth);
    let told = places.iter().filter_map(|place| match place {
        Place::Needle(index) => Some(*index),
        Place::Filler(_) => None,
    });
    sample.references = problem.references(spec.task, told);
    sample.haystack = sentences(places, &problem, sinks.as_deref());
    // The first word follows no space, which may cost a byte-level tokenizer a token more than was counted.
    let answer = count(&sample.expected());
    while tokenizer.message(&sample.prompt(), spec.around)?.len() + answer > spec.context {
        let last = sample.haystack.iter().rposition(|sentence| sentence.kind == SentenceKind::Prose);
        let Some(last) = last else { break };
        sample.haystack.remove(last);
    }
    Ok(sample)
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
fn sentences(places: Vec<Place>, problem: &Problem, sinks: Option<&str>) -> Vec<Sentence> {
    let introduction = problem.introduction.map(|text| Sentence { text: text.to_owned(), kind: SentenceKind::Prose });
    let sentence = |place| match place {
        Place::Filler(text) => Sentence { text, kind: SentenceKind::Prose },
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
            let floor = spec.one_word_floor().unwrap();
            for found in [0, 1].map(score) {
                assert!((found - floor).abs() < 0.01, "{keys} keys: {found} and not {floor}");
            }
        }
        let unrelated = Spec::new(Task::MultiKey, Values::Numbers, 256, 0);
        assert_eq!(unrelated.one_word_floor(), None);
    }
}
