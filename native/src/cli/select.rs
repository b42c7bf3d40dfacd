//! Arguments of `core dope select`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use drope_core::config::dope::{Criterion, Noise, Order, Parts, Projection, Removal, Stage};

use super::at_least_one;
use crate::device::DeviceChoice;
use crate::{dope, threads};

#[derive(Subcommand)]
pub enum Dope {
    /// Choose the heads whose position encoding DoPE removes, by the truncated matrix entropy of their queries or keys.
    Select(SelectArgs),
}

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
    from: Projection,
    /// Stage at which they are measured: pre_ntk (as projected), post_ntk (rotated by the scaled frequencies),
    /// post_rope (by those of training).
    #[arg(long, default_value = "post_ntk")]
    stage: Stage,
    /// Number r of eigenvalues that the entropy uses; 0: all.
    #[arg(long, default_value_t = 16)]
    rank: usize,
    /// Heads to choose: ascending (those of the lowest scores), descending (those of the highest scores).
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

impl From<SelectArgs> for dope::SelectOptions {
    fn from(select: SelectArgs) -> Self {
        Self {
            model: select.model,
            heads: select.heads,
            criterion: Criterion {
                from: select.from,
                stage: select.stage,
                rank: (select.rank > 0).then_some(select.rank),
                order: select.order,
            },
            extension: select.extension,
            removal: select.removal,
            parts: select.parts,
            noise: select.noise,
            texts: select.texts,
            seed: select.seed,
            json: select.json,
            save: select.save,
            device: select.device,
        }
    }
}
