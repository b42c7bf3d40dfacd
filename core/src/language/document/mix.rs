//! Shares of the kinds of documents.

use rand::{Rng, RngExt};
use serde::{Deserialize, Serialize};

use crate::language::{Key, Split, Values};
use crate::left_out::is_default;
use crate::names::named;

named! {
    /// What copies change. Real ones would change both; each alone shows which of the two a model learns from.
    #[derive(Default)]
    CopiesChange: "change by copies" {
        /// How often a key counts, and the positions behind it.
        #[default]
        Both = "both",
        /// How often a key counts: ln m in its logits.
        Counts = "counts",
        /// Positions, which skip as far as the copies would reach: as PoSE.
        Positions = "positions",
    }
}

named! {
    /// What counts several times.
    #[derive(Default)]
    CopiesOf: "copied text" {
        /// What nothing before it predicts: prose, needles that are not asked for, and new values.
        #[default]
        Filler = "filler",
        /// All but questions and answers: needles that are asked for, too.
        Haystack = "haystack",
    }
}

named! {
    /// What has a multiplicity of its own.
    #[derive(Default)]
    CopiesUnit: "unit of copies" {
        /// A sentence, as if it stood in the text several times.
        #[default]
        Sentence = "sentence",
        /// A token.
        Token = "token",
    }
}

impl CopiesChange {
    /// Whether keys count several times.
    pub fn counts(self) -> bool {
        self != Self::Positions
    }

    /// Whether positions skip.
    pub fn positions(self) -> bool {
        self != Self::Counts
    }
}

/// Shares of the kinds of documents. Retrieval is learned only where questions are dense: with one question a document, a
/// model copies *some* value and never learns which value belongs to which key.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DocumentMix {
    /// Probability that a document that is no pass key, list or facts is prose in which several sentences occur twice; induction
    /// heads form sooner.
    pub repeat: f64,
    /// Probability that a document of needles may have `max_needles` of them; otherwise the limit is drawn evenly from 1 to `max_needles`.
    pub full: f64,
    /// Probability that every needle of a document is asked for; otherwise the first is, and each other one with probability 0.3.
    pub all_asked: f64,
    /// Questions for two keys at once.
    pub multi_query: f64,
    /// Keys with several values.
    pub multi_value: f64,
    /// Values that are words; the rest are numbers.
    pub words: f64,
    /// Most needles in a document.
    pub max_needles: usize,
    /// Documents of nothing but a few facts, each stated many times: nearly every token trains the model to find a value
    /// by its key.
    pub facts: f64,
    /// Needles and questions in their short form (`amber-acorn is: 1019.`, or without the `is:`): finding a value by its
    /// key is learned first where the key stands next to the value.
    pub terse: f64,
    /// Copies: the largest mean key multiplicity of a document's prose; 1: every token counts once. The mean of a document
    /// is drawn log-uniformly from 1 to this, and that of each sentence around it.
    ///
    /// A key of multiplicity m gets ln m added to its logits, and so the attention weight of m equal keys. Without
    /// positions this is nearly what a longer text would do, and no sequence is longer than the context. The idea is that
    /// of PoSE (Zhu et al. 2023, arXiv 2309.10400), which skips position ids, for a model that has none. A model that
    /// has positions skips those that the copies would take, as in PoSE; ln m is added beside that.
    pub max_copies: f64,
    /// What copies change in a model that has positions.
    #[serde(skip_serializing_if = "is_default")]
    pub copies_change: CopiesChange,
    /// What counts several times.
    #[serde(skip_serializing_if = "is_default")]
    pub copies_of: CopiesOf,
    /// What has a multiplicity of its own.
    #[serde(skip_serializing_if = "is_default")]
    pub copies_unit: CopiesUnit,
    /// Whether a separate random generator draws the multiplicities: recipes that differ only in `max_copies` then draw
    /// the same text. Recipes without this field keep the text that they have always drawn.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub separate_copies: bool,
    /// Documents that hide a pass key and ask for it; above 0 the tokenizer knows their words.
    pub passkey: f64,
    /// Whether keys of the selection split are kept from training; recipes from before there was one leave it out.
    #[serde(skip_serializing_if = "is_default")]
    pub hold_out_selection: bool,
    /// Share of numbers that have seven digits, as in RULER.
    #[serde(skip_serializing_if = "is_default")]
    pub seven_digits: f64,
    /// Share of the documents with needles in a haystack whose keys share an adjective or a noun with one another.
    #[serde(skip_serializing_if = "is_default")]
    pub sharing: f64,
    /// Share of the documents with needles in a haystack in whose prose words of keys, and values, occur.
    #[serde(skip_serializing_if = "is_default")]
    pub decoys: f64,
    /// Share of the documents with needles in a haystack that have no prose: needles in their short form, and as many
    /// questions as fit.
    #[serde(skip_serializing_if = "is_default")]
    pub needles_only: f64,
    /// Share of the documents with needles in a haystack that have chains of assignments (RULER's variable tracking).
    #[serde(skip_serializing_if = "is_default")]
    pub tracking: f64,
    /// Share of the documents with needles in a haystack whose keys have several values and that ask for the latest. If
    /// this is above 0, the tokenizer knows the word `latest`.
    #[serde(skip_serializing_if = "is_default")]
    pub latest: f64,
    /// Documents of a list of random keys, words and digits that is told again: every token of the second time is known by
    /// what stands before it, so that heads that copy form five times sooner than on facts alone.
    #[serde(skip_serializing_if = "is_default")]
    pub lists: f64,
    /// Weight of prose in the loss: its next word is mostly chance.
    pub prose_weight: f32,
    /// Weight of answer tokens in the loss; questions and needles have 1.
    pub answer_weight: f32,
}

