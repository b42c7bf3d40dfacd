//! Tokenizers out of GGUF files against Hugging Face's: llama.cpp keeps vocabularies, difficult texts, and the ids that Hugging Face's
//! tokenizers give them.

use std::fs;

use drope_core::gguf::Gguf;
use drope_tests::vocabularies;

/// What stands after every text of a file.
const AFTER: &str = "\n__ggml_vocab_test__\n";

/// The ids of every text of one vocabulary are those of its file.
fn ids_are_those_of(kind: &str) {
    let vocabulary = vocabularies().join(format!("ggml-vocab-{kind}.gguf"));
    let beside = |ending: &str| fs::read_to_string(vocabulary.with_extension(ending)).expect("a file beside it");
    let bytes = fs::read(&vocabulary).expect("a vocabulary");
    let gguf = Gguf::open(bytes.as_slice()).expect("a GGUF");
    let tokenizer = gguf.tokenizer().expect("a tokenizer");
    let (texts, ids) = (beside("gguf.inp"), beside("gguf.out"));
    let (texts, ids): (Vec<&str>, Vec<&str>) = (texts.split_terminator(AFTER).collect(), ids.lines().collect());
    assert!(texts.len() > 40, "{} texts", texts.len());
    assert_eq!(texts.len(), ids.len());
    for (text, ids) in texts.into_iter().zip(ids) {
        let ids: Vec<u32> = ids.split_whitespace().map(|id| id.parse().expect("an id")).collect();
        assert_eq!(tokenizer.encode(text).expect("ids"), ids, "{kind}: {text:?}");
    }
}

#[test]
fn gpt_2_has_the_ids_of_hugging_face() {
    ids_are_those_of("gpt-2");
}

#[test]
fn llama_3_has_the_ids_of_hugging_face() {
    ids_are_those_of("llama-bpe");
}

#[test]
fn sentencepiece_of_llama_2_has_the_ids_of_hugging_face() {
    ids_are_those_of("llama-spm");
}

#[test]
fn qwen_2_has_the_ids_of_hugging_face() {
    ids_are_those_of("qwen2");
}
