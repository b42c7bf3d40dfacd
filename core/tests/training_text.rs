//! Training text: what a seed gives, and what each token is part of.
#![cfg(feature = "train")]

use std::sync::LazyLock;

use drope_core::hash::short_hash;
use drope_core::language::{Document, DocumentMix, HeldOutUse, TokenRole, held_out_documents, tokenizer_corpus};
use drope_core::tokenizer::Tokenizer;
use drope_core::train::{Batch, Curriculum, DocumentSource, EasyStart, SyntheticDocuments};

static TOKENIZER: LazyLock<Tokenizer> = LazyLock::new(|| {
    Tokenizer::train(tokenizer_corpus(1, &DocumentMix { passkey: 1.0, ..DocumentMix::default() })).unwrap()
});

fn easy_start() -> Curriculum {
    let easy = EasyStart { until: 0.5, facts: 0.8, max_needles: 3, lists: 0.0, unrelated_first: false };
    Curriculum { min_length: 24, grow: 0.5, at_context: 0.4, easy: Some(easy) }
}

fn source(mix: DocumentMix, curriculum: Curriculum) -> SyntheticDocuments {
    SyntheticDocuments {
        tokenizer: TOKENIZER.clone(),
        bos: TOKENIZER.bos(),
        mix,
        curriculum,
        longest: 256,
        tokens_per_step: 2048,
        steps: 100,
    }
}

fn little_endian(ids: &[u32], numbers: &[f32]) -> Vec<u8> {
    ids.iter().flat_map(|id| id.to_le_bytes()).chain(numbers.iter().flat_map(|number| number.to_le_bytes())).collect()
}

#[test]
fn a_seed_gives_the_batches_that_it_always_gave() {
    let long = Curriculum { min_length: 32, grow: 0.0, at_context: 0.6, easy: None };
    for (mix, curriculum, hash) in [
        (DocumentMix::default(), easy_start(), "0c548d362c5b"),
        (DocumentMix { max_copies: 32.0, ..DocumentMix::default() }, easy_start(), "c463d116e465"),
        (DocumentMix { passkey: 0.3, ..DocumentMix::default() }, long, "9f435e824491"),
    ] {
        let source = source(mix, curriculum);
        let bytes = |batch: Batch| {
            let sizes = [batch.rows as u32, batch.length as u32];
            [
                little_endian(&sizes, &[]),
                little_endian(&batch.ids, &batch.loss_weights),
                little_endian(&[], &batch.multiplicity),
            ]
            .concat()
        };
        let batches = [0, 10, 30, 60, 99].map(|step| bytes(source.batch(7, step).unwrap()));
        assert_eq!(short_hash(&[&batches.concat()]), hash, "{:?}", source.mix);
    }
}

#[test]
fn documents_may_be_longer_than_the_context_where_a_recipe_says_so() {
    let curriculum = Curriculum { min_length: 32, grow: 0.2, at_context: 0.5, easy: None };
    let long = SyntheticDocuments { longest: 1024, ..source(DocumentMix::default(), curriculum) };
    let batches: Vec<Batch> = (20..60).map(|step| long.batch(7, step).unwrap()).collect();
    let longest = batches.iter().filter(|batch| batch.length == 1024).count();
    assert!((12..28).contains(&longest), "about half of the updates: {longest}");
    assert!(batches.iter().all(|batch| batch.length <= 1024 && batch.ids.len() <= long.tokens_per_step));
    assert!(batches.iter().any(|batch| batch.length < 256));
}

#[test]
fn recipes_that_differ_in_copies_alone_draw_the_same_text() {
    let draw = |max_copies: f64, separate_copies: bool| {
        let mix = DocumentMix { max_copies, separate_copies, ..DocumentMix::default() };
        [0, 30, 60, 99].map(|step| source(mix.clone(), easy_start()).batch(7, step).unwrap())
    };
    let text = |batch: &Batch| (batch.rows, batch.ids.clone(), batch.roles.clone(), batch.loss_weights.clone());
    let (plain, few, many) = (draw(1.0, true), draw(4.0, true), draw(32.0, true));
    assert_eq!(plain.each_ref().map(text), few.each_ref().map(text));
    assert_eq!(plain.each_ref().map(text), many.each_ref().map(text));
    assert!(plain[0].multiplicity.is_empty() && many[0].multiplicity.iter().any(|&m| m > 4.0));
    assert!(few[0].multiplicity.iter().any(|&m| m > 1.0) && few[0].multiplicity.iter().all(|&m| m < 7.0));
    // Without the field, recipes that differ in copies draw different texts.
    assert_ne!(draw(1.0, false).each_ref().map(text), draw(32.0, false).each_ref().map(text));
}

