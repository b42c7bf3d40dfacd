//! A reader without a model: it answers from the text by plain string search, which shows that every answer follows from
//! its text, in questions and in training documents.
#![cfg(not(target_arch = "wasm32"))]

use std::sync::LazyLock;

use drope_core::language::{DocumentMix, Key, Split, Values, tokenizer_corpus, training_document};
use drope_core::niah::{Difficulty, Distractors, Filler, QuestionSplit, SentenceKind, Spec, Task, sample};
use drope_core::tokenizer::Tokenizer;
use proptest::prelude::*;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

static TOKENIZER: LazyLock<Tokenizer> =
    LazyLock::new(|| Tokenizer::train(tokenizer_corpus(1, &new_formats())).unwrap());

fn encode(text: &str) -> Vec<u32> {
    TOKENIZER.encode(text).unwrap()
}

/// Every new format, each document without the short forms, whose questions look like needles.
fn new_formats() -> DocumentMix {
    DocumentMix {
        repeat: 0.0,
        facts: 0.0,
        terse: 0.0,
        hold_out_selection: true,
        seven_digits: 0.5,
        sharing: 0.5,
        decoys: 0.5,
        needles_only: 0.25,
        tracking: 0.25,
        latest: 0.25,
        ..DocumentMix::default()
    }
}

/// The values of a key: the texts after `key is:` in the haystack, in the order of the text.
fn told<'a>(haystack: &'a str, key: &str) -> Vec<&'a str> {
    let is_here = |before: &str| before.is_empty() || before.ends_with(' ');
    let opening = format!("{key} is: ");
    haystack
        .match_indices(&opening)
        .filter(|&(at, _)| is_here(&haystack[..at]))
        .map(|(at, _)| haystack[at + opening.len()..].split('.').next().unwrap())
        .collect()
}

/// The value of a key at the end of its chain.
fn follow<'a>(haystack: &'a str, key: &str) -> &'a str {
    let value = *told(haystack, key).last().unwrap();
    if value.contains('-') { follow(haystack, value) } else { value }
}

/// The answer to a question in one of its long forms.
fn read(haystack: &str, question: &str) -> String {
    let keys: Vec<&str> = question.split([' ', '?']).filter(|word| word.contains('-')).collect();
    let values = if question.starts_with("What are all") {
        told(haystack, keys[0])
    } else {
        keys.into_iter().map(|key| follow(haystack, key)).collect()
    };
    drope_core::language::list(&values) + "."
}

fn any_filler() -> impl Strategy<Value = Filler> {
    prop::sample::select(vec![Filler::Prose, Filler::Needles, Filler::Decoys, Filler::RepeatedDecoys])
}

fn any_difficulty() -> impl Strategy<Value = Difficulty> {
    let choices = (
        prop::sample::select(vec![4usize, 7]),
        prop::sample::select(Distractors::ALL.to_vec()),
        prop::sample::select(QuestionSplit::ALL.to_vec()),
        1usize..=4,
    );
    choices.prop_map(|(digits, distractors, split, hops)| Difficulty { keys: None, digits, distractors, hops, split })
}

