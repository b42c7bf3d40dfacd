//! Questions: what a seed gives, which settings fit a task, and the splits of the keys.
#![cfg(not(target_arch = "wasm32"))]

use std::sync::LazyLock;

use drope_core::hash::short_hash;
use drope_core::language::{DocumentMix, Key, Split, Values, tokenizer_corpus};
use drope_core::niah::{Difficulty, Distractors, Filler, Sinks, Spec, Task, sample};
use drope_core::tokenizer::Tokenizer;

static TOKENIZER: LazyLock<Tokenizer> = LazyLock::new(|| {
    Tokenizer::train(tokenizer_corpus(1, &DocumentMix { passkey: 1.0, ..DocumentMix::default() })).unwrap()
});

#[test]
fn a_seed_gives_the_questions_that_it_always_gave() {
    let mut text = String::new();
    for task in [Task::Single, Task::MultiKey, Task::MultiQuery, Task::MultiValue, Task::Passkey] {
        for values in Values::ALL {
            for (context, depth, filler) in
                [(256, None, task.filler()), (512, Some(0.5), Filler::Prose), (2048, None, Filler::Grass)]
            {
                let sinks = (context == 512).then_some(Sinks { token: "<s>", count: 2 });
                for seed in 0..4 {
                    let spec = Spec { depth, filler, sinks, ..Spec::new(task, values, context, seed) };
                    let sample = sample(&spec, &TOKENIZER).unwrap();
                    text.push_str(&format!("{}\n{}\n", sample.prompt(), sample.expected()));
                }
            }
        }
    }
    assert_eq!(short_hash(&[text.as_bytes()]), "0999a3f84d24");
}

#[test]
fn tokenizers_are_those_that_they_always_were() {
    let hash = |passkey| {
        let tokenizer =
            Tokenizer::train(tokenizer_corpus(1, &DocumentMix { passkey, ..DocumentMix::default() })).unwrap();
        short_hash(&[tokenizer.to_json().unwrap().as_bytes()])
    };
    assert_eq!([hash(0.0), hash(1.0)], ["d7b2980c08ea", "939846cdeca6"]);
}

#[test]
fn splits_are_disjoint_and_have_every_word() {
    let all = [Split::Training, Split::Selection, Split::Evaluation].map(|split| {
        let keys: Vec<String> = Key::all(split).map(|key| key.to_string()).collect();
        for word in 0..2 {
            let mut words: Vec<&str> = keys.iter().map(|key| key.split('-').nth(word).unwrap()).collect();
            words.sort_unstable();
            words.dedup();
            assert_eq!(words.len(), 64, "{split:?}");
        }
        keys
    });
    assert_eq!(all.each_ref().map(Vec::len), [3328, 256, 512]);
    let mut keys = all.concat();
    keys.sort_unstable();
    keys.dedup();
    assert_eq!(keys.len(), 4096, "no pair is in two splits");
    assert_eq!(Key::all(Split::NotEvaluation).count(), 3584);
}

#[test]
fn settings_that_mean_nothing_are_refused() {
    let sentence = |task, values, filler, difficulty| {
        let spec = Spec { filler, difficulty, ..Spec::new(task, values, 256, 1) };
        sample(&spec, &TOKENIZER).unwrap_err().to_string()
    };
    let standard = Difficulty::default();
    let hard = Difficulty { hops: 3, ..standard };
    assert!(sentence(Task::MultiKey, Values::Words, Filler::Prose, hard).contains("use them with variable-tracking"));
    let hard = Difficulty { digits: 7, ..standard };
    assert!(sentence(Task::MultiKey, Values::Words, Filler::Prose, hard).contains("words have no digits"));
    assert!(sentence(Task::Passkey, Values::Numbers, Filler::Grass, hard).contains("pass key has no settings"));
    assert!(sentence(Task::Passkey, Values::Numbers, Filler::Decoys, standard).contains("prose or grass"));
    assert!(sentence(Task::Single, Values::Numbers, Filler::Needles, standard).contains("use multi-key"));
    let few = Difficulty { keys: Some(1), ..standard };
    assert!(sentence(Task::MultiQuery, Values::Numbers, Filler::Prose, few).contains("asks for 2 keys"));
    // An evaluation key shares a word with fourteen others.
    let sharing = Difficulty { keys: Some(16), distractors: Distractors::Sharing, ..standard };
    assert!(sentence(Task::MultiKey, Values::Numbers, Filler::Needles, sharing).contains("too few keys"));
    let most = Difficulty { keys: Some(15), ..sharing };
    let spec = Spec { filler: Filler::Needles, difficulty: most, ..Spec::new(Task::MultiKey, Values::Numbers, 256, 1) };
    assert!(sample(&spec, &TOKENIZER).is_ok());
    let many = Difficulty { keys: Some(513), ..standard };
    assert!(sentence(Task::MultiKey, Values::Numbers, Filler::Needles, many).contains("too few keys"));
    // Two chains of three keys each would wrap around to two keys.
    let wrapping = Difficulty { keys: Some(usize::MAX / 3 + 1), ..standard };
    assert!(sentence(Task::VariableTracking, Values::Numbers, Filler::Prose, wrapping).contains("too few keys"));
    // A results file may say anything.
    for keys in [0, usize::MAX] {
        let difficulty = Difficulty { keys: Some(keys), distractors: Distractors::Sharing, ..standard };
        for task in Task::ALL {
            let spec = Spec { difficulty, ..Spec::new(task, Values::Numbers, 256, 1) };
            assert!((0.0..=1.0).contains(&spec.chance_level()), "{keys} keys of {}", task.name());
            assert!(spec.one_word_chance_level().is_none_or(|chance| (0.0..=1.0).contains(&chance)));
        }
    }
}

#[test]
fn sixteen_keys_with_seven_digits_fit_in_the_training_context() {
    for (keys, context) in [(16, 256), (32, 512), (64, 1024)] {
        let difficulty = Difficulty { keys: Some(keys), digits: 7, ..Difficulty::default() };
        let spec =
            Spec { filler: Filler::Needles, difficulty, ..Spec::new(Task::MultiKey, Values::Numbers, context, 1) };
        let sample = sample(&spec, &TOKENIZER).unwrap();
        assert_eq!(sample.haystack.len(), keys);
        assert!((spec.chance_level() - 1.0 / keys as f64).abs() < 1e-12);
    }
}

#[test]
fn a_question_in_a_chat_template_fits_the_context() {
    let chat_affixes = [&*"One of the special magic numbers ".repeat(6), " is:"];
    for filler in [Filler::Prose, Filler::Grass] {
        let spec = Spec { filler, ..Spec::new(Task::Passkey, Values::Numbers, 256, 3) };
        let tokens = |spec: &Spec| {
            let sample = sample(spec, &TOKENIZER).unwrap();
            let answer = TOKENIZER.encode(&format!(" {}", sample.expected())).unwrap().len();
            TOKENIZER.message(&sample.prompt(), Some(chat_affixes)).unwrap().len() + answer
        };
        assert!(tokens(&spec) > 256, "the template is what makes it too long");
        assert!(tokens(&Spec { chat_affixes: Some(chat_affixes), ..spec }) <= 256);
    }
}
