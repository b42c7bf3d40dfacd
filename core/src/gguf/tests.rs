//! Small files made here, whole and damaged. Files of llama.cpp's own tools are in core/tests/gguf.rs.

use burn::tensor::Device;
use serde_json::json;

use super::builder::{GgufBuilder, text};
use super::{GgmlType, Gguf, sentence_piece, write_gguf};
use crate::config::{Config, Llama3Parameters, PositionScheme, ProjectionNorm, RopeScaling};
use crate::export::config_for_length;
use crate::model::{Model, StoredType, WeightSource};
use crate::positions::Method;

/// A Llama of one layer, with two heads of four components and one of keys, and a vocabulary of letters.
pub(super) fn small() -> GgufBuilder {
    let rows =
        |count: usize, width: usize| -> Vec<f32> { (0..count * width).map(|number| (number / width) as f32).collect() };
    let mut head = GgufBuilder::default()
        .text("general.architecture", "llama")
        .u32("llama.block_count", 1)
        .u32("llama.context_length", 64)
        .u32("llama.embedding_length", 8)
        .u32("llama.feed_forward_length", 4)
        .u32("llama.attention.head_count", 2)
        .u32("llama.attention.head_count_kv", 1)
        .f32("llama.attention.layer_norm_rms_epsilon", 1e-5)
        .f32("llama.rope.freq_base", 5e5)
        .text("tokenizer.ggml.model", "gpt2")
        .text("tokenizer.ggml.pre", "smollm")
        .texts("tokenizer.ggml.tokens", &["<|start|>", "a", "b", "ab", "Ġ", "1"])
        .i32s("tokenizer.ggml.token_type", &[3, 1, 1, 1, 1, 1])
        .texts("tokenizer.ggml.merges", &["a b"])
        .u32("tokenizer.ggml.bos_token_id", 0);
    for (name, shape) in [
        ("token_embd.weight", [6, 8]),
        ("blk.0.attn_q.weight", [8, 8]),
        ("blk.0.attn_k.weight", [4, 8]),
        ("blk.0.attn_v.weight", [4, 8]),
        ("blk.0.attn_output.weight", [8, 8]),
        ("blk.0.ffn_gate.weight", [4, 8]),
        ("blk.0.ffn_up.weight", [4, 8]),
        ("blk.0.ffn_down.weight", [8, 4]),
    ] {
        head = head.tensor(name, &shape, &rows(shape[0], shape[1]));
    }
    for name in ["output_norm.weight", "blk.0.attn_norm.weight", "blk.0.ffn_norm.weight"] {
        head = head.tensor(name, &[8], &[1.0; 8]);
    }
    head
}

fn refused(bytes: &[u8]) -> String {
    let used = Gguf::open(bytes).and_then(|file| {
        file.config()?;
        file.tokenizer()?;
        file.tensor("model.norm.weight", &[8])
    });
    used.expect_err("this file is wrong").to_string()
}

#[test]
fn config_tokenizer_and_tensors_come_from_one_file() {
    let bytes = small().bytes();
    let file = Gguf::open(&bytes[..]).unwrap();
    let config = file.config().unwrap();
    assert_eq!((config.vocab_size, config.hidden_size, config.head_dim, config.num_key_value_heads), (6, 8, 4, 1));
    assert_eq!((config.rms_norm_eps, config.rope.rope_theta, config.max_position_embeddings), (1e-5, 5e5, 64));
    assert!(config.tie_word_embeddings && Method::of(&config) == Method::Rope);
    let tokenizer = file.tokenizer().unwrap();
    // No token is added before the text, a special one is one token, and digits stand alone.
    assert_eq!(tokenizer.prompt("ab<|start|> 11").unwrap(), [3, 0, 4, 5, 5]);
    assert_eq!(tokenizer.decode(&[3, 4, 1]).unwrap(), "ab a");
    // Rows of heads go from pairs to halves.
    let firsts = |name: &str, shape: [usize; 2]| -> Vec<f32> {
        file.tensor(name, &shape).unwrap().iter::<f32>().step_by(shape[1]).collect()
    };
    assert_eq!(firsts("model.layers.0.self_attn.q_proj.weight", [8, 8]), [0.0, 2.0, 1.0, 3.0, 4.0, 6.0, 5.0, 7.0]);
    assert_eq!(firsts("model.layers.0.self_attn.k_proj.weight", [4, 8]), [0.0, 2.0, 1.0, 3.0]);
    assert_eq!(firsts("model.layers.0.self_attn.v_proj.weight", [4, 8]), [0.0, 1.0, 2.0, 3.0]);
    assert_eq!(file.types(), [GgmlType::F32]);
    let (model, unused) = Model::load(&config, &file, &Device::flex()).unwrap();
    assert!(unused.is_empty() && model.device() == Device::flex());
}

