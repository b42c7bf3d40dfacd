//! The synthetic language: lengths, needles, and the separation of training and evaluation.
#![cfg(not(target_arch = "wasm32"))]

use std::collections::HashSet;
use std::sync::LazyLock;

use drope_core::error::Error;
use drope_core::language::{
    CopiesOf, CopiesUnit, Document, DocumentMix, Key, Split, TokenRole, Values, holds_decoy, passkey, prose,
    tokenizer_corpus, training_document,
};
use drope_core::niah::{Filler, SentenceKind, Sinks, Spec, Task, sample};
use drope_core::tokenizer::Tokenizer;
use proptest::prelude::*;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

static TOKENIZER: LazyLock<Tokenizer> = LazyLock::new(|| {
    Tokenizer::train(tokenizer_corpus(1, &DocumentMix { passkey: 1.0, ..DocumentMix::default() })).unwrap()
});

fn encode(text: &str) -> Vec<u32> {
    TOKENIZER.encode(text).unwrap()
}

fn count(text: &str) -> usize {
    encode(text).len()
}

fn any_task() -> impl Strategy<Value = Task> {
    prop::sample::select(vec![Task::Single, Task::MultiKey, Task::MultiQuery, Task::MultiValue, Task::Passkey])
}

fn any_values() -> impl Strategy<Value = Values> {
    prop::sample::select(vec![Values::Numbers, Values::Words])
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_sample_fills_its_context_exactly(
        task in any_task(), values in any_values(), context in 160usize..2048, depth in 0.0f64..=1.0, seed: u64,
    ) {
        let spec = Spec { depth: Some(depth), ..Spec::new(task, values, context, seed) };
        let sample = sample(&spec, &TOKENIZER).unwrap();
        let tokens = 1 + count(&sample.prompt()) + count(&sample.expected());
        // Whole sentences of the passkey's filler are all that fits.
        let room = if task == Task::Passkey { 6 } else { 0 };
        prop_assert!(tokens <= context && context <= tokens + room, "{tokens} of {context}");
        prop_assert!(count(&sample.expected()) <= task.max_answer_tokens(Values::DIGITS));
    }

    #[test]
    fn the_needle_is_there_once_and_at_its_depth(
        values in any_values(), context in 400usize..2048, depth in 0.0f64..=1.0, seed: u64,
    ) {
        let spec = Spec { depth: Some(depth), ..Spec::new(Task::MultiKey, values, context, seed) };
        let sample = sample(&spec, &TOKENIZER).unwrap();
        let needles: Vec<_> = sample.haystack.iter().filter(|s| s.kind == SentenceKind::Needle).collect();
        prop_assert_eq!(needles.len(), 1);
        prop_assert!(needles[0].text.contains(&sample.references[0]));
        prop_assert_eq!(sample.prompt().matches(&needles[0].text).count(), 1);
        prop_assert_eq!(sample.haystack.iter().filter(|s| s.kind == SentenceKind::Distractor).count(), 3);
        // A needle stands between two sentences: nearest to the depth that was asked for.
        let longest = sample.haystack.iter().map(|s| s.text.len() + 1).max().unwrap() as f64;
        let bytes: usize = sample.haystack.iter().map(|s| s.text.len() + 1).sum();
        prop_assert!((sample.depth() - depth).abs() <= 1.5 * longest / bytes as f64, "{} for {depth}", sample.depth());
    }

    #[test]
    fn a_right_answer_scores_and_a_wrong_digit_does_not(task in any_task(), seed: u64) {
        let spec = Spec::new(task, Values::Numbers, 400, seed);
        let sample = sample(&spec, &TOKENIZER).unwrap();
        let right = sample.score(&format!(" {}", sample.expected()));
        prop_assert!(right.exact && right.string_match == 1.0);
        let replace = |f: &dyn Fn(u32) -> char| -> String {
            sample.expected().chars().map(|c| c.to_digit(10).map_or(c, f)).collect()
        };
        let wrong = replace(&|digit| char::from(b'0' + (digit as u8 + 1) % 10));
        prop_assert!(!sample.score(&wrong).exact, "{wrong}");
        prop_assert_eq!(sample.score(&replace(&|_| '#')).string_match, 0.0);
        let more = format!("{} 77", sample.expected());
        prop_assert!(!sample.score(&more).exact, "extra values are not exact");
    }

    #[test]
    fn decoding_gives_the_text_back(task in any_task(), values in any_values(), seed: u64) {
        let spec = Spec::new(task, values, 300, seed);
        let sample = sample(&spec, &TOKENIZER).unwrap();
        let text = format!("{} {}", sample.prompt(), sample.expected());
        prop_assert_eq!(TOKENIZER.decode(&encode(&text)).unwrap(), text);
    }

    #[test]
    fn training_documents_stay_within_their_length(length in 32usize..=256, seed: u64) {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let document = training_document(&mut rng, length, &DocumentMix::default(), Some(1), &encode);
        prop_assert!(document.ids.len() <= length && document.ids.len() == document.loss_weights.len());
        prop_assert!(document.ids.len() + 3 >= length, "{} of {length}", document.ids.len());
    }

    #[test]
    fn only_what_cannot_be_predicted_is_counted_more_than_once(seed: u64) {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mix = DocumentMix { max_copies: 8.0, ..DocumentMix::default() };
        let document = training_document(&mut rng, 256, &mix, Some(1), &encode);
        prop_assert_eq!(document.multiplicity.len(), document.ids.len());
        for (at, (&multiplicity, &weight)) in document.multiplicity.iter().zip(&document.loss_weights).enumerate() {
            prop_assert!((1.0..=15.0).contains(&multiplicity), "multiplicity {multiplicity}");
            prop_assert!(multiplicity == 1.0 || weight == mix.prose_weight, "token {at} can be predicted");
        }
        let plain = training_document(&mut rng, 256, &DocumentMix::default(), Some(1), &encode);
        prop_assert!(plain.multiplicity.iter().all(|&multiplicity| multiplicity == 1.0));
    }

    #[test]
    fn needles_and_tokens_are_counted_where_a_recipe_says_so(seed: u64) {
        let mix = DocumentMix { max_copies: 1e6, separate_copies: true, facts: 0.0, repeat: 0.0, ..DocumentMix::default() };
        let draw = |mix: &DocumentMix| training_document(&mut ChaCha8Rng::seed_from_u64(seed), 256, mix, Some(1), &encode);
        let counted = |document: &Document, role| {
            let of_role = document.roles.iter().zip(&document.multiplicity).filter(|(of, _)| **of == role);
            of_role.filter(|(_, multiplicity)| **multiplicity > 1.0).count()
        };
        let filler = draw(&mix);
        let haystack = draw(&DocumentMix { copies_of: CopiesOf::Haystack, ..mix.clone() });
        let tokens = draw(&DocumentMix { copies_unit: CopiesUnit::Token, ..mix });
        prop_assert!(filler.ids == haystack.ids && filler.ids == tokens.ids);
        let needles = filler.roles.iter().filter(|role| **role == TokenRole::Needle).count();
        prop_assert_eq!((counted(&filler, TokenRole::Needle), counted(&haystack, TokenRole::Needle)), (0, needles));
        for document in [&filler, &haystack, &tokens] {
            prop_assert_eq!(counted(document, TokenRole::Question) + counted(document, TokenRole::Answer), 0);
        }
        // A sentence has one number. Every token has its own, and two of some 200 draws are rarely equal by chance.
        let different = |document: &Document| {
            let mut numbers: Vec<f32> = document.multiplicity.clone();
            numbers.sort_by(f32::total_cmp);
            numbers.dedup();
            numbers.len() - 1
        };
        prop_assert!(different(&tokens) + 3 >= counted(&tokens, TokenRole::Prose));
        prop_assert!(4 * different(&filler) <= counted(&filler, TokenRole::Prose));
    }

    #[test]
    fn a_fact_counts_as_one_sentence(seed: u64) {
        let mix = DocumentMix { max_copies: 1e6, copies_of: CopiesOf::Haystack, facts: 1.0, ..DocumentMix::default() };
        let document = training_document(&mut ChaCha8Rng::seed_from_u64(seed), 256, &mix, Some(1), &encode);
        let stop = *encode("One.").last().unwrap();
        let tokens = document.ids.iter().zip(&document.multiplicity).zip(&document.roles).skip(1);
        let tokens: Vec<_> = tokens.map(|((id, multiplicity), role)| (*id, *multiplicity, *role)).collect();
        let mut stated = 0;
        for sentence in tokens.split_inclusive(|(id, ..)| *id == stop) {
            let (_, often, role) = sentence[0];
            if role == TokenRole::Needle {
                prop_assert!(often > 1.0 && sentence.iter().all(|(_, m, _)| *m == often), "{:?}", sentence);
                stated += 1;
            }
            prop_assert!(sentence.iter().all(|(_, m, role)| *role != TokenRole::Question || *m == 1.0), "{:?}", sentence);
        }
        prop_assert!(stated > 0);
    }

    #[test]
    fn values_of_one_key_are_listed_in_the_order_of_the_text(seed: u64) {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mix = DocumentMix { multi_value: 1.0, multi_query: 0.0, facts: 0.0, repeat: 0.0, terse: 0.0, ..DocumentMix::default() };
        let document = training_document(&mut rng, 256, &mix, Some(1), &encode);
        let text = TOKENIZER.decode(&document.ids).unwrap();
        for question in text.split("What are all").skip(1) {
            let key = question.split_whitespace().find(|word| word.contains('-')).unwrap();
            let answer = question.split_once('?').unwrap().1.split_once('.').unwrap().0;
            let opening = format!(" for {key} is: ");
            let told = text.split(&opening).skip(1).map(|rest| rest.split_once('.').unwrap().0);
            let listed = answer.replace(" and ", ", ");
            prop_assert_eq!(listed.trim(), told.collect::<Vec<_>>().join(", "), "{}", text);
        }
    }

    #[test]
    fn sinks_stand_right_behind_the_needle_and_cost_filler(task in any_task(), sinks in 1usize..8, seed: u64) {
        let noise = Sinks { token: "<s>", count: sinks };
        let spec = Spec { filler: Filler::Prose, sinks: Some(noise), ..Spec::new(task, Values::Numbers, 400, seed) };
        let sample = sample(&spec, &TOKENIZER).unwrap();
        prop_assert_eq!(1 + count(&sample.prompt()) + count(&sample.expected()), 400);
        let bos = TOKENIZER.bos().unwrap();
        let needles = sample.haystack.iter().filter(|s| s.kind == SentenceKind::Needle).count();
        prop_assert_eq!(encode(&sample.prompt()).iter().filter(|&&id| id == bos).count(), needles * sinks);
        for (index, sentence) in sample.haystack.iter().enumerate() {
            let before = index.checked_sub(1).map(|before| sample.haystack[before].kind);
            prop_assert_eq!(sentence.kind == SentenceKind::Sink, before == Some(SentenceKind::Needle));
        }
    }

    #[test]
    fn documents_with_pass_keys_are_whole_and_ask_for_them(length in 64usize..=256, seed: u64) {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mix = DocumentMix { passkey: 1.0, ..DocumentMix::default() };
        let document = training_document(&mut rng, length, &mix, Some(1), &encode);
        prop_assert_eq!(document.ids.len(), length);
        let text = TOKENIZER.decode(&document.ids).unwrap();
        let (haystack, answer) = text.split_once(passkey::QUESTION).unwrap();
        let number = answer.trim().trim_end_matches('.');
        prop_assert_eq!(haystack.matches(&passkey::sentence(number)).count(), 1, "{}", text);
        prop_assert!(number.parse::<u32>().unwrap() % 8 != 0, "{number} is kept for evaluation");
    }

    #[test]
    fn prose_fills_its_budget(budget in 4usize..600, seed: u64) {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let sentences = prose(&mut rng, budget, &count);
        prop_assert_eq!(count(&sentences.join(" ")), budget);
    }
}

