//! `core dope select`: which heads DoPE treats.

use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::{Args, Subcommand};
use drope_core::config::dope::{Criterion, DopeHeads, Noise, Order, Parts, Removal, ScoredVectors, Stage};
use drope_core::dope::truncated_entropies;
use drope_core::loaded_model::CONFIG_FILE;

use crate::arguments::at_least_one;
use crate::device::{self, DeviceChoice};
use crate::files::{self, model_folder, weights_files};
use crate::messages::show;
use crate::reading::held_out::FittingContext;
use crate::threads;

/// What DoPE needs beforehand.
#[derive(Subcommand)]
pub enum Dope {
    /// Choose the heads whose position encoding DoPE removes, by the truncated matrix entropy of their queries or keys.
    Select(SelectArgs),
}

/// Arguments of `core dope select`.
#[derive(Args)]
pub struct SelectArgs {
    /// Folder of the model.
    #[arg(long)]
    model: PathBuf,
    /// Number of heads to choose, over all layers together.
    #[arg(long, default_value_t = 3)]
    heads: usize,
    /// Vectors whose entropy is measured: query, key.
    #[arg(long, default_value = "query")]
    from: ScoredVectors,
    /// Stage at which they are measured: pre_ntk (as projected), post_ntk (rotated by the scaled frequencies),
    /// post_rope (by those of training).
    #[arg(long, default_value = "post_ntk")]
    stage: Stage,
    /// Number r of eigenvalues that the entropy uses; 0: all.
    #[arg(long, default_value_t = 16)]
    rank: usize,
    /// Heads to choose: ascending (those of the lowest entropies), descending (those of the highest).
    #[arg(long, default_value = "ascending")]
    order: Order,
    /// Extension factor of the texts and of the NTK scaling.
    #[arg(long, default_value = "4", value_parser = at_least_one)]
    extension: usize,
    /// What removing means: identity (vectors are not rotated), zero (as printed in the paper).
    #[arg(long, default_value = "identity")]
    removal: Removal,
    /// What dope-parts removes: low (frequencies below 2π/C), high (as printed in the paper).
    #[arg(long, default_value = "low")]
    parts: Parts,
    /// Variance of dope-gaussian's noise: matched, unit.
    #[arg(long, default_value = "matched")]
    noise: Noise,
    /// Documents that heads are judged on.
    #[arg(long, default_value = "4", value_parser = at_least_one)]
    texts: usize,
    /// Seed of the documents.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// File for the choice, for `eval niah --heads`.
    #[arg(long)]
    json: Option<PathBuf>,
    /// Write the choice into the model's config, from which every command reads it.
    #[arg(long)]
    save: bool,
    /// Where to compute.
    #[arg(long, value_enum, default_value = "auto")]
    device: DeviceChoice,
    /// CPU threads that compute.
    #[arg(long, default_value_t = threads::available(), value_parser = at_least_one)]
    pub threads: usize,
}

/// Seed of the noise, as in the paper.
const NOISE_SEED: u64 = 42;

/// Scores every head, chooses, and writes the choice.
pub fn select(options: &SelectArgs) -> Result<()> {
    let &SelectArgs { from, stage, rank, order, .. } = options;
    if options.save {
        weights_files::check_has_config(&options.model, "field for the heads, which --save would write")?;
        files::check_writable(&options.model.join(CONFIG_FILE))?;
    }
    options.json.as_deref().map_or(Ok(()), files::check_writable)?;
    let criterion = Criterion { from, stage, rank: (rank > 0).then_some(rank), order };
    let device = device::open(options.device)?.device;
    let context = FittingContext::open(&options.model, options.texts, options.seed, &device)?;
    let total = context.loaded.config.num_hidden_layers * context.loaded.config.num_attention_heads;
    if options.heads == 0 || options.heads > total {
        bail!("--heads is {} but must be from 1 to the model's {total}", options.heads);
    }
    let texts: Vec<Vec<u32>> =
        context.documents(options.extension, options.texts).into_iter().map(|document| document.ids).collect();
    let factor = options.extension as f64;
    let scored = truncated_entropies(&context.loaded.model, &context.loaded.config, &criterion, factor, &texts);
    let mut heads = pollster::block_on(scored)?;
    heads.sort_by(|a, b| match order {
        Order::Ascending => a.entropy.total_cmp(&b.entropy),
        Order::Descending => b.entropy.total_cmp(&a.entropy),
    });
    for (rank, head) in heads.iter().enumerate() {
        let chosen = if rank < options.heads { "chosen" } else { "" };
        show(format_args!("layer {:2} head {:2}  {:.4}  {chosen}", head.layer, head.head, head.entropy));
    }
    heads.truncate(options.heads);
    let chosen = DopeHeads {
        criterion,
        extension: options.extension,
        removal: options.removal,
        parts: options.parts,
        noise: options.noise,
        seed: NOISE_SEED,
        heads,
    };
    if let Some(path) = &options.json {
        files::write(path, (serde_json::to_string_pretty(&chosen)? + "\n").as_bytes())?;
    }
    if options.save {
        let config = drope_core::config::Config { dope_heads: Some(chosen), ..context.loaded.config };
        model_folder::change_config(&options.model, &config)?;
    }
    Ok(())
}