#[test]
fn a_beginning_of_text_is_added_where_the_file_says_so() {
    let bytes = small().value("tokenizer.ggml.add_bos_token", 7, &[1]).bytes();
    let tokenizer = Gguf::open(&bytes[..]).unwrap().tokenizer().unwrap();
    assert_eq!((tokenizer.bos(), tokenizer.prompt("ba").unwrap()), (Some(0), vec![0, 2, 1]));
}

#[test]
fn a_beginning_of_text_is_added_by_default_where_llama_cpp_adds_one() {
    for (name, bos) in [
        ("smollm", None),
        ("gpt-2", None),
        ("qwen2", None),
        ("llama-bpe", Some(0)),
        ("llama3", Some(0)),
        ("llama-v3", Some(0)),
    ] {
        let mut head = small();
        head.values.retain(|value| !value.starts_with(&text("tokenizer.ggml.pre")));
        let bytes = head.text("tokenizer.ggml.pre", name).bytes();
        assert_eq!(Gguf::open(&bytes[..]).unwrap().tokenizer().unwrap().bos(), bos, "{name}");
    }
    let mut head = small();
    head.values.retain(|value| !value.starts_with(&text("tokenizer.ggml.pre")));
    let bytes = head.text("tokenizer.ggml.pre", "llama-bpe").value("tokenizer.ggml.add_bos_token", 7, &[0]).bytes();
    assert_eq!(Gguf::open(&bytes[..]).unwrap().tokenizer().unwrap().bos(), None, "the file decides");
}

/// Files of chat models often name another end of text than that of an answer.
#[test]
fn answers_end_at_tokens_that_llama_cpp_knows_by_their_text() {
    let mut head = small();
    head.values.retain(|value| !value.starts_with(&text("tokenizer.ggml.tokens")));
    let head = head.texts("tokenizer.ggml.tokens", &["<|start|>", "a", "b", "ab", "<|end|>", "1"]);
    let ends = |head: &GgufBuilder| Gguf::open(&head.bytes()[..]).unwrap().config().unwrap().eos_token_ids;
    assert_eq!(ends(&head), [4]);
    let named = head.u32("tokenizer.ggml.eos_token_id", 5).u32("tokenizer.ggml.eot_token_id", 4);
    assert_eq!(ends(&named), [5, 4], "the end of a text comes first");
}

#[test]
fn a_vector_in_few_bits_is_refused() {
    let mut head = small();
    let offset = head.length.to_le_bytes();
    // Two blocks of Q8_0.
    head.tensors
        .push([&text("v"), &1u32.to_le_bytes()[..], &64u64.to_le_bytes(), &8u32.to_le_bytes(), &offset].concat());
    head.data.resize(head.data.len() + 96, 0);
    assert!(refused(&head.bytes()).contains("v is a vector of type Q8_0"), "{}", refused(&head.bytes()));
}

#[test]
fn a_tensor_without_dimensions_is_refused() {
    let bytes = small().tensor("rope_freqs.weight", &[], &[1.0]).bytes();
    assert!(refused(&bytes).contains("rope_freqs.weight has 0 dimensions"));
}