#[test]
fn documents_that_have_room_for_more_needles_than_there_are_keys_end() {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    for (needles_only, tracking) in [(1.0, 0.0), (0.0, 1.0)] {
        let mix = DocumentMix { needles_only, tracking, max_needles: 600, full: 1.0, ..DocumentMix::default() };
        let document = training_document(&mut rng, 40_000, &mix, Some(1), &encode);
        assert!(document.ids.len() > 39_000, "{}", document.ids.len());
    }
}

#[test]
fn training_never_meets_keys_of_evaluation() {
    let evaluation: HashSet<String> = Key::all(Split::Evaluation).map(|key| key.to_string()).collect();
    let training: HashSet<String> = Key::all(Split::Training).map(|key| key.to_string()).collect();
    assert!(evaluation.is_disjoint(&training) && evaluation.len() > 500);
    let mut rng = ChaCha8Rng::seed_from_u64(9);
    let mut seen = 0;
    for _ in 0..300 {
        let document = training_document(&mut rng, 256, &DocumentMix::default(), Some(1), &encode);
        let text = TOKENIZER.decode(&document.ids).unwrap();
        for word in text.split(|c: char| !(c.is_alphabetic() || c == '-')).filter(|word| word.contains('-')) {
            assert!(!evaluation.contains(word), "{word} is a key of evaluation");
            seen += usize::from(training.contains(word));
        }
    }
    assert!(seen > 300, "keys were looked at");
    for seed in 0..50 {
        let spec = Spec::new(Task::MultiKey, Values::Numbers, 256, seed);
        let prompt = sample(&spec, &TOKENIZER).unwrap().prompt();
        assert!(!training.iter().any(|key| prompt.contains(&format!(" {key} "))), "seed {seed}");
    }
}

