//! Tokenizers out of GGUF files, and written into one again, against Hugging Face's: llama.cpp keeps vocabularies, difficult texts, and
//! the ids that Hugging Face's tokenizers give them.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use drope_core::burn::tensor::Device;
use drope_core::config::Config;
use drope_core::gguf::{Gguf, write_gguf};
use drope_core::model::{Model, SafetensorsFiles, StoredType};
use drope_core::tokenizer::Tokenizer;
use drope_tests::{llama_cpp, smollm2, vocabularies};

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
    let mut bytes = Vec::new();
    write_gguf(&config, tokenizer, None, &weights, StoredType::F32, &mut bytes).expect("a GGUF");
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

/// The bytes of a GGUF with another name for how words are separated. Nothing in the header counts bytes from its start.
fn renamed(bytes: &[u8], from: &str, to: &str) -> Vec<u8> {
    let stored = |text: &str| [&(text.len() as u64).to_le_bytes(), text.as_bytes()].concat();
    let key = [stored("tokenizer.ggml.pre"), 8u32.to_le_bytes().to_vec()].concat();
    let [old, new] = [from, to].map(|name| [key.clone(), stored(name)].concat());
    let place = bytes.windows(old.len()).position(|window| window == old).expect("the name is there");
    [&bytes[..place], &new, &bytes[place + old.len()..]].concat()
}

/// What llama.cpp puts before a text differs between vocabularies, and between names of one vocabulary's rules.
#[test]
fn prompts_have_the_ids_of_llama_cpp_under_every_name_that_is_read() {
    let Some(addon) = llama_cpp() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let vocabulary = |kind: &str| vocabularies().join(format!("ggml-vocab-{kind}.gguf"));
    let mut files = vec![smollm2()];
    files.extend(["gpt-2", "llama-bpe", "llama-spm", "qwen2"].map(vocabulary));
    let llama_3 = fs::read(vocabulary("llama-bpe")).expect("a vocabulary");
    for name in ["llama3", "llama-v3"] {
        let file = folder.path().join(format!("{name}.gguf"));
        fs::write(&file, renamed(&llama_3, "llama-bpe", name)).expect("a file");
        files.push(file);
    }
    let texts = fs::read_to_string(vocabulary("llama-bpe").with_extension("gguf.inp")).expect("texts");
    let texts: Vec<&str> = texts.split_terminator(AFTER).collect();
    let list = folder.path().join("texts.json");
    fs::write(&list, serde_json::to_vec(&texts).expect("JSON")).expect("a file");
    let script = Path::new(env!("DROPE_ROOT")).join("tests/llama_cpp_ids.mjs");
    let output = Command::new("node").arg(script).arg(addon).arg(&list).args(&files).output().expect("node");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let theirs: HashMap<PathBuf, Vec<Vec<u32>>> = serde_json::from_slice(&output.stdout).expect("ids");
    for file in files {
        let bytes = fs::read(&file).expect("a GGUF");
        let tokenizer = Gguf::open(&bytes[..]).expect("a GGUF").tokenizer().expect("a tokenizer");
        for (text, theirs) in texts.iter().zip(&theirs[&file]) {
            assert_eq!(tokenizer.prompt(text).expect("ids"), *theirs, "{}: {text:?}", file.display());
        }
    }
}
