//! The tokenizer of the synthetic language: a word is a token, and so is a digit.

use tokenizers::decoders::fuse::Fuse;
use tokenizers::decoders::metaspace::Metaspace as MetaspaceDecoder;
use tokenizers::decoders::sequence::Sequence as DecoderSequence;
use tokenizers::models::TrainerWrapper;
use tokenizers::models::wordlevel::{WordLevel, WordLevelTrainer};
use tokenizers::pre_tokenizers::PreTokenizerWrapper;
use tokenizers::pre_tokenizers::metaspace::{Metaspace, PrependScheme};
use tokenizers::pre_tokenizers::sequence::Sequence;
use tokenizers::pre_tokenizers::split::{Split, SplitPattern};
use tokenizers::processors::template::TemplateProcessing;
use tokenizers::{AddedToken, SplitDelimiterBehavior};

use crate::error::{Error, Result};
use crate::tokenizer::{Tokenizer, UNKNOWN};

/// First token of every text: a key for heads that have nothing to look up and, without positions, the only fixed point to
/// count from.
const BOS: &str = "<s>";

impl Tokenizer {
    /// A word-level tokenizer of the corpus: a word is a token, with the space or hyphen before it and a colon after it; so is a digit.
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
        let bos = tokenizer.token_to_id(BOS).ok_or("the corpus left no room for the first token")?;
        let template =
            TemplateProcessing::builder().try_single(format!("{BOS} $A"))?.special_tokens(vec![(BOS, bos)]).build()?;
        tokenizer.with_post_processor(Some(template));
        Ok(tokenizer)
    }
}
