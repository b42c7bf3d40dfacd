//! Writing a conversation as a template says.

use std::io::Write;

use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Kwargs, Serde};
use minijinja::{Environment, ErrorKind, Value, context};
use minijinja_contrib::pycompat::unknown_method_callback;
use serde::Serialize;
use serde_json::ser::Formatter;

use super::{ChatTemplate, Message, Role};
use crate::error::{Error, Result};

/// Most steps that a template may take.
const FUEL: u64 = 1_000_000;

impl ChatTemplate {
    /// The conversation as the model reads it, up to where its answer begins. The tokens that begin a text are in it already:
    /// encode it without adding any ([`Tokenizer::encode`]).
    ///
    /// # Errors
    /// If the template is broken, refuses the messages, or takes too many steps.
    ///
    /// [`Tokenizer::encode`]: crate::tokenizer::Tokenizer::encode
    pub fn render(&self, messages: &[Message]) -> Result<String> {
        let mut environment = Environment::new();
        // As transformers sets Jinja up.
        let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build();
        environment.set_syntax(syntax.map_err(|error| Error::Chat(error.to_string()))?);
        environment.set_unknown_method_callback(unknown_method_callback);
        environment.set_fuel(Some(FUEL));
        environment.add_function("raise_exception", |text: String| -> std::result::Result<(), minijinja::Error> {
            Err(minijinja::Error::new(ErrorKind::InvalidOperation, text))
        });
        environment.add_filter("tojson", |value: Value, _: Kwargs| json_of(&value));
        let refused = |error: minijinja::Error| {
            let line = error.line().map(|line| format!(" in line {line}")).unwrap_or_default();
            let reason = error.detail().map_or_else(|| error.kind().to_string(), str::to_owned);
            Error::Chat(format!("the template fails{line}: {reason}"))
        };
        let variables = context! {
            messages => Value::from(Serde(messages)),
            add_generation_prompt => true,
            bos_token => self.bos_token.as_deref().unwrap_or_default(),
            eos_token => self.eos_token.as_deref().unwrap_or_default(),
        };
        environment.render_str(&self.source, variables).map_err(refused)
    }

    /// The text that the template writes before and after the user's only message.
    ///
    /// # Errors
    /// As [`ChatTemplate::render`]; or if the template does not repeat the text.
    pub fn around(&self, system: Option<&str>) -> Result<[String; 2]> {
        // A word that no template treats specially.
        const TEXT: &str = "xyzzyxyzzy";
        let rendered = self.render(&conversation(system, TEXT))?;
        match rendered.split(TEXT).collect::<Vec<_>>()[..] {
            [before, behind] => Ok([before.to_owned(), behind.to_owned()]),
            _ => Err(Error::Chat("the template does not repeat the message just once".into())),
        }
    }
}

/// The messages of a conversation: a system message, if there is one, and a question.
pub fn conversation(system: Option<&str>, text: &str) -> Vec<Message> {
    let system = system.map(|content| Message { role: Role::System, content: content.to_owned() });
    system.into_iter().chain([Message { role: Role::User, content: text.to_owned() }]).collect()
}

/// JSON with the spaces that Python writes.
fn json_of(value: &Value) -> String {
    struct Spaced;
    impl Formatter for Spaced {
        fn begin_array_value<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> std::io::Result<()> {
            if first { Ok(()) } else { writer.write_all(b", ") }
        }

        fn begin_object_key<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> std::io::Result<()> {
            self.begin_array_value(writer, first)
        }

        fn begin_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> std::io::Result<()> {
            writer.write_all(b": ")
        }
    }
    let mut text = Vec::new();
    // This fails only for keys that are not texts, which templates do not produce.
    let _ = value.serialize(&mut serde_json::Serializer::with_formatter(&mut text, Spaced));
    String::from_utf8(text).unwrap_or_default()
}
