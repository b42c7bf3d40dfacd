//! GGUF, the format of llama.cpp: config, tokenizer and weights in one file, whose tensors may be quantised.
//!
//! Read: the architectures of `config/families/`; tensors of the types of [`GgmlType`]. Written: the same in 16 or 32 bits, with positions
//! dropped too ([`write_gguf`]). Format: version 2 and 3 of
//! <https://github.com/ggml-org/ggml/blob/master/docs/gguf.md>.

mod builder;
mod config;
mod dequantize;
mod dropped;
mod metadata;
mod reader;
mod sentence_piece;
mod tensors;
mod tokenizer;
mod write;
mod write_tokenizer;

pub use self::dequantize::GgmlType;
use self::metadata::Metadata;
use self::reader::Reader;
use self::tensors::{LONGROPE_FACTORS, ROPE_FACTORS, TensorInfo, read_tensors};
pub use self::write::write_gguf;
use crate::chat::ChatTemplate;
use crate::config::Config;
use crate::error::{Error, Result};
use crate::model::ReadAt;
use crate::tokenizer::Tokenizer;

const MAGIC: [u8; 4] = *b"GGUF";
/// Ours: C, where the context that the file says is a multiple of it.
const TRAINING_CONTEXT: &str = "drope.training_context";
const ALIGNMENT: &str = "general.alignment";

/// A GGUF file whose header was read; tensors are read and widened one at a time.
pub struct Gguf<R> {
    file: R,
    metadata: Metadata,
    tensors: Vec<TensorInfo>,
    /// Where the tensors begin in the file.
    start: u64,
}

impl<R: ReadAt> Gguf<R> {
    /// Reads the header.
    ///
    /// # Errors
    /// If it is damaged, or the file ends before its tensors do.
    pub fn open(file: R) -> Result<Self> {
        let mut reader = Reader::new(&file);
        if reader.bytes(4)? != MAGIC {
            return Err(Error::Gguf("the file does not begin with GGUF".into()));
        }
        let version = reader.u32()?;
        if ![2, 3].contains(&version) {
            return Err(Error::Gguf(format!("its version is {version}, but only 2 and 3 are read")));
        }
        let tensors = reader.count("tensors")?;
        let values = reader.count("values")?;
        let metadata = Metadata::read(&mut reader, values)?;
        let alignment = metadata.optional_u64(ALIGNMENT)?.unwrap_or(builder::DEFAULT_ALIGNMENT as u64);
        if !alignment.is_power_of_two() {
            return Err(Error::Gguf(format!("its alignment is {alignment}, which is not a power of two")));
        }
        let tensors = read_tensors(&mut reader, tensors)?;
        let start = reader.position().next_multiple_of(alignment);
        for tensor in &tensors {
            tensor.check(start, alignment, file.size())?;
        }
        Ok(Self { file, metadata, tensors, start })
    }

    /// The config that it describes.
    ///
    /// # Errors
    /// If the architecture is not one that is read, or a value is missing or impossible.
    pub fn config(&self) -> Result<Config> {
        let numbers = |name| self.find(name).map(|info| self.read(info, 0..info.shape[0])).transpose();
        let factors = numbers(ROPE_FACTORS)?;
        let [short, long] = LONGROPE_FACTORS.map(numbers);
        let longrope = short?.zip(long?);
        config::config(&self.metadata, &self.tensors, factors.as_deref(), longrope)
    }

    /// The tokenizer that it describes.
    ///
    /// # Errors
    /// If its kind is not one that is read, or a value is missing or impossible.
    pub fn tokenizer(&self) -> Result<Tokenizer> {
        tokenizer::tokenizer(&self.metadata)
    }

    /// The chat template; `None` if the file has none.
    ///
    /// # Errors
    /// If a value is of another type than it should be.
    pub fn chat_template(&self) -> Result<Option<ChatTemplate>> {
        const TEMPLATE: &str = "tokenizer.chat_template";
        if !self.metadata.has(TEMPLATE) {
            return Ok(None);
        }
        let tokens = self.metadata.texts("tokenizer.ggml.tokens")?;
        let token = |name: &str| -> Result<Option<String>> {
            let id = self.metadata.optional_u64(name)?;
            Ok(id.and_then(|id| tokens.get(id as usize)).map(|&token| token.to_owned()))
        };
        Ok(Some(ChatTemplate {
            source: self.metadata.text(TEMPLATE)?.to_owned(),
            bos_token: token("tokenizer.ggml.bos_token_id")?,
            eos_token: token("tokenizer.ggml.eos_token_id")?,
        }))
    }

    /// Number of elements in all tensors.
    pub fn num_parameters(&self) -> u64 {
        self.tensors.iter().map(|tensor| tensor.shape.iter().product::<usize>() as u64).sum()
    }

    /// The types of its tensors, each once, in the order of their first use.
    pub fn types(&self) -> Vec<GgmlType> {
        let mut types = Vec::new();
        for tensor in &self.tensors {
            if !types.contains(&tensor.kind) {
                types.push(tensor.kind);
            }
        }
        types
    }
}

#[cfg(test)]
mod family_tests;
#[cfg(test)]
mod tests;