#[test]
fn lists_are_told_again_word_for_word_and_belong_to_the_easy_start() {
    let easy = EasyStart { lists: 1.0, ..easy_start().easy.unwrap() };
    let source = source(DocumentMix::default(), Curriculum { easy: Some(easy), ..easy_start() });
    let batch = source.batch(7, 20).unwrap();
    for row in batch.ids.chunks(batch.length) {
        let text = &row[1..];
        let is_period = |period: &usize| (*period..text.len()).all(|at| text[at] == text[at - period]);
        let period = (1..text.len()).find(is_period).unwrap();
        let share = period as f64 / text.len() as f64;
        assert!(text.len() < 24 || (0.25..0.65).contains(&share), "{period} of {}", text.len());
    }
    let late = source.batch(7, 60).unwrap();
    let has_needle = |roles: &[TokenRole]| roles.contains(&TokenRole::Needle);
    assert!(!has_needle(&batch.roles) && has_needle(&late.roles));
}

#[test]
fn keys_share_words_after_the_first_half_of_the_easy_start() {
    let mix = DocumentMix { sharing: 1.0, ..DocumentMix::default() };
    let easy = EasyStart { facts: 1.0, unrelated_first: true, ..easy_start().easy.unwrap() };
    let source = source(mix, Curriculum { min_length: 200, grow: 0.0, easy: Some(easy), ..easy_start() });
    // Documents in which two nouns or two adjectives are told apart by the other word.
    let related = |step: usize| {
        let batch = source.batch(7, step).unwrap();
        let texts = batch.ids.chunks(batch.length).map(|row| TOKENIZER.decode(row).unwrap());
        let keys = |text: &str| -> std::collections::BTreeSet<(String, String)> {
            let word = |word: &str| word.trim_matches(['.', ':', ',']).to_owned();
            text.split_whitespace().filter_map(|part| part.split_once('-')).map(|(a, b)| (word(a), word(b))).collect()
        };
        let is_related = |text: &String| {
            let keys = keys(text);
            keys.iter().any(|a| keys.iter().any(|b| a != b && (a.0 == b.0 || a.1 == b.1)))
        };
        let texts: Vec<String> = texts.collect();
        texts.iter().filter(|text| is_related(text)).count() as f64 / texts.len() as f64
    };
    assert!(related(10) < 0.3, "{}", related(10));
    assert!(related(40) > 0.6, "{}", related(40));
}

#[test]
fn a_seed_gives_the_held_out_documents_that_it_always_gave() {
    let encode = |text: &str| TOKENIZER.encode(text).unwrap();
    let draw = |purpose, length: usize, count: usize| -> Vec<Document> {
        held_out_documents(purpose, 5, length, TOKENIZER.bos(), &encode).take(count).collect()
    };
    let bytes = |document: &Document| {
        let answers: Vec<f32> = document.answers().map(|is_answer| f32::from(u8::from(is_answer))).collect();
        little_endian(&document.ids, &answers)
    };
    let fitting: Vec<u8> = draw(HeldOutUse::Fitting { factor: 2 }, 512, 3).iter().flat_map(bytes).collect();
    assert_eq!(short_hash(&[&fitting]), "8d3a8327ea6b");
    let text = |index| draw(HeldOutUse::Perplexity { index }, 512, 1);
    let perplexity: Vec<u8> = (0..3).flat_map(text).flat_map(|document| bytes(&document)).collect();
    assert_eq!(short_hash(&[&perplexity]), "fe89272e8699");
    let [probed] = &draw(HeldOutUse::BiasGradients, 128, 1)[..] else { panic!("one document") };
    assert_eq!(short_hash(&[&little_endian(&probed.ids, &[])]), "82745999715c");
}

/// The text of the tokens of one role, stretch by stretch.
fn stretches(batch: &Batch, role: TokenRole) -> Vec<String> {
    let rows = batch.ids.chunks(batch.length).zip(batch.roles.chunks(batch.length));
    let mut found = Vec::new();
    for (ids, roles) in rows {
        let mut at = 0;
        for stretch in roles.chunk_by(|a, b| a == b) {
            if stretch[0] == role {
                found.push(TOKENIZER.decode(&ids[at..at + stretch.len()]).unwrap());
            }
            at += stretch.len();
        }
    }
    found
}

