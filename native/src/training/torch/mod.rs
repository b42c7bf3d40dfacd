//! `core recalibrate --engine torch`: a folder that PyTorch trains, on one device or on several machines.
//!
//! Batches are written as they are drawn here, so that the script needs no shards and no order of its own.

use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use burn::tensor::Device;
use drope_core::model::{ComputeType, Model};
use drope_core::train::OptimizerKind;
use drope_core::train::recipe::Recipe;
use serde::Serialize;

use super::checkpoint::Checkpoint;
use super::job::Job;
use super::recipe::FILE;
use super::text::RunText;
use crate::files::{self, model_folder, weights_files};
use crate::interrupt;
use crate::messages::say;
use crate::progress::Progress;

/// The script, which stands beside the batches.
const SCRIPT: &str = include_str!("train.py");
/// The file that is written last.
pub const PLAN_FILE: &str = "plan.json";

/// What the script reads of a recipe.
#[derive(Serialize)]
struct Plan {
    seed: u64,
    steps: usize,
    /// Windows of an update.
    rows: usize,
    /// Tokens of a window.
    context: usize,
    /// Of the tokens in `batches.bin`, as numpy names it; little-endian.
    #[serde(rename = "type")]
    number_type: &'static str,
    compute: ComputeType,
    recompute: bool,
    weight_decay: f32,
    max_gradient_norm: f64,
    /// Of each update.
    learning_rates: Vec<f64>,
}

/// Writes the folder: the model as training begins with it, all batches, the recipe, and the script.
pub fn write_folder(
    out: &Path,
    job: &Job,
    text: &RunText,
    initial: impl FnOnce(&Device) -> Result<Model>,
) -> Result<()> {
    let recipe = job.recipe;
    check(recipe)?;
    ensure!(!out.join(PLAN_FILE).exists(), "{} is such a folder already; choose another --out", out.display());
    let is_own = weights_files::holds_weights(out) || Checkpoint::find(out)?.is_some();
    ensure!(!is_own, "{} holds a run of --engine core; choose another --out", out.display());
    interrupt::watch();
    let batch = text.source.batch(recipe.seed, 0)?;
    let wide = job.config.vocab_size > usize::from(u16::MAX) + 1;
    write_batches(&out.join("batches.bin"), job, text, wide)?;
    model_folder::save(&out.join("model"), &initial(&Device::flex())?, job.metadata())?;
    files::write(&out.join("train.py"), SCRIPT.as_bytes())?;
    files::write(&out.join(FILE), toml::to_string(recipe)?.as_bytes())?;
    let plan = Plan {
        seed: recipe.seed,
        steps: recipe.steps,
        rows: batch.rows,
        context: batch.length,
        number_type: if wide { "<u4" } else { "<u2" },
        compute: recipe.compute,
        recompute: recipe.memory.recompute,
        weight_decay: recipe.weight_decay,
        max_gradient_norm: recipe.max_gradient_norm,
        learning_rates: (0..recipe.steps).map(|step| recipe.schedule.at(step, recipe.steps)).collect(),
    };
    // The plan last, so that a folder with it is whole.
    files::write(&out.join(PLAN_FILE), &serde_json::to_vec_pretty(&plan)?)?;
    println!(
        "{} holds the model, {} updates of {} rows and train.py, which says how it is run; the result will be in {}",
        out.display(),
        plan.steps,
        plan.rows,
        out.join("trained").display()
    );
    Ok(())
}

/// Refuses what transformers' Trainer does not do.
fn check(recipe: &Recipe) -> Result<()> {
    ensure!(
        recipe.optimizer == OptimizerKind::AdamW,
        "--engine torch trains with AdamW; set optimizer = \"adamw\" in the recipe"
    );
    let Some(data) = recipe.data.as_ref().filter(|data| data.synthetic == 0.0) else {
        bail!("--engine torch trains on shards alone; name them in [data] and leave out the synthetic language");
    };
    ensure!(
        data.copies.is_none_or(|copies| copies.max == 1.0),
        "--engine torch cannot count tokens several times; leave out [data.copies]"
    );
    ensure!(
        !data.mask_documents,
        "--engine torch does not keep documents of a window apart; set data.mask_documents = false"
    );
    if recipe.guard.is_some() || recipe.evaluation.is_some() {
        say(format_args!(
            "note: train.py leaves out no updates and measures no held-out loss; [guard] and [evaluation] do not count there"
        ));
    }
    Ok(())
}

/// Tokens of all updates in their order.
fn write_batches(path: &Path, job: &Job, text: &RunText, wide: bool) -> Result<()> {
    let recipe = job.recipe;
    let bar = Progress::new(recipe.steps as u64, "batch {pos}/{len}")?;
    let staged = files::stage(path, |out| {
        for step in 0..recipe.steps {
            interrupt::check("stopped; nothing was written")?;
            let ids = text.source.batch(recipe.seed, step)?.ids;
            job.config.check_ids(&ids).with_context(|| {
                format!("the text from {} cannot be trained on", text.source.place(recipe.seed, step))
            })?;
            let bytes: Vec<u8> = if wide {
                ids.iter().flat_map(|id| id.to_le_bytes()).collect()
            } else {
                ids.iter().flat_map(|&id| (id as u16).to_le_bytes()).collect()
            };
            out.write_all(&bytes).with_context(|| format!("cannot write {}", path.display()))?;
            bar.set_position(step as u64 + 1);
        }
        Ok(())
    })?;
    bar.finish();
    staged.commit()
}