/// A question of any kind but a pass key.
fn any_spec() -> impl Strategy<Value = Spec<'static>> {
    let tasks = Task::ALL.into_iter().filter(|&task| task != Task::Passkey).collect::<Vec<_>>();
    let choices = (
        prop::sample::select(tasks),
        prop::sample::select(Values::ALL.to_vec()),
        any_filler(),
        any_difficulty(),
        256usize..1200,
        0.0f64..=1.0,
        any::<u64>(),
    );
    choices.prop_filter_map("settings that go together", |(task, values, filler, difficulty, context, depth, seed)| {
        let digits = if values == Values::Words { 4 } else { difficulty.digits };
        let hops = if task == Task::VariableTracking { difficulty.hops } else { 2 };
        let fills = filler == Filler::Needles && difficulty.distractors == Distractors::Sharing;
        let keys = fills.then_some(4);
        // A selection key shares a word with six others.
        let hops = if difficulty.distractors == Distractors::Sharing { hops.min(2) } else { hops };
        let difficulty = Difficulty { digits, hops, keys, ..difficulty };
        let spec = Spec { filler, difficulty, depth: Some(depth), ..Spec::new(task, values, context, seed) };
        spec.check().is_ok().then_some(spec)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_question_has_the_answer_that_its_text_gives(spec in any_spec()) {
        let sample = sample(&spec, &TOKENIZER).unwrap();
        let prompt = sample.prompt();
        let haystack = prompt.strip_suffix(&sample.question).unwrap();
        prop_assert_eq!(read(haystack, &sample.question), sample.expected(), "{}", prompt);
        prop_assert!(sample.score(&sample.expected()).exact);
        prop_assert_eq!(TOKENIZER.unknown_word(&prompt).unwrap(), None);
        // As long as it was asked for.
        let tokens = 1 + encode(&prompt).len() + encode(&sample.expected()).len();
        let needle = sample.haystack.iter().map(|sentence| encode(&sentence.text).len()).max().unwrap();
        let chain = if spec.task == Task::VariableTracking { spec.difficulty.hops + 1 } else { 1 };
        let slack = match (spec.filler, spec.difficulty.keys) {
            (Filler::Needles, None) => needle * chain,
            (Filler::Needles, Some(_)) => spec.context,
            _ => 0,
        };
        prop_assert!(tokens <= spec.context && spec.context <= tokens + slack, "{tokens} of {}: {prompt}", spec.context);
        prop_assert!(encode(&sample.expected()).len() <= spec.task.max_answer_tokens(spec.difficulty.digits));
        // The floor follows from the values in the text.
        let mut values: Vec<&str> = sample
            .haystack
            .iter()
            .filter(|sentence| !sentence.kind.is_filler())
            .filter_map(|sentence| sentence.text.split_once("is: ").map(|(_, value)| value))
            .filter(|value| !value.contains('-'))
            .collect();
        values.sort_unstable();
        let n = values.len() as f64;
        let floor = match spec.task {
            Task::MultiQuery => 1.0 / (n * (n - 1.0)),
            Task::MultiValue => 24.0 / (n * (n - 1.0) * (n - 2.0) * (n - 3.0)),
            _ => 1.0 / n,
        };
        prop_assert!((spec.chance_level() - floor).abs() < 1e-12, "{} of {floor}: {prompt}", spec.chance_level());
    }

    #[test]
    fn questions_have_keys_of_their_split_and_distractors_as_asked_for(spec in any_spec()) {
        let sample = sample(&spec, &TOKENIZER).unwrap();
        let split: Vec<String> = Key::all(spec.difficulty.split.keys()).map(|key| key.to_string()).collect();
        let keys_in = |text: &str| -> Vec<String> {
            text.split([' ', '.', '?', ':']).filter(|word| word.contains('-')).map(str::to_owned).collect()
        };
        for sentence in &sample.haystack {
            prop_assert!(keys_in(&sentence.text).iter().all(|key| split.contains(key)), "{}", sentence.text);
        }
        let of_kind = |kind| {
            let sentences = sample.haystack.iter().filter(move |sentence| sentence.kind == kind);
            let mut keys: Vec<String> =
                sentences.filter_map(|sentence| keys_in(&sentence.text).first().cloned()).collect();
            keys.sort_unstable();
            keys.dedup();
            keys
        };
        let (asked, others) = (of_kind(SentenceKind::Needle), of_kind(SentenceKind::Distractor));
        for key in asked.iter().chain(&others) {
            let in_prose = sample.haystack.iter().filter(|sentence| sentence.kind.is_filler());
            prop_assert!(!in_prose.into_iter().any(|sentence| keys_in(&sentence.text).contains(key)), "{key}");
        }
        if spec.difficulty.distractors == Distractors::Sharing {
            let words = |key: &str, at: usize| key.split('-').nth(at).unwrap().to_owned();
            let shares = |at| {
                let with_asked = |key: &&String| asked.iter().any(|asked| words(key, at) == words(asked, at));
                others.iter().filter(with_asked).count()
            };
            // Three keys of the selection split share an adjective with a key, which may not do for two keys.
            let is_scarce = spec.difficulty.split == QuestionSplit::Selection;
            let (adjectives, nouns) = (shares(0), shares(1));
            prop_assert!(adjectives + nouns >= others.len(), "{others:?} {asked:?}");
            prop_assert!(is_scarce || adjectives.min(nouns) >= others.len() / 2, "{others:?} {asked:?}");
        }
    }

    #[test]
    fn every_answer_of_a_training_document_follows_from_its_text(length in 64usize..=256, seed: u64) {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let document = training_document(&mut rng, length, &new_formats(), Some(1), &encode);
        prop_assert!(document.ids.len() <= length && document.ids.len() + 3 >= length, "{}", document.ids.len());
        let text = TOKENIZER.decode(&document.ids).unwrap();
        let start = ["The special magic", "What are all", "The latest special"].into_iter().filter_map(|form| text.find(form));
        let start = start.min();
        let (haystack, questions) = text.split_at(start.unwrap_or(text.len()));
        let mut rest = questions;
        while let Some(end) = rest.find([':', '?']) {
            let (question, after) = rest.split_at(end + 1);
            // Of needles alone the last answer may be cut.
            let Some((answer, next)) = after.split_once('.') else { break };
            prop_assert_eq!(read(haystack, question.trim()), format!("{}.", answer.trim()), "{}", text);
            rest = next;
        }
        for word in text.split([' ', '.', '?', ':', ',']).filter(|word| word.contains('-') && !word.ends_with('-')) {
            let of = |split| Key::all(split).any(|key| key.to_string() == word);
            prop_assert!(of(Split::Training) || text.trim_end().ends_with(word), "{word} in {text}");
        }
    }
}

#[test]
fn every_format_is_drawn_at_the_context_and_never_where_it_is_not_asked_for() {
    let kinds = |mix: &DocumentMix| {
        let mut rng = ChaCha8Rng::seed_from_u64(4);
        let texts: Vec<String> = (0..200)
            .map(|_| training_document(&mut rng, 256, mix, Some(1), &encode))
            .map(|document| TOKENIZER.decode(&document.ids).unwrap())
            .collect();
        let share = |is_so: &dyn Fn(&str) -> bool| texts.iter().filter(|text| is_so(text)).count();
        [
            share(&|text| text.contains("latest")),
            share(&|text| text.split("is: ").skip(1).any(|value| value.split('.').next().unwrap().contains('-'))),
            share(&|text| text.split(|c: char| !c.is_ascii_digit()).any(|number| number.len() == 7)),
            share(&|text| text.find(" is: ").is_some_and(|at| at < 20) && !text.contains("every")),
        ]
    };
    assert_eq!(kinds(&DocumentMix { repeat: 0.0, facts: 0.0, terse: 0.0, ..DocumentMix::default() }), [0; 4]);
    assert!(kinds(&new_formats()).into_iter().all(|n| n >= 20), "{:?}", kinds(&new_formats()));
}
