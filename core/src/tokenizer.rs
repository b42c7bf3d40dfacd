//! `tokenizer.json`: read, written and, for the synthetic language, trained.

use tokenizers::decoders::metaspace::Metaspace as MetaspaceDecoder;
use tokenizers::decoders::sequence::Sequence as DecoderSequence;
use tokenizers::models::TrainerWrapper;
use tokenizers::models::wordlevel::{WordLevel, WordLevelTrainer};
use tokenizers::pre_tokenizers::PreTokenizerWrapper;
use tokenizers::pre_tokenizers::metaspace::{Metaspace, PrependScheme};
use tokenizers::pre_tokenizers::sequence::Sequence;
use tokenizers::pre_tokenizers::split::{Split, SplitPattern};
use tokenizers::{AddedToken, SplitDelimiterBehavior, decoders::fuse::Fuse};

use crate::error::{Error, Result};

/// First token of every text; something to look at for a head that has nothing to say, and, without
/// positions, the only fixed point to count from.
const BOS: &str = "<s>";
const UNKNOWN: &str = "<unk>";

/// Text to ids and back.
#[derive(Clone)]
pub struct Tokenizer(tokenizers::Tokenizer);

impl Tokenizer {
    /// Reads `tokenizer.json`.
    ///
    /// # Errors
    /// If it is not one.
    pub fn from_json(bytes: &[u8]) -> Result<Self> {
        // The crate would start threads, which a browser tab does not have.
        tokenizers::utils::parallelism::set_parallelism(false);
        tokenizers::Tokenizer::from_bytes(bytes).map(Self).map_err(|error| {
            Error::Tokenizer(format!("it cannot be read ({error}); copy it again from the model's folder"))
        })
    }

    /// Writes `tokenizer.json`.
    ///
    /// # Errors
    /// If it cannot be expressed as JSON.
    pub fn to_json(&self) -> Result<String> {
        self.0.to_string(true).map_err(|error| Error::Tokenizer(error.to_string()))
    }

    /// A word-level tokenizer of the corpus: a word is a token, with the space or hyphen before it and a colon behind it; so is a digit.
    ///
    /// # Errors
    /// If the corpus has no words.
    pub fn train(corpus: Vec<String>) -> Result<Self> {
        Self::try_train(corpus).map(Self).map_err(|error| Error::Tokenizer(error.to_string()))
    }

    fn try_train(corpus: Vec<String>) -> tokenizers::Result<tokenizers::Tokenizer> {
        let model = WordLevel::builder().unk_token(UNKNOWN.into()).build()?;
        let mut tokenizer = tokenizers::Tokenizer::new(model);
        // Spaces become ▁ and one is put in front of a text, as in Llama's tokenizers.
        let words = r"[▁-]?\p{L}+:?|▁?\p{N}|▁?[^▁\p{L}\p{N}]|▁";
        tokenizer.with_pre_tokenizer(Some(Sequence::new(vec![
            PreTokenizerWrapper::Metaspace(Metaspace::new('▁', PrependScheme::Always, false)),
            PreTokenizerWrapper::Split(Split::new(
                SplitPattern::Regex(words.into()),
                SplitDelimiterBehavior::Isolated,
                false,
            )?),
        ])));
        tokenizer.with_decoder(Some(DecoderSequence::new(vec![
            MetaspaceDecoder::new('▁', PrependScheme::Always, false).into(),
            Fuse::new().into(),
        ])));
        let special = [UNKNOWN, BOS].map(|token| AddedToken::from(token, true)).to_vec();
        let mut trainer: TrainerWrapper =
            WordLevelTrainer::builder().vocab_size(4096).show_progress(false).special_tokens(special).build()?.into();
        tokenizer.train(&mut trainer, corpus.into_iter())?;
        Ok(tokenizer)
    }

    /// Ids of a text, without a beginning-of-text token.
    ///
    /// # Errors
    /// If the tokenizer's model cannot encode it.
    pub fn encode(&self, text: &str) -> Result<Vec<u32>> {
        let encoding = self.0.encode_fast(text, false).map_err(|error| Error::Tokenizer(error.to_string()))?;
        Ok(encoding.get_ids().to_vec())
    }

    /// Tokens of a text. One that cannot be encoded is longer than any context, so that the caller's own check of
    /// the length refuses it.
    pub fn count(&self, text: &str) -> usize {
        self.encode(text).map_or(usize::MAX / 4, |ids| ids.len())
    }

    /// Ids of a prompt: the beginning-of-text token, where the model has one, and the text.
    ///
    /// # Errors
    /// If the tokenizer's model cannot encode it.
    pub fn prompt(&self, text: &str, bos: Option<u32>) -> Result<Vec<u32>> {
        let mut ids: Vec<u32> = bos.into_iter().collect();
        ids.extend(self.encode(text)?);
        Ok(ids)
    }

    /// Ids of tokens that end a sentence or the text, in order; answers stop there.
    pub fn sentence_ends(&self) -> Vec<u32> {
        let ends_text = ["</s>", "<|end_of_text|>", "<|endoftext|>", "<|eot_id|>", "<|im_end|>"];
        // ▁ and Ġ stand for a space, Ċ for a line's end, which may come in one token with the full stop.
        let is_line_end = |letter| ['\n', 'Ċ'].contains(&letter);
        let ends_sentence = |token: &str| {
            let token = token.trim_start_matches(['▁', 'Ġ', ' ']);
            let rest = token.strip_prefix('.').unwrap_or(token);
            !token.is_empty() && rest.chars().all(is_line_end)
        };
        let vocabulary = self.0.get_vocab(true);
        let ends = vocabulary.iter().filter(|(token, _)| ends_text.contains(&token.as_str()) || ends_sentence(token));
        let mut ids: Vec<u32> = ends.map(|(_, &id)| id).collect();
        ids.sort_unstable();
        ids
    }

    /// Text of ids.
    ///
    /// # Errors
    /// If an id is not in the vocabulary.
    pub fn decode(&self, ids: &[u32]) -> Result<String> {
        self.0.decode(ids, true).map_err(|error| Error::Tokenizer(error.to_string()))
    }

    /// Tokens in the vocabulary.
    pub fn vocab_size(&self) -> usize {
        self.0.get_vocab_size(true)
    }

    /// A token as it is written.
    pub fn token(&self, id: u32) -> Option<String> {
        self.0.id_to_token(id)
    }

    /// The first word of a text that the tokenizer has no token for.
    ///
    /// # Errors
    /// If the tokenizer's model cannot encode it.
    pub fn unknown_word<'a>(&self, text: &'a str) -> Result<Option<&'a str>> {
        let Some(unknown) = self.0.token_to_id(UNKNOWN) else { return Ok(None) };
        for word in text.split_whitespace() {
            if self.encode(word)?.contains(&unknown) {
                return Ok(Some(word));
            }
        }
        Ok(None)
    }

    /// Id of the beginning-of-text token of our own tokenizers.
    pub fn bos(&self) -> Option<u32> {
        self.0.token_to_id(BOS)
    }

    /// Whether it belongs to a model with this vocabulary.
    ///
    /// # Errors
    /// If it has more tokens than the model.
    pub fn check(&self, vocab_size: usize) -> Result<()> {
        let tokenizer = self.vocab_size();
        if tokenizer > vocab_size { Err(Error::Vocabulary { tokenizer, model: vocab_size }) } else { Ok(()) }
    }
}