#[test]
fn lists_of_numbers_take_no_more_memory_than_in_the_file() {
    let head = small().value("tokenizer.flags", 9, &[&7u32.to_le_bytes()[..], &4u64.to_le_bytes(), &[1; 4]].concat());
    let bytes = head.bytes();
    let file = Gguf::open(&bytes[..]).unwrap();
    assert_eq!(file.metadata.numbers("tokenizer.flags").unwrap(), [1.0; 4]);
    assert_eq!(file.metadata.stored_bytes("tokenizer.flags"), Some(4));
}

/// llama.cpp's converter keeps what the frequencies are divided by, and not the parameters that it comes from.
#[test]
fn factors_of_frequencies_are_the_scaling_of_llama_3() {
    let mut head = small();
    head.values.retain(|value| !value.starts_with(&text("llama.rope.freq_base")));
    let head = head.f32("llama.rope.freq_base", 5e8).tensor("rope_freqs.weight", &[2], &[1.0, 32.0]);
    let bytes = head.bytes();
    let file = Gguf::open(&bytes[..]).unwrap();
    let expected = Llama3Parameters { original_max_position_embeddings: Some(8192), ..Llama3Parameters::new(32.0) };
    assert_eq!(file.config().unwrap().rope.scaling, RopeScaling::Llama3(expected));
    assert!(!file.names().iter().any(|name| name.contains("rope_freqs")));
}

/// As llama.cpp reads them; the names are those of its loader.
#[test]
fn a_scaling_without_a_type_is_linear() {
    for name in ["llama.rope.scaling.factor", "llama.rope.scale_linear"] {
        let scaling = |factor: f32| {
            let bytes = small().f32(name, factor).bytes();
            Gguf::open(&bytes[..]).unwrap().config().unwrap().rope.scaling
        };
        assert_eq!(scaling(4.0), RopeScaling::Linear { factor: 4.0 }, "{name}");
        assert_eq!([scaling(1.0), scaling(0.0)], [RopeScaling::Default, RopeScaling::Default], "{name}");
    }
}

#[test]
fn what_would_be_read_wrongly_is_named() {
    let again = |name: &str, head: GgufBuilder| {
        let mut without = small();
        without.values.retain(|value| !value.starts_with(&text(name)));
        without.values.extend(head.values);
        without.tensors.extend(head.tensors);
        without.data.extend(head.data);
        refused(&without.bytes())
    };
    let head = GgufBuilder::default;
    for (name, change, words) in [
        ("general.architecture", head().text("general.architecture", "mamba"), "mamba"),
        ("general.architecture", head(), "lacks the value general.architecture"),
        ("llama.block_count", head().text("llama.block_count", "one"), "llama.block_count is not a whole number"),
        ("llama.context_length", head().u32("llama.context_length", 0), "max_position_embeddings"),
        ("llama.attention.head_count", head().u32("llama.attention.head_count", 0), "it has no heads"),
        ("llama.rope.freq_base", head().f32("llama.rope.freq_base", -1.0), "rope_theta"),
        ("", head().u32("llama.expert_count", 8), "experts"),
        ("", head().u32("llama.rope.dimension_count", 2), "partial_rotary_factor"),
        ("", head().text("llama.rope.scaling.type", "longrope"), "longrope"),
        (
            "",
            head().f32("llama.rope.scaling.factor", 2.0).f32("llama.rope.scaling.attn_factor", 1.5),
            "llama.rope.scaling.attn_factor",
        ),
        ("", head().tensor("rope_freqs.weight", &[2], &[1.0, 8.0]), "rope_freqs.weight"),
        ("tokenizer.ggml.pre", head().text("tokenizer.ggml.pre", "tekken"), "tekken"),
        ("tokenizer.ggml.model", head().text("tokenizer.ggml.model", "rwkv"), "rwkv"),
        ("tokenizer.ggml.token_type", head().i32s("tokenizer.ggml.token_type", &[1]), "6 tokens but 1 token types"),
        ("", head().u32("general.alignment", 0), "alignment is 0"),
        ("", head().u32("general.alignment", 24), "alignment is 24"),
        ("", head().u32("llama.block_count", 1), "two values of the name llama.block_count"),
        ("", head().tensor("output_norm.weight", &[8], &[1.0; 8]), "two tensors of the name output_norm.weight"),
    ] {
        let said = again(name, change);
        assert!(said.contains(words), "{said} does not say {words}");
    }
}

