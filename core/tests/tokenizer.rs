//! Tokenizers by the rules of their own files: special tokens, spans and streams, word by word and byte by byte.
#![cfg(not(target_arch = "wasm32"))]

use drope_core::language::{DocumentMix, Values, tokenizer_corpus};
use drope_core::niah::{Spec, Task, sample};
use drope_core::probe::TokenizedSample;
use drope_core::tokenizer::Tokenizer;
use tokenizers::models::TrainerWrapper;
use tokenizers::models::bpe::{BPE, BpeTrainer};
use tokenizers::pre_tokenizers::byte_level::ByteLevel;

fn words() -> Tokenizer {
    Tokenizer::train(tokenizer_corpus(1, &DocumentMix::default())).unwrap()
}

/// As GPT-2, SmolLM and Qwen 2 have it: bytes, merged; nothing is added to a text.
fn bytes() -> Tokenizer {
    let mut tokenizer = tokenizers::Tokenizer::new(BPE::default());
    tokenizer.with_pre_tokenizer(Some(ByteLevel::new(false, true, true)));
    tokenizer.with_decoder(Some(ByteLevel::default()));
    let trainer = BpeTrainer::builder()
        .vocab_size(600)
        .initial_alphabet(ByteLevel::alphabet().into_iter().collect())
        .show_progress(false);
    let mut trainer: TrainerWrapper = trainer.build().into();
    tokenizer.train(&mut trainer, tokenizer_corpus(1, &DocumentMix::default()).into_iter()).unwrap();
    Tokenizer::from_json(tokenizer.to_string(false).unwrap().as_bytes()).unwrap()
}

#[test]
fn special_tokens_are_those_of_the_post_processor() {
    let (words, bytes) = (words(), bytes());
    assert_eq!(words.token(words.bos().unwrap()).as_deref(), Some("<s>"));
    let text = "The special magic number";
    assert_eq!(words.prompt(text).unwrap(), [words.prefix(), words.encode(text).unwrap()].concat());
    assert_eq!((bytes.bos(), bytes.prefix()), (None, vec![]));
    assert_eq!(bytes.prompt(text).unwrap(), bytes.encode(text).unwrap());
}

/// Published files often hold the settings of their last use; transformers turns both off.
#[test]
fn texts_are_neither_cut_nor_padded() {
    let mut json: serde_json::Value = serde_json::from_str(&words().to_json().unwrap()).unwrap();
    json["truncation"] =
        serde_json::json!({ "direction": "Right", "max_length": 4, "strategy": "LongestFirst", "stride": 0 });
    json["padding"] = serde_json::json!({
        "strategy": { "Fixed": 64 }, "direction": "Right", "pad_to_multiple_of": null, "pad_id": 0, "pad_type_id": 0,
        "pad_token": "<unk>"
    });
    let tokenizer = Tokenizer::from_json(json.to_string().as_bytes()).unwrap();
    let text = "One of the special magic numbers for";
    assert_eq!(tokenizer.prompt(text).unwrap(), words().prompt(text).unwrap());
}

#[test]
fn every_shipped_tokenizer_begins_texts_as_its_config_says() {
    for entry in std::fs::read_dir(concat!(env!("DROPE_ROOT"), "/models")).unwrap() {
        let folder = entry.unwrap().path();
        let Ok(json) = std::fs::read(folder.join("tokenizer.json")) else { continue };
        let config = std::fs::read_to_string(folder.join("config.json")).unwrap();
        let config = drope_core::config::Config::from_json(&config).unwrap();
        let tokenizer = Tokenizer::from_json(&json).unwrap();
        assert!(config.bos_token_id.is_some());
        assert_eq!(tokenizer.bos(), config.bos_token_id, "{}", folder.display());
    }
}

/// As Gemma 3's text models, whose tokenizers have a token for images.
#[test]
fn added_tokens_may_lie_behind_a_models_vocabulary() {
    let words = words();
    let size = words.vocab_size();
    let mut json: serde_json::Value = serde_json::from_str(&words.to_json().unwrap()).unwrap();
    let added = serde_json::json!({
        "id": size, "content": "<image>", "single_word": false, "lstrip": false, "rstrip": false, "normalized": false, "special": true,
    });
    json["added_tokens"].as_array_mut().unwrap().push(added);
    let tokenizer = Tokenizer::from_json(json.to_string().as_bytes()).unwrap();
    assert_eq!(tokenizer.vocab_size(), size + 1);
    assert!(tokenizer.check(size).is_ok() && tokenizer.check(size - 1).is_err());
}

#[test]
fn a_stream_never_shows_half_a_character() {
    for (tokenizer, text) in [(bytes(), "a 🦀 b, élan – 漢字."), (words(), " The special magic number for")] {
        let ids = tokenizer.encode(text).unwrap();
        let mut stream = tokenizer.stream();
        let pieces: Vec<String> = ids.iter().map(|&id| stream.push(id).unwrap()).collect();
        assert!(!pieces.iter().any(|piece| piece.contains('\u{fffd}')), "{pieces:?}");
        assert_eq!(pieces.concat(), tokenizer.decode(&ids).unwrap());
        assert!(pieces.iter().filter(|piece| !piece.is_empty()).count() > 4, "it comes in pieces: {pieces:?}");
    }
}

#[test]
fn spans_are_the_bytes_of_each_token() {
    let tokenizer = bytes();
    let text = "Here is élan: 1019.";
    let (ids, spans) = tokenizer.prompt_with_spans(text).unwrap();
    assert_eq!(ids, tokenizer.prompt(text).unwrap());
    let joined: String = spans.iter().filter_map(|span| text.get(span.clone())).collect();
    assert!(joined.starts_with("Here is") && joined.ends_with(": 1019."), "{joined}");
}

/// Sentences that follow each other share no token, whatever the tokenizer.
#[test]
fn sentences_of_a_sample_are_found_and_fill_the_context() {
    for (tokenizer, slack) in [(words(), 0), (bytes(), 40)] {
        for task in [Task::MultiKey, Task::MultiValue] {
            let sample = sample(&Spec::new(task, Values::Numbers, 400, 3), &tokenizer).unwrap();
            let tokenized = TokenizedSample::new(&sample, &tokenizer, None).unwrap();
            for ((at, kind), sentence) in tokenized.sentences.iter().zip(&sample.haystack) {
                let text = tokenizer.decode(&tokenized.ids[at.clone()]).unwrap();
                assert_eq!((text.trim(), kind), (&*sentence.text, &sentence.kind));
            }
            let used = tokenized.ids.len() + tokenizer.count(&sample.expected());
            assert!(used <= 400 && used + slack >= 400, "{used}");
        }
    }
}
