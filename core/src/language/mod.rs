//! The synthetic language: prose, needles and questions, and the documents that models train on.

mod decoys;
mod document;
mod held_out;
mod key;
mod needle;
pub mod passkey;
mod prose;
#[cfg(feature = "model")]
mod word_tokenizer;
mod words;

pub use decoys::{Decoys, holds_decoy};
pub use document::{
    CopiesChange, CopiesOf, CopiesUnit, Document, DocumentMix, TokenRole, mean_multiplicity, multiplicity,
    training_document,
};
pub use held_out::{HeldOutUse, held_out_documents};
pub use key::{Key, Split};
pub use needle::{Needle, Values, ask_all, ask_latest, ask_one, ask_two, chain, list};
pub use prose::{MIN_WORDS, prose, prose_with, sentence};

/// Whether a tokenizer was made for the language: its words are tokens.
#[cfg(feature = "model")]
pub fn is_made_of_tokens(tokenizer: &crate::tokenizer::Tokenizer) -> bool {
    let words = " special magic number";
    tokenizer.encode(words).is_ok_and(|ids| ids.len() <= words.split_whitespace().count())
}

/// A few hundred documents and every word of the language, with those of pass keys and of the latest value where the mix
/// has them: what the tokenizer is trained on.
pub fn tokenizer_corpus(seed: u64, mix: &DocumentMix) -> Vec<String> {
    use rand::SeedableRng;
    let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(seed);
    let mut corpus = vec![words_of_prose()];
    if mix.passkey > 0.0 {
        corpus.extend(passkey::corpus());
    }
    for split in [Split::NotEvaluation, Split::Evaluation] {
        for key in Key::all(split) {
            let word = words::VALUE_WORDS[key.index() % words::VALUE_WORDS.len()];
            // Every digit as the first of a number and as a later one.
            for value in ["01234567890", word] {
                let needle = Needle { key, value: value.to_owned() };
                corpus.push(format!(" {} {} {value}, {value} and {value}.", needle.sentence(), ask_one(&needle)));
                corpus.push(format!(" {} {}", ask_two(&needle, &needle), ask_all(&needle)));
                if mix.latest > 0.0 {
                    corpus.push(format!(" {}", ask_latest(&needle)));
                }
            }
        }
    }
    corpus.extend((0..2000).map(|_| format!(" {}", sentence(&mut rng, 10))));
    corpus.extend(('0'..='9').map(|digit| format!(" {digit}")));
    corpus
}

/// Every word of the prose as it stands inside and at the start of a sentence.
fn words_of_prose() -> String {
    use words::{ADJECTIVES, ADVERBS, DETERMINERS, NOUNS, OPENINGS, PREPOSITIONS, VERBS};
    let mut text = String::new();
    for word in [&NOUNS[..], &ADJECTIVES, &VERBS, &ADVERBS, &PREPOSITIONS, &OPENINGS, &DETERMINERS].concat() {
        text.push(' ');
        text.push_str(word);
    }
    for word in DETERMINERS {
        let mut word = word.to_owned();
        word[..1].make_ascii_uppercase();
        text.push_str(&format!(" {word}"));
    }
    text
}