#[test]
fn damaged_heads_are_refused_whatever_they_announce() {
    let good = small().bytes();
    let head_end = good.len() - small().data.len();
    // Cut anywhere in the head, and at the end of the tensors.
    for end in (0..head_end).step_by(7).chain([good.len() - 1]) {
        let said = refused(&good[..end]);
        assert!(!said.contains('\n'), "{said}");
    }
    // Lengths of 2^60 where counts and lengths stand: tensors, values, the first name.
    for at in [8, 16, 24] {
        let mut bytes = good.clone();
        bytes[at..at + 8].copy_from_slice(&(1u64 << 60).to_le_bytes());
        assert!(refused(&bytes).contains("announces"), "{at}");
    }
    let mut version = good.clone();
    version[4] = 9;
    assert!(refused(&version).contains("version is 9"));
    assert!(refused(b"PK\x03\x04 this is a zip").contains("does not begin with GGUF"));
    // A type that is not read, and sizes whose product overflows.
    let place = good.windows(18).position(|window| window == b"output_norm.weight").unwrap() + 18;
    let mut kind = good.clone();
    kind[place + 12..place + 16].copy_from_slice(&13u32.to_le_bytes());
    assert!(refused(&kind).contains("Q5_K"));
    let mut size = good.clone();
    size[place + 4..place + 12].copy_from_slice(&u64::MAX.to_le_bytes());
    assert!(refused(&size).contains("output_norm.weight ends after the file does"));
}

/// The file as it is read and written again.
fn written(config: &Config, file: &Gguf<&[u8]>, kind: StoredType) -> crate::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    write_gguf(config, &file.tokenizer()?, file.chat_template()?.as_ref(), file, kind, &mut bytes)?;
    Ok(bytes)
}

#[test]
fn what_is_written_is_read_again() {
    let bytes = small().bytes();
    let file = Gguf::open(&bytes[..]).unwrap();
    let plain = file.config().unwrap();
    let dropped = Config { positions: PositionScheme::None, ..plain.clone() };
    // The lower of the two frequencies is dropped.
    let partial = plain.clone().with_cut(Some(0.1));
    for config in [&plain, &dropped, &partial] {
        for kind in [StoredType::F32, StoredType::F16, StoredType::Bf16] {
            let bytes = written(config, &file, kind).unwrap();
            let again = Gguf::open(&bytes[..]).unwrap();
            let found = again.config().unwrap();
            assert_eq!(std::mem::discriminant(&found.positions), std::mem::discriminant(&config.positions));
            for method in [Method::Drope, Method::PDrope, Method::Rope] {
                assert_eq!(method.positions(&found, 1.0).is_ok(), method.positions(config, 1.0).is_ok());
            }
            let frequencies =
                |config: &Config| Method::PDrope.positions(config, 1.0).map(|positions| format!("{positions:?}"));
            if matches!(config.positions, PositionScheme::Partial { .. }) {
                assert_eq!(frequencies(&found).unwrap(), frequencies(config).unwrap());
            }
            assert_eq!(again.tokenizer().unwrap().to_json().unwrap(), file.tokenizer().unwrap().to_json().unwrap());
            // Small whole numbers are exact in every type.
            for (name, shape) in
                [("model.layers.0.self_attn.q_proj.weight", [8, 8]), ("model.layers.0.mlp.up_proj.weight", [4, 8])]
            {
                let numbers = |file: &Gguf<&[u8]>| file.tensor(name, &shape).unwrap().iter::<f32>().collect::<Vec<_>>();
                assert_eq!(numbers(&again), numbers(&file), "{name}");
            }
            assert_eq!(again.names().len(), file.names().len());
        }
    }
}

