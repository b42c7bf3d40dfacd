//! Chat templates: how a model that was trained on conversations wants a message written.
//!
//! Jinja as `transformers.apply_chat_template` reads it. A template is a program that somebody else wrote: it gets no files, no
//! clock (the caller says what the date is) and a bounded number of steps.

#[cfg(feature = "chat")]
mod render;

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};

#[cfg(feature = "chat")]
pub use self::render::conversation;
use crate::error::{Error, Result};

/// The file beside the weights that names the special tokens and, in most folders, holds the template.
pub const TOKENIZER_CONFIG_FILE: &str = "tokenizer_config.json";
/// The template's own file, in newer folders.
pub const CHAT_TEMPLATE_FILE: &str = "chat_template.jinja";

/// The author of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// What the model is told about its task.
    System,
    /// The user.
    User,
    /// The model.
    Assistant,
}

/// A part of a conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Message {
    /// The author.
    pub role: Role,
    /// Its text.
    pub content: String,
}

/// A model's template and the tokens that it may write.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChatTemplate {
    /// In Jinja.
    pub source: String,
    /// The token that begins texts, where there is one.
    pub bos_token: Option<String>,
    /// The token that ends them.
    pub eos_token: Option<String>,
}

impl ChatTemplate {
    /// Reads a template and its tokens. A template in a file of its own is preferred to the one in
    /// `tokenizer_config.json`; `None` if neither file has one.
    ///
    /// # Errors
    /// If the JSON cannot be read.
    pub fn from_files(tokenizer_config: Option<&str>, own_file: Option<&str>) -> Result<Option<Self>> {
        let config: TokenizerConfig = match tokenizer_config {
            None => TokenizerConfig::default(),
            Some(text) => serde_json::from_str(text)
                .map_err(|error| Error::Chat(format!("{TOKENIZER_CONFIG_FILE} cannot be read ({error})")))?,
        };
        let source = own_file.map(str::to_owned).or_else(|| match config.chat_template {
            Some(Templates::One(source)) => Some(source),
            Some(Templates::Named(all)) => all.into_iter().find(|one| one.name == "default").map(|one| one.template),
            None => None,
        });
        let [bos_token, eos_token] = [config.bos_token, config.eos_token].map(|token| token.map(SpecialToken::text));
        Ok(source.map(|source| Self { source, bos_token, eos_token }))
    }

    /// A `tokenizer_config.json` with this template and these tokens.
    pub fn to_json(&self) -> String {
        let Self { source, bos_token, eos_token } = self;
        let json = serde_json::json!({ "bos_token": bos_token, "chat_template": source, "eos_token": eos_token });
        format!("{json:#}\n")
    }
}

#[derive(Default, Deserialize)]
struct TokenizerConfig {
    bos_token: Option<SpecialToken>,
    eos_token: Option<SpecialToken>,
    chat_template: Option<Templates>,
}

/// A token: its text, or an object that also says how it is matched.
#[derive(Deserialize)]
#[serde(untagged)]
enum SpecialToken {
    Text(String),
    Added { content: String },
    Other(IgnoredAny),
}

impl SpecialToken {
    fn text(self) -> String {
        match self {
            Self::Text(text) | Self::Added { content: text } => text,
            Self::Other(IgnoredAny) => String::new(),
        }
    }
}

/// One template, or several by name.
#[derive(Deserialize)]
#[serde(untagged)]
enum Templates {
    One(String),
    Named(Vec<NamedTemplate>),
}

#[derive(Deserialize)]
struct NamedTemplate {
    name: String,
    template: String,
}

#[cfg(all(test, feature = "chat"))]
mod tests;
