//! `core generate`: text after a prompt, as it comes.

use std::io::Write;

use anyhow::Result;
use clap::Args;
use drope_core::chat::conversation;
use drope_core::generate::{Event, Flow, Options, generate};

use crate::arguments::{ReadingArgs, at_least_zero};
use crate::files::model_folder;
use crate::{device, interrupt};

/// Arguments of `core generate`.
#[derive(Args)]
pub struct GenerateArgs {
    #[command(flatten)]
    pub reading: ReadingArgs,
    /// Text to continue.
    #[arg(long)]
    prompt: String,
    /// Take the prompt as a message, and write it as the model's chat template says.
    #[arg(long)]
    chat: bool,
    /// System message, which stands before the message.
    #[arg(long, requires = "chat")]
    system: Option<String>,
    /// Maximum number of tokens to generate.
    #[arg(long, default_value_t = 64)]
    max_new_tokens: usize,
    /// Sampling temperature; 0 always takes the most likely token.
    #[arg(long, default_value_t = 0.0, value_parser = at_least_zero)]
    temperature: f64,
    /// Seed of the sampling.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Maximum number of tokens of prompt and answer together; default: the training context times --factor.
    #[arg(long)]
    context: Option<usize>,
}

/// Prints the answer token by token; Ctrl-C ends it.
pub fn print_answer(args: &GenerateArgs) -> Result<()> {
    let GenerateArgs { reading, prompt, system, .. } = args;
    let (folder, config) = (&reading.model.path, &reading.model.config()?);
    let positions = &reading.model.positions(config)?;
    let context = config.max_position_embeddings as f64 * reading.model.factor(config);
    let tokenizer = model_folder::tokenizer(folder, config)?;
    let chosen = device::open(reading.device)?;
    let model = model_folder::model_as(folder, config, chosen.checked(reading.numbers.types())?, &chosen.device)?;
    let prompt = if args.chat {
        let template = model_folder::asked_chat_template(folder)?;
        tokenizer
            .encode(&template.render(&conversation(system.as_deref(), prompt), chrono::Local::now().naive_local())?)?
    } else {
        tokenizer.prompt(prompt)?
    };
    let options = Options {
        max_new_tokens: args.max_new_tokens,
        stop: tokenizer.answer_ends(&config.eos_token_ids),
        context: args.context.unwrap_or(context as usize),
        crop_length: reading.model.method(config).crop_length(config),
        temperature: args.temperature,
        seed: args.seed,
    };
    interrupt::watch();
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
    if let Some(error) = broken {
        return Err(error.into());
    }
    interrupt::check("stopped")
}