#[test]
fn a_longer_context_is_written_and_that_of_training_read_again() {
    let bytes = small().bytes();
    let file = Gguf::open(&bytes[..]).unwrap();
    let dropped = Config { positions: PositionScheme::None, softmax_scale: Some(0.5), ..file.config().unwrap() };
    let (config, _) = config_for_length(&dropped, 4).unwrap();
    let bytes = written(&config, &file, StoredType::F32).unwrap();
    let again = Gguf::open(&bytes[..]).unwrap();
    assert_eq!(again.metadata.optional_u64("llama.context_length").unwrap(), Some(256), "what llama.cpp finds");
    let found = again.config().unwrap();
    assert_eq!((found.max_position_embeddings, found.extension, found.positions), (64, 4, PositionScheme::None));
}

#[test]
fn windows_of_newer_models_of_an_architecture_are_refused() {
    let said = refused(&small().u32("llama.attention.sliding_window", 32).bytes());
    assert!(said.contains("sliding windows, which are not read in files of llama"), "{said}");
}

#[test]
fn what_llama_cpp_does_not_compute_is_not_written() {
    let bytes = small().bytes();
    let file = Gguf::open(&bytes[..]).unwrap();
    let plain = file.config().unwrap();
    let mut normed = plain.clone();
    normed.architecture.query_norm = ProjectionNorm::Whole;
    for (config, reason) in [
        (Config { positions: PositionScheme::Alibi, ..plain.clone() }, "ALiBi"),
        (normed, "norms of queries"),
        (Config { scalable_softmax: true, ..plain.clone() }, "SSMax"),
        (Config { positions: PositionScheme::RnopeSwa { window: 8 }, ..plain.clone() }, "windows"),
        (Config { softmax_scale: Some(0.5), ..plain }, "factor of the logits"),
    ] {
        let error = written(&config, &file, StoredType::F32).unwrap_err().to_string();
        assert!(error.contains(reason), "{error}");
    }
}

#[test]
fn scores_are_the_ranks_of_the_tokens_that_merges_make() {
    let tokenizer = |vocabulary: &[&str], merges: &[[&str; 2]]| {
        let ids: serde_json::Map<_, _> =
            vocabulary.iter().enumerate().map(|(id, token)| ((*token).to_owned(), json!(id))).collect();
        json!({
            "normalizer": sentence_piece::normalizer(true),
            "added_tokens": [{ "id": 0, "content": "ab<" }],
            "model": { "type": "BPE", "byte_fallback": true, "vocab": ids, "merges": merges },
        })
    };
    let vocabulary = ["ab<", "<", "a", "b", "c", "bc", "ab", "abc"];
    let merges = [["b", "c"], ["a", "b"], ["a", "bc"], ["ab", "c"]];
    let scored = sentence_piece::scored(&tokenizer(&vocabulary, &merges)).unwrap().unwrap();
    assert!(scored.prefix);
    let mut scores: Vec<(&str, f32)> = scored.scores.iter().map(|(token, &score)| (token.as_str(), score)).collect();
    scores.sort_by(|a, b| b.1.total_cmp(&a.1));
    assert_eq!(scores, [("bc", 0.0), ("ab", -1.0), ("abc", -2.0)]);

    let [first, second, third, fourth] = merges;
    for refused in [&[first, third, second, fourth][..], &[first, second, third], &[second]] {
        let error = sentence_piece::scored(&tokenizer(&vocabulary, refused)).err().unwrap();
        assert!(error.to_string().contains("need several scores"), "{error}");
    }
    let mut words = tokenizer(&vocabulary, &merges);
    words["pre_tokenizer"] = json!({ "type": "Whitespace" });
    assert!(sentence_piece::scored(&words).unwrap().is_none());
}
