//! `core data prepare`: files of text to shards of tokens.

use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Args;
use drope_core::config::Config;

use crate::arguments::at_least_one;
use crate::data::{self, Preparation};
use crate::files::model_folder;
use crate::threads;

/// Arguments of `core data prepare`.
#[derive(Args)]
pub struct PrepareArgs {
    /// Patterns of files, such as 'corpus/**/*.txt': .txt, .md, .jsonl, .json (an object a line), all of these with .gz or .zst, and
    /// .parquet.
    #[arg(long, required = true, num_args = 1..)]
    text: Vec<String>,
    /// Folder of the model, or its GGUF, whose tokenizer and special tokens are used.
    #[arg(long)]
    tokenizer: PathBuf,
    /// Folder for the shards; the same command goes on with a run that was stopped.
    #[arg(long)]
    out: PathBuf,
    /// The field or column of the text in .jsonl, .json and .parquet.
    #[arg(long, default_value = "text")]
    column: String,
    /// Million tokens of a shard; documents are not split, so that it may be a little longer.
    #[arg(long, default_value = "500", value_parser = at_least_one)]
    shard_size: usize,
    /// CPU threads that tokenize.
    #[arg(long, default_value_t = threads::available(), value_parser = at_least_one)]
    threads: usize,
}

/// Writes the shards, and says what they hold.
pub fn prepare(args: &PrepareArgs) -> Result<()> {
    let config = model_folder::config(&args.tokenizer)?;
    let tokenizer = model_folder::tokenizer(&args.tokenizer, &config)?;
    let ends = ends(&config).with_context(|| {
        format!(
            "{} names neither an end nor a beginning of texts (eos_token_id, bos_token_id), so that documents could not be told \
             apart",
            args.tokenizer.display()
        )
    })?;
    let manifest = data::prepare(&Preparation {
        text: &args.text,
        column: &args.column,
        tokenizer: &tokenizer,
        ends,
        out: &args.out,
        shard_tokens: args.shard_size as u64 * 1_000_000,
        threads: args.threads,
    })?;
    println!(
        "{} documents of {} files: {} tokens of {:.1} MB of text in {} shards in {}",
        manifest.documents(),
        manifest.files,
        manifest.tokens(),
        manifest.bytes as f64 / 1e6,
        manifest.shards.len(),
        args.out.display()
    );
    if manifest.skipped > 0 {
        println!("{} records were skipped; skipped.txt beside the shards says why", manifest.skipped);
    }
    Ok(())
}

/// The tokens that a document begins and ends with: its end alone where the model has one, else its beginning.
fn ends(config: &Config) -> Option<[Option<u32>; 2]> {
    match (config.bos_token_id, config.eos_token_ids.first()) {
        (_, Some(&end)) => Some([None, Some(end)]),
        (Some(begin), None) => Some([Some(begin), None]),
        (None, None) => None,
    }
}
