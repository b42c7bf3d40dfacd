//! `core data inspect`: what shards hold.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;

use crate::data::DataShards;

/// Arguments of `core data inspect`.
#[derive(Args)]
pub struct InspectDataArgs {
    /// Folder of the shards.
    shards: PathBuf,
    /// Documents whose beginnings are shown, spread over all of them.
    #[arg(long, default_value_t = 3)]
    show: usize,
    /// Read all shards and compare them with the hashes that were kept.
    #[arg(long)]
    verify: bool,
}

/// Tokens of a document that are shown.
const SHOWN: usize = 60;

/// Prints counts, lengths and beginnings.
pub fn inspect(args: &InspectDataArgs) -> Result<()> {
    let data = DataShards::open(&args.shards)?;
    let manifest = &data.manifest;
    println!("text: {} ({} files, {:.1} MB)", manifest.text.join(" "), manifest.files, manifest.bytes as f64 / 1e6);
    println!("tokenizer: {} tokens, hash {}", manifest.vocab_size, manifest.tokenizer);
    for (shard, index) in manifest.shards.iter().zip(&data.indices) {
        let size = index.token_type.size();
        println!("shard {}: {} documents, {} tokens of {size} bytes", shard.name, shard.documents, shard.tokens);
    }
    if args.verify {
        data.verify()?;
        println!("all files are as they were written");
    }
    let mut lengths: Vec<usize> = data.lengths().collect();
    lengths.sort_unstable();
    if let (Some(least), Some(most)) = (lengths.first(), lengths.last()) {
        let at = |share: f64| lengths[((lengths.len() - 1) as f64 * share).round() as usize];
        let mean = manifest.tokens() as f64 / lengths.len() as f64;
        println!(
            "tokens of a document: {least} to {most}, mean {mean:.0}, quartiles {}, {} and {}, 95 % up to {}",
            at(0.25),
            at(0.5),
            at(0.75),
            at(0.95)
        );
    }
    if manifest.skipped > 0 {
        println!("{} records were skipped; skipped.txt says why", manifest.skipped);
    }
    let tokenizer = data.tokenizer()?;
    for shown in 0..args.show.min(lengths.len()) {
        let document = shown * lengths.len() / args.show;
        let text = tokenizer.decode(&data.document(document, SHOWN)?)?;
        println!("document {document}: {text:?}");
    }
    Ok(())
}
