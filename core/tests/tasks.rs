//! Questions: what a seed gives, and that each answer follows from its text.
#![cfg(not(target_arch = "wasm32"))]

use std::sync::LazyLock;

use drope_core::language::{DocumentMix, Values, tokenizer_corpus};
use drope_core::loaded_model::short_hash;
use drope_core::niah::{Filler, Sinks, Spec, Task, sample};
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