#[test]
fn evaluation_asks_for_pass_keys_that_training_never_saw() {
    for seed in 0..100 {
        let sample = sample(&Spec::new(Task::Passkey, Values::Numbers, 256, seed), &TOKENIZER).unwrap();
        assert_eq!(sample.references[0].len(), 5);
        assert_eq!(sample.references[0].parse::<u32>().unwrap() % 8, 0);
        assert!(sample.haystack[0].text.starts_with("There is an important info"));
        assert_eq!(TOKENIZER.unknown_word(&sample.prompt()).unwrap(), None);
    }
    let without = Tokenizer::train(tokenizer_corpus(1, &DocumentMix::default())).unwrap();
    assert_eq!(without.unknown_word(passkey::QUESTION).unwrap(), Some("is"));
}

#[test]
fn digits_are_single_tokens_and_words_are_one() {
    assert_eq!(count("1019"), 4);
    for digit in '0'..='9' {
        let number = format!("{digit}{digit}");
        assert_eq!(TOKENIZER.decode(&encode(&number)).unwrap(), number, "every digit stands first and later");
    }
    assert_eq!(count("whispering-workhorse is: 1019."), 8);
}

#[test]
fn the_tokenizer_survives_its_file() {
    let json = TOKENIZER.to_json().unwrap();
    let again = Tokenizer::from_json(json.as_bytes()).unwrap();
    assert_eq!(again.to_json().unwrap(), json);
    assert_eq!(
        Tokenizer::train(tokenizer_corpus(1, &DocumentMix { passkey: 1.0, ..DocumentMix::default() }))
            .unwrap()
            .to_json()
            .unwrap(),
        json,
        "training is deterministic"
    );
    assert!(matches!(TOKENIZER.check(10), Err(Error::Vocabulary { model: 10, .. })));
}

