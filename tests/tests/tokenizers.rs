//! Tokenizers out of GGUF files, and written into one again, against Hugging Face's: llama.cpp keeps vocabularies, difficult texts, and
//! the ids that Hugging Face's tokenizers give them.

use std::fs;

use drope_core::burn::tensor::Device;
use drope_core::config::Config;
use drope_core::gguf::{Gguf, to_gguf};
use drope_core::model::{Model, SafetensorsFiles, StoredType};
use drope_core::tokenizer::Tokenizer;
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
    let again = written_and_read(&tokenizer);
    for (text, ids) in texts.into_iter().zip(ids) {
        let ids: Vec<u32> = ids.split_whitespace().map(|id| id.parse().expect("an id")).collect();
        assert_eq!(tokenizer.encode(text).expect("ids"), ids, "{kind}: {text:?}");
        assert_eq!(again.encode(text).expect("ids"), ids, "{kind}, written and read again: {text:?}");
    }
}

/// The tokenizer of a GGUF of a small model with this one.
fn written_and_read(tokenizer: &Tokenizer) -> Tokenizer {
    let config = format!(
        r#"{{"model_type": "llama", "vocab_size": {}, "hidden_size": 4, "intermediate_size": 4, "num_hidden_layers": 1,
            "num_attention_heads": 1, "max_position_embeddings": 64, "tie_word_embeddings": true}}"#,
        tokenizer.vocab_size()
    );
    let config = Config::from_json(&config).expect("a config");
    let model = Model::random(&config, 1, &Device::flex());
    let weights = pollster::block_on(model.to_safetensors()).expect("weights");
    let weights = SafetensorsFiles::from_bytes(&weights).expect("weights");
    let (bytes, _) = to_gguf(&config, tokenizer, None, &weights, StoredType::F32).expect("a GGUF");
    Gguf::open(&bytes[..]).expect("a GGUF").tokenizer().expect("a tokenizer")
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
