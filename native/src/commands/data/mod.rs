//! `core data`: text as shards of tokens.

mod inspect;
mod prepare;

use anyhow::Result;
use clap::Subcommand;

/// Text as shards of tokens.
#[derive(Subcommand)]
pub enum Data {
    /// Tokenize files of text into shards as Megatron-LM stores them (.bin and .idx); what is stopped goes on.
    Prepare(prepare::PrepareArgs),
    /// Show how many documents and tokens shards hold, how long documents are, and the beginnings of some.
    Inspect(inspect::InspectDataArgs),
}

/// Executes one.
pub fn execute(data: &Data) -> Result<()> {
    match data {
        Data::Prepare(args) => prepare::prepare(args),
        Data::Inspect(args) => inspect::inspect(args),
    }
}