#[test]
fn contexts_without_room_are_refused() {
    let spec = Spec::new(Task::MultiKey, Values::Numbers, 0, 1);
    assert!(matches!(sample(&spec, &TOKENIZER), Err(Error::Zero(_))));
    assert!(matches!(sample(&Spec { context: 50, ..spec }, &TOKENIZER), Err(Error::TooLong { context: 50, .. })));
}

#[test]
fn longer_texts_of_repeated_decoys_have_no_more_different_ones() {
    let decoys = |filler, context| {
        let spec = Spec { filler, ..Spec::new(Task::MultiKey, Values::Numbers, context, 5) };
        let sample = sample(&spec, &TOKENIZER).unwrap();
        let of_kind = |kind| sample.haystack.iter().filter(move |sentence| sentence.kind == kind);
        assert!(of_kind(SentenceKind::Decoy).all(|sentence| holds_decoy(&sentence.text)));
        assert!(!of_kind(SentenceKind::Prose).any(|sentence| holds_decoy(&sentence.text)));
        assert_eq!(1 + count(&sample.prompt()) + count(&sample.expected()), context);
        let all: Vec<&str> = of_kind(SentenceKind::Decoy).map(|sentence| &sentence.text[..]).collect();
        (all.len(), all.iter().collect::<HashSet<_>>().len())
    };
    let (all, different) = decoys(Filler::RepeatedDecoys, 2048);
    assert!(all > 5 * different, "{different} of {all}");
    let (all, different) = decoys(Filler::Decoys, 2048);
    assert!(10 * different > 9 * all, "{different} of {all}");
    assert_eq!(decoys(Filler::Prose, 512), (0, 0));
}