impl Default for DocumentMix {
    fn default() -> Self {
        Self {
            repeat: 0.1,
            full: 0.6,
            all_asked: 0.7,
            multi_query: 0.08,
            multi_value: 0.08,
            words: 0.4,
            max_needles: 8,
            facts: 0.2,
            terse: 0.15,
            max_copies: 1.0,
            copies_change: CopiesChange::default(),
            copies_of: CopiesOf::default(),
            copies_unit: CopiesUnit::default(),
            separate_copies: false,
            passkey: 0.0,
            hold_out_selection: false,
            seven_digits: 0.0,
            sharing: 0.0,
            decoys: 0.0,
            needles_only: 0.0,
            tracking: 0.0,
            latest: 0.0,
            lists: 0.0,
            prose_weight: 0.2,
            answer_weight: 4.0,
        }
    }
}

impl DocumentMix {
    /// Draws `true` with probability `share`. A share of 0 uses no random number, so that recipes older than the share
    /// still draw the same documents.
    pub(super) fn draws(rng: &mut impl Rng, share: f64) -> bool {
        share > 0.0 && rng.random_bool(share)
    }

    /// The split that the keys are from.
    pub(super) fn split(&self) -> Split {
        if self.hold_out_selection { Split::Training } else { Split::NotEvaluation }
    }

    /// `n` different keys.
    pub(super) fn keys(&self, rng: &mut impl Rng, n: usize) -> Vec<Key> {
        if Self::draws(rng, self.sharing) {
            Key::related(rng, self.split(), n)
        } else {
            Key::distinct(rng, self.split(), n)
        }
    }

    /// Kind and digits of the next values.
    pub(super) fn values(&self, rng: &mut impl Rng) -> (Values, usize) {
        if rng.random_bool(self.words) {
            (Values::Words, Values::DIGITS)
        } else if Self::draws(rng, self.seven_digits) {
            (Values::Numbers, Values::LONG_DIGITS)
        } else {
            (Values::Numbers, Values::DIGITS)
        }
    }
}