#[test]
fn roles_tell_answers_from_all_else_whatever_their_weight() {
    let mix = DocumentMix { answer_weight: 1.0, facts: 0.0, repeat: 0.0, terse: 0.0, ..DocumentMix::default() };
    let batch = source(mix, Curriculum { easy: None, ..easy_start() }).batch(3, 90).unwrap();
    let (answers, questions) = (stretches(&batch, TokenRole::Answer), stretches(&batch, TokenRole::Question));
    assert!(
        answers.len() > 5 && answers.iter().zip(&questions).all(|(_, question)| question.contains("special magic"))
    );
    let is_short = |text: &String| text.split_whitespace().count() <= 8 && text.ends_with('.');
    // The last of a row may be cut.
    assert!(answers.iter().filter(|answer| is_short(answer)).count() * 10 >= answers.len() * 9, "{answers:?}");
    assert!(stretches(&batch, TokenRole::Needle).iter().all(|needle| needle.contains("One of the special magic")));
    assert!(!stretches(&batch, TokenRole::Prose).iter().any(|prose| prose.contains("magic")));
}

#[test]
fn documents_begin_short_and_terse_and_never_exceed_the_context() {
    let source = source(DocumentMix::default(), Curriculum { grow: 0.4, ..easy_start() });
    let at = |step| source.batch(1, step).unwrap();
    let has_long_form = |step| {
        at(step).roles.contains(&TokenRole::Needle)
            && stretches(&at(step), TokenRole::Needle).iter().any(|needle| needle.contains("special"))
    };
    assert!((0..25).all(|step| at(step).length <= 24 + 232 * 25 / 40 && !has_long_form(step)));
    assert!((60..70).all(has_long_form));
    let late: Vec<usize> = (60..90).map(|step| at(step).length).collect();
    assert!(late.iter().all(|&length| length <= 256) && late.contains(&256) && late.iter().any(|&l| l < 256));
    assert_eq!(at(40), at(40));
    assert_ne!(at(40), at(41));
}

#[test]
fn a_tokenizer_that_cannot_fill_a_document_is_refused() {
    // It has no token for any word.
    let json = r#"{"version":"1.0","truncation":null,"padding":null,"added_tokens":[],"normalizer":null,"post_processor":null,
        "decoder":null,"pre_tokenizer":null,"model":{"type":"WordLevel","vocab":{"x":0},"unk_token":"?"}}"#;
    let empty = Tokenizer::from_json(json.as_bytes()).unwrap();
    let source = SyntheticDocuments { tokenizer: empty, ..source(DocumentMix::default(), easy_start()) };
    let sentence = source.batch(1, 0).unwrap_err().to_string();
    assert!(sentence.contains("no document of exactly 24 tokens"), "{sentence}");
}

#[test]
fn byte_level_pieces_are_encoded_as_they_stand_in_the_text() {
    // Every byte is a token, a space is Ġ, and there is no beginning-of-text token.
    let bytes = (33..=126u8).map(|byte| format!("{:?}:{}", char::from(byte).to_string(), byte));
    let vocabulary = bytes.chain(["\"Ġ\":0".to_owned()]).collect::<Vec<_>>().join(",");
    let json = format!(
        r#"{{"version":"1.0","truncation":null,"padding":null,"added_tokens":[],"normalizer":null,"post_processor":null,
        "decoder":{{"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":true}},
        "pre_tokenizer":{{"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":true}},
        "model":{{"type":"BPE","vocab":{{{vocabulary}}},"merges":[]}}}}"#
    );
    let tokenizer = Tokenizer::from_json(json.as_bytes()).unwrap();
    let encode = |text: &str| tokenizer.encode(text).unwrap();
    let documents = held_out_documents(HeldOutUse::BiasGradients, 1, 600, tokenizer.bos(), &encode);
    for document in documents.take(20) {
        let text = tokenizer.decode(&document.ids).unwrap();
        assert_eq!(tokenizer.encode(&text).unwrap(), document.ids);
        let is_joined =
            |text: &str| text.bytes().zip(text.bytes().skip(1)).any(|(a, b)| b"?:".contains(&a) && b != b' ');
        assert!(!is_joined(&text) && !text.starts_with(' '), "{text}");
    }
}
