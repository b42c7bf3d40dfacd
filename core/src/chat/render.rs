//! Writing a conversation as a template says.

use std::fmt::Write as _;
use std::io::Write;

use chrono::{NaiveDate, NaiveDateTime, NaiveTime};
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

/// The date in messages of evaluations and of the page, whose scores must not change with the day. Llama 3's templates
/// write it where they are told no date.
const FIXED_DATE: NaiveDateTime = match NaiveDate::from_ymd_opt(2024, 7, 26) {
    Some(date) => NaiveDateTime::new(date, NaiveTime::MIN),
    None => NaiveDateTime::MIN,
};

impl ChatTemplate {
    /// The conversation as the model reads it, up to where its answer begins. `now` is what templates that write the date
    /// take it for. The text already holds the tokens that begin it: encode it without adding any ([`Tokenizer::encode`]).
    ///
    /// # Errors
    /// If the template is broken, refuses the messages, or takes too many steps.
    ///
    /// [`Tokenizer::encode`]: crate::tokenizer::Tokenizer::encode
    pub fn render(&self, messages: &[Message], now: NaiveDateTime) -> Result<String> {
        let mut environment = Environment::new();
        // As transformers sets Jinja up.
        let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build();
        environment.set_syntax(syntax.map_err(|error| Error::Chat(error.to_string()))?);
        environment.set_unknown_method_callback(unknown_method_callback);
        environment.set_fuel(Some(FUEL));
        environment.add_function("raise_exception", |text: String| -> std::result::Result<(), minijinja::Error> {
            Err(minijinja::Error::new(ErrorKind::InvalidOperation, text))
        });
        environment.add_function("strftime_now", move |format: String| date_of(now, &format));
        // As in Python, where texts are iterable and none is not.
        environment.add_test("iterable", |value: Value| {
            value.as_str().is_some() || !value.is_none() && value.try_iter().is_ok()
        });
        environment.add_filter("tojson", |value: Value, arguments: Kwargs| json_of(&value, &arguments));
        let refused = |error: minijinja::Error| {
            let line = error.line().map(|line| format!(" in line {line}")).unwrap_or_default();
            let reason = error.detail().map_or_else(|| error.kind().to_string(), str::to_owned);
            Error::Chat(format!("the template fails{line}: {reason}"))
        };
        let variables = context! {
            messages => Value::from(Serde(messages)),
            // Templates ask whether these are none, and not only whether they are defined.
            tools => Value::from(()),
            documents => Value::from(()),
            add_generation_prompt => true,
            bos_token => self.bos_token.as_deref().unwrap_or_default(),
            eos_token => self.eos_token.as_deref().unwrap_or_default(),
        };
        environment.render_str(&without_generation_blocks(&self.source), variables).map_err(refused)
    }

    /// The text that the template writes before and after the user's only message.
    ///
    /// # Errors
    /// As [`ChatTemplate::render`]; or if the template does not repeat the text.
    pub fn affixes(&self, system: Option<&str>) -> Result<[String; 2]> {
        // A word that no template treats specially.
        const TEXT: &str = "xyzzyxyzzy";
        let rendered = self.render(&conversation(system, TEXT), FIXED_DATE)?;
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

/// A date as Python's `strftime` writes it.
fn date_of(now: NaiveDateTime, format: &str) -> std::result::Result<String, minijinja::Error> {
    let mut text = String::new();
    let wrong = |_| minijinja::Error::new(ErrorKind::InvalidOperation, format!("{format:?} is not a format of dates"));
    write!(text, "{}", now.format(format)).map_err(wrong)?;
    Ok(text)
}

/// The template with `{% with %}` in place of `{% generation %}`, by which transformers marks what a model says, and
/// which changes nothing in the text. Both are blocks with names of their own, and remove the same spaces.
fn without_generation_blocks(source: &str) -> String {
    let mut text = String::with_capacity(source.len());
    let mut rest = source;
    while let Some(start) = rest.find("{%") {
        let (before, tag) = rest.split_at(start);
        text.push_str(before);
        let end = tag.find("%}").map_or(tag.len(), |end| end + 2);
        let (tag, behind) = tag.split_at(end);
        let word = tag.trim_matches(|letter: char| "{%}-+".contains(letter) || letter.is_whitespace());
        match word {
            "generation" => text.push_str(&tag.replacen(word, "with", 1)),
            "endgeneration" => text.push_str(&tag.replacen(word, "endwith", 1)),
            _ => text.push_str(tag),
        }
        rest = behind;
    }
    text.push_str(rest);
    text
}

/// Most spaces that a line of JSON is indented by: a template must not fill the memory.
const WIDEST_INDENT: usize = 64;

/// JSON as Python's `json.dumps` writes it: with spaces, or indented if the argument `indent` says so.
fn json_of(value: &Value, arguments: &Kwargs) -> std::result::Result<String, minijinja::Error> {
    let indent = arguments.get::<Option<usize>>("indent")?;
    if indent.is_some_and(|width| width > WIDEST_INDENT) {
        let reason = format!("tojson takes an indent of at most {WIDEST_INDENT}");
        return Err(minijinja::Error::new(ErrorKind::InvalidOperation, reason));
    }
    let indent = indent.map(|width| " ".repeat(width));
    let mut text = Vec::new();
    let written = match &indent {
        Some(indent) => {
            let formatter = serde_json::ser::PrettyFormatter::with_indent(indent.as_bytes());
            value.serialize(&mut serde_json::Serializer::with_formatter(&mut text, formatter))
        }
        None => value.serialize(&mut serde_json::Serializer::with_formatter(&mut text, Spaced)),
    };
    let wrong = |reason: String| minijinja::Error::new(ErrorKind::BadSerialization, reason);
    written.map_err(|error| wrong(error.to_string()))?;
    String::from_utf8(text).map_err(|error| wrong(error.to_string()))
}

/// Spaces behind commas and colons.
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
