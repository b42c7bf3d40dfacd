//! `core generate`: text after a prompt, as it comes.

use std::io::Write;
use std::path::Path;

use anyhow::Result;
use drope_core::chat::conversation;
use drope_core::config::Config;
use drope_core::generate::{Event, Flow, Options, generate};
use drope_core::model::NumberTypes;
use drope_core::positions::{Method, Positions};

use crate::device::{self, DeviceChoice};
use crate::{interrupt, model_folder};

/// How to generate.
pub struct GenerateOptions<'a> {
    pub folder: &'a Path,
    pub config: &'a Config,
    pub method: Method,
    pub positions: &'a Positions,
    pub prompt: &'a str,
    /// Whether the prompt is a message, to be written as the model's chat template says.
    pub is_chat: bool,
    /// The system message, which stands before that message.
    pub system: Option<&'a str>,
    pub max_new_tokens: usize,
    pub temperature: f64,
    pub seed: u64,
    /// Maximum number of tokens of prompt and answer together.
    pub context: usize,
    pub device: DeviceChoice,
    pub types: NumberTypes,
}

/// Prints the answer token by token; Ctrl-C ends it.
pub fn print_answer(request: &GenerateOptions) -> Result<()> {
    let GenerateOptions { folder, config, positions, .. } = *request;
    let tokenizer = model_folder::tokenizer(folder, config)?;
    let chosen = device::open(request.device)?;
    let model = model_folder::model_as(folder, config, chosen.keeps(request.types)?, &chosen.device)?;
    let prompt = if request.is_chat {
        let template = model_folder::asked_chat_template(folder)?;
        tokenizer.encode(
            &template.render(&conversation(request.system, request.prompt), chrono::Local::now().naive_local())?,
        )?
    } else {
        tokenizer.prompt(request.prompt)?
    };
    let options = Options {
        max_new_tokens: request.max_new_tokens,
        stop: if config.eos_token_ids.is_empty() { tokenizer.sentence_ends() } else { config.eos_token_ids.clone() },
        context: request.context,
        crop_length: request.method.crop_length(config),
        temperature: request.temperature,
        seed: request.seed,
    };
    interrupt::watch()?;
    let (mut text, mut broken) = (tokenizer.stream(), None);
    let observe = async |event| {
        if let Event::Token(token) = event {
            match text.push(token) {
                Ok(piece) => print!("{piece}"),
                Err(error) => broken = Some(error),
            }
            let _ = std::io::stdout().flush();
        }
        if broken.is_some() || interrupt::requested() { Flow::Stop } else { Flow::Continue }
    };
    pollster::block_on(generate(&model, config, positions, &prompt, &options, observe))?;
    println!();
    broken.map_or(Ok(()), |error| Err(error.into()))
}
