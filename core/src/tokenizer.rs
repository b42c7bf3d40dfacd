//! `tokenizer.json`: text to ids and back, by its own rules.

use std::ops::Range;

use tokenizers::{
    DecodeStream, DecoderWrapper, ModelWrapper, NormalizerWrapper, PostProcessorWrapper, PreTokenizerWrapper,
};

use crate::error::{Error, Result};

/// What our own tokenizers say for a word that they do not know.
pub(crate) const UNKNOWN: &str = "<unk>";

/// Text to ids and back.
#[derive(Clone)]
pub struct Tokenizer(pub(crate) tokenizers::Tokenizer);

impl Tokenizer {
    /// Reads `tokenizer.json`.
    ///
    /// # Errors
    /// If it is not one.
    pub fn from_json(bytes: &[u8]) -> Result<Self> {
        // The crate would start threads, which a browser tab does not have.
        tokenizers::utils::parallelism::set_parallelism(false);
        let mut tokenizer = tokenizers::Tokenizer::from_bytes(bytes).map_err(|error| {
            Error::Tokenizer(format!("it cannot be read ({error}); copy it again from the model's folder"))
        })?;
        // As in transformers, texts are neither cut nor padded, whatever the file was last used for.
        tokenizer.with_padding(None);
        tokenizer.with_truncation(None).map_err(|error| Error::Tokenizer(error.to_string()))?;
        Ok(Self(tokenizer))
    }

    /// Writes `tokenizer.json`.
    ///
    /// # Errors
    /// If it cannot be expressed as JSON.
    pub fn to_json(&self) -> Result<String> {
        self.0.to_string(true).map_err(|error| Error::Tokenizer(error.to_string()))
    }

    /// Ids of a text as a model reads it, with what the post-processor of `tokenizer.json` adds: a beginning-of-text token for
    /// Llama, none for SmolLM and Qwen 2.
    ///
    /// # Errors
    /// If the tokenizer's model cannot encode it.
    pub fn prompt(&self, text: &str) -> Result<Vec<u32>> {
        Ok(self.ids(text, true)?.get_ids().to_vec())
    }

    /// As [`Tokenizer::prompt`]. With `chat_affixes`, the text that a chat template writes before and after the message,
    /// nothing else is added, since it contains the beginning-of-text token.
    ///
    /// # Errors
    /// If the tokenizer's model cannot encode it.
    pub fn message(&self, text: &str, chat_affixes: Option<[&str; 2]>) -> Result<Vec<u32>> {
        match chat_affixes {
            None => self.prompt(text),
            Some([before, behind]) => self.encode(&[before, text, behind].concat()),
        }
    }

    /// As [`Tokenizer::prompt`], with the bytes of the text that each token stands for; those of an added token are empty.
    ///
    /// # Errors
    /// If the tokenizer's model cannot encode it.
    pub fn prompt_with_spans(&self, text: &str) -> Result<(Vec<u32>, Vec<Range<usize>>)> {
        self.ids_with_spans(text, true)
    }

    /// As [`Tokenizer::encode`], with the bytes of the text that each token stands for.
    ///
    /// # Errors
    /// If the tokenizer's model cannot encode it.
    pub fn encode_with_spans(&self, text: &str) -> Result<(Vec<u32>, Vec<Range<usize>>)> {
        self.ids_with_spans(text, false)
    }

    fn ids_with_spans(&self, text: &str, add_special_tokens: bool) -> Result<(Vec<u32>, Vec<Range<usize>>)> {
        let encoding = self.0.encode(text, add_special_tokens).map_err(|error| Error::Tokenizer(error.to_string()))?;
        let spans = encoding.get_offsets().iter().map(|&(start, end)| start..end).collect();
        Ok((encoding.get_ids().to_vec(), spans))
    }

    /// Ids of a text alone, with nothing added.
    ///
    /// # Errors
    /// If the tokenizer's model cannot encode it.
    pub fn encode(&self, text: &str) -> Result<Vec<u32>> {
        Ok(self.ids(text, false)?.get_ids().to_vec())
    }

    fn ids(&self, text: &str, add_special_tokens: bool) -> Result<tokenizers::Encoding> {
        self.0.encode_fast(text, add_special_tokens).map_err(|error| Error::Tokenizer(error.to_string()))
    }

    /// Number of tokens of a text that follows a space. A text that cannot be encoded counts as longer than any
    /// context, so that the caller's own check of the length refuses it; some thousand of them can be added up.
    pub fn count(&self, text: &str) -> usize {
        self.encode(&format!(" {text}")).map_or(usize::MAX >> 12, |ids| ids.len())
    }

    /// Ids that the post-processor puts before every text.
    pub fn prefix(&self) -> Vec<u32> {
        // Added tokens have empty spans.
        let (ids, spans) = self.prompt_with_spans("a").unwrap_or_default();
        ids.into_iter().zip(spans).take_while(|(_, span)| span.is_empty()).map(|(id, _)| id).collect()
    }

    /// The beginning-of-text token, where the post-processor adds one.
    pub fn bos(&self) -> Option<u32> {
        self.prefix().first().copied()
    }

    /// A decoder for ids that come one by one.
    pub fn stream(&self) -> TextStream<'_> {
        TextStream(self.0.decode_stream(true))
    }

    /// Ids of the tokens at which an answer in free words stops: the model's end-of-text tokens, or the ends of sentences if it
    /// has none.
    pub fn answer_ends(&self, eos_token_ids: &[u32]) -> Vec<u32> {
        if eos_token_ids.is_empty() { self.sentence_ends() } else { eos_token_ids.to_vec() }
    }

    /// Ids of tokens that end a sentence or the text, in order; answers of the retrieval tasks stop there.
    pub fn sentence_ends(&self) -> Vec<u32> {
        // The last is a line's end in SentencePiece's vocabularies.
        let ends_text = ["</s>", "<|end_of_text|>", "<|endoftext|>", "<|eot_id|>", "<|im_end|>", "<0x0A>"];
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

    /// Rows that a table of its tokens needs: one more than the largest id, which is the number of tokens where no id is left out.
    pub fn vocab_size(&self) -> usize {
        self.0.get_vocab(true).into_values().max().map_or(0, |largest| largest as usize + 1)
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

    /// Checks that it fits a model with this vocabulary. Added tokens may have ids behind it, as Gemma 3's `<image_soft_token>`: a text that
    /// has one of them is refused ([`Config::check_ids`](crate::config::Config::check_ids)).
    ///
    /// # Errors
    /// If it has other ids that the model does not have.
    pub fn check(&self, vocab_size: usize) -> Result<()> {
        let tokenizer = self.0.get_vocab(false).into_values().max().map_or(0, |largest| largest as usize + 1);
        if tokenizer > vocab_size { Err(Error::Vocabulary { tokenizer, model: vocab_size }) } else { Ok(()) }
    }
}

/// Text of ids that come one by one. A character that needs several tokens comes with the last of them.
pub struct TextStream<'a>(
    DecodeStream<'a, ModelWrapper, NormalizerWrapper, PreTokenizerWrapper, PostProcessorWrapper, DecoderWrapper>,
);

impl TextStream<'_> {
    /// What the next token adds to the text: nothing while a character is incomplete.
    ///
    /// # Errors
    /// If the id is not in the vocabulary.
    pub fn push(&mut self, id: u32) -> Result<String> {
        let text = self.0.step(id).map_err(|error| Error::Tokenizer(error.to_string()))?;
        Ok(text.unwrap_or_default())
    }
}
