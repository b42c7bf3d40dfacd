//! Documents to train on: prose, needles and, at the end, questions with their answers.

mod facts;
mod group;
mod lists;
mod mix;
mod multiplicity;
mod needles_only;
mod pass_key;
mod repeated;
mod retrieval;

use std::cell::RefCell;
use std::collections::HashMap;

use rand::{Rng, RngExt};

use self::facts::fact_pieces;
use self::lists::list_pieces;
pub use self::mix::{CopiesChange, CopiesOf, CopiesUnit, DocumentMix};
use self::multiplicity::multiplicities;
pub use self::multiplicity::{mean_multiplicity, multiplicity};
use self::pass_key::pass_key_pieces;
use self::repeated::repeated_pieces;
use self::retrieval::retrieval_pieces;

/// What a token of a document is part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TokenRole {
    /// The haystack, and the beginning-of-text token.
    Prose,
    /// A fact: a key with its value, or a pass key with its sentence.
    Needle,
    /// What asks for a value.
    Question,
    /// A value that stands earlier in the document, asked for or repeated, with the full stop after it.
    Answer,
}

/// Token ids, and what each is. All vectors have the same length.
#[derive(Clone, Debug, PartialEq)]
pub struct Document {
    /// Begins with the beginning-of-text token, where the model has one.
    pub ids: Vec<u32>,
    /// What each token is part of.
    pub roles: Vec<TokenRole>,
    /// How much each counts in the loss when it is the one to be predicted.
    pub loss_weights: Vec<f32>,
    /// Key multiplicity of each token, at least 1 ([`DocumentMix::max_copies`]).
    pub multiplicity: Vec<f32>,
}

impl Document {
    /// Nothing but the beginning-of-text token.
    fn starting_with(bos: Option<u32>) -> Self {
        let ids: Vec<u32> = bos.into_iter().collect();
        let tokens = ids.len();
        Self {
            ids,
            roles: vec![TokenRole::Prose; tokens],
            loss_weights: vec![0.0; tokens],
            multiplicity: vec![1.0; tokens],
        }
    }

    fn append(&mut self, ids: Vec<u32>, role: TokenRole, loss_weight: f32) {
        let tokens = ids.len();
        self.ids.extend(ids);
        self.roles.extend(std::iter::repeat_n(role, tokens));
        self.loss_weights.extend(std::iter::repeat_n(loss_weight, tokens));
    }

    fn truncate(&mut self, tokens: usize) {
        self.ids.truncate(tokens);
        self.roles.truncate(tokens);
        self.loss_weights.truncate(tokens);
        self.multiplicity.truncate(tokens);
    }

    /// Whether each token is part of an answer.
    pub fn answers(&self) -> impl Iterator<Item = bool> {
        self.roles.iter().map(|&role| role == TokenRole::Answer)
    }
}

/// How a piece of text counts in the loss.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LossClass {
    /// Cannot be known from what comes before; weight [`DocumentMix::prose_weight`].
    Unpredictable,
    /// Weight 1.
    Plain,
    /// Weight [`DocumentMix::answer_weight`].
    Answer,
}

/// A piece of a document's text.
struct Piece {
    text: String,
    role: TokenRole,
    class: LossClass,
}

impl Piece {
    fn prose(text: String) -> Self {
        Self { text, role: TokenRole::Prose, class: LossClass::Unpredictable }
    }

    /// Prose that stands in the document before.
    fn repeated_prose(text: String) -> Self {
        Self { text, role: TokenRole::Prose, class: LossClass::Plain }
    }

    fn needle(text: String) -> Self {
        Self { text, role: TokenRole::Needle, class: LossClass::Plain }
    }

    /// The value of a fact that stands in the document for the first time.
    fn new_value(text: String) -> Self {
        Self { text, role: TokenRole::Needle, class: LossClass::Unpredictable }
    }

    /// A needle that is haystack to the others.
    fn unasked_needle(text: String) -> Self {
        Self { text, role: TokenRole::Needle, class: LossClass::Unpredictable }
    }

    fn question(text: String) -> Self {
        Self { text, role: TokenRole::Question, class: LossClass::Plain }
    }

    fn answer(text: String) -> Self {
        Self { text, role: TokenRole::Answer, class: LossClass::Answer }
    }
}

/// A document of at most `tokens` tokens (exactly, with a tokenizer of one token a word).
///
/// `encode` gives the ids of a text without special tokens; pieces but the first are encoded with the space before them.
/// Only keys of [`super::Split::Training`] occur, or of [`super::Split::NotEvaluation`] where the mix does not hold out the
/// selection split.
pub fn training_document(
    rng: &mut impl Rng,
    tokens: usize,
    mix: &DocumentMix,
    bos: Option<u32>,
    encode: &impl Fn(&str) -> Vec<u32>,
) -> Document {
    let mut document = Document::starting_with(bos);
    let budget = tokens.saturating_sub(document.ids.len());
    // Most texts are counted before they are encoded, and encoding takes most of the time: the ids are kept.
    let encoded: RefCell<HashMap<String, Vec<u32>>> = RefCell::default();
    let encode_inside = |text: &str| {
        let mut encoded = encoded.borrow_mut();
        encoded.entry(text.to_owned()).or_insert_with(|| encode(&format!(" {text}"))).clone()
    };
    let pieces = draw_pieces(rng, budget, mix, &|text: &str| encode_inside(text).len());
    let encode_piece = |(index, piece): (usize, &Piece)| {
        if index == 0 { encode(&piece.text) } else { encode_inside(&piece.text) }
    };
    let ids: Vec<Vec<u32>> = pieces.iter().enumerate().map(encode_piece).collect();
    let lengths: Vec<usize> = ids.iter().map(Vec::len).collect();
    document.multiplicity.extend(multiplicities(rng, mix, &pieces, &lengths));
    for (Piece { role, class, .. }, ids) in pieces.into_iter().zip(ids) {
        let loss_weight = match class {
            LossClass::Unpredictable => mix.prose_weight,
            LossClass::Plain => 1.0,
            LossClass::Answer => mix.answer_weight,
        };
        document.append(ids, role, loss_weight);
    }
    document.truncate(tokens);
    document
}

/// The text of one document, of about `budget` tokens as `count` counts them.
fn draw_pieces(rng: &mut impl Rng, budget: usize, mix: &DocumentMix, count: &impl Fn(&str) -> usize) -> Vec<Piece> {
    if DocumentMix::draws(rng, mix.passkey) {
        pass_key_pieces(rng, budget, count)
    } else if DocumentMix::draws(rng, mix.lists) {
        list_pieces(rng, budget, mix, count)
    } else if rng.random_bool(mix.facts) {
        fact_pieces(rng, budget, mix, count)
    } else if rng.random_bool(mix.repeat) {
        repeated_pieces(rng, budget, count)
    } else {
        retrieval_pieces(rng, budget, mix, count)
    }
}
