//! The loop of a run: batches, updates, checkpoints, and what ends it early.

use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use burn::tensor::Device;
use drope_core::loaded_model::WEIGHTS_FILE;
use drope_core::model::{ComputeType, Model};
use drope_core::positions::Method;
use drope_core::train::recipe::Recipe;
use drope_core::train::{AnySource, Batch, Trainer};

use super::card::card;
use super::checkpoint::{self, Checkpoint, TrainingState};
use super::held_out::{self, HeldOut};
use super::job::Job;
use super::options::TrainOptions;
use super::progress::{CURVE_FILE, RunProgress};
use super::text::RunText;
use super::{picture, recipe};
use crate::device::{self, OpenDevice};
use crate::files::card::CARD_FILE;
use crate::files::model_folder;
use crate::files::{self, weights_files};
use crate::messages::say;
use crate::{allocator, interrupt};

/// Time after which a checkpoint is written, though fewer updates were made than lie between two.
const SAVE_AFTER: Duration = Duration::from_mins(10);
/// Batches made ahead of the update that needs them.
const BATCHES_AHEAD: usize = 4;

/// Trains to the end of the recipe, from the weights that `initial` makes or from a checkpoint.
pub fn train_to_end(
    options: &TrainOptions,
    job: &Job,
    text: RunText,
    initial: impl FnOnce(&Device) -> Result<Model>,
) -> Result<()> {
    let recipe = job.recipe;
    files::check_writable(&options.out.join(WEIGHTS_FILE))?;
    let Some(lock) = files::try_lock(&lock_of(options.out))? else {
        bail!("another run trains in {}; wait for it, or choose another --out", options.out.display());
    };
    let OpenDevice { device, .. } = device::open(options.device)?;
    check_compute(recipe.compute, &device)?;
    let (mut state, mut trainer) = begin(options, job, initial, &device.autodiff())?;
    if options.gpus > 1 {
        trainer = trainer.with_devices(cards(options, recipe)?);
    }
    if let Some(until) = options.until.filter(|&until| until < state.step) {
        bail!("the run in {} is already at step {}, past step {until}", options.out.display(), state.step);
    }
    if options.until == Some(state.step) {
        return Ok(());
    }
    interrupt::watch();
    allocator::keep_free_memory();
    let mut progress = RunProgress::start(options.out, &state, recipe)?;
    if let Some(windows) = &text.held_out {
        job.config.check_ids(&windows.ids).context("the held-out text cannot be measured")?;
    }
    let mut held_out = HeldOut::start(options.out, job, text.held_out, &state);
    measure(held_out.as_mut(), options, job, &trainer, &state, &progress)?;
    if interrupt::requested() {
        return Err(stopped(&state, recipe).into());
    }
    let mut saved = Instant::now();
    for (place, batch) in batches_ahead(text.source, recipe.seed, state.step..recipe.steps) {
        let batch = batch?;
        job.config.check_ids(&batch.ids).with_context(|| format!("the text from {place} cannot be trained on"))?;
        let began = Instant::now();
        let report;
        (trainer, report) = pollster::block_on(trainer.step(&batch)).with_context(|| ended(options.out, &state))?;
        state.step += 1;
        state.tokens += batch.ids.len() as u64;
        if report.is_left_out {
            state.left_out += 1;
            progress.say(&format!(
                "step {}: left out, its gradients have a norm of {:.3}; its text is {place}",
                state.step, report.gradient_norm
            ));
        }
        progress.record(&mut state, &batch, &report, began.elapsed().as_secs_f64())?;
        measure(held_out.as_mut(), options, job, &trainer, &state, &progress)?;
        let is_stopped = interrupt::requested();
        let is_paused = options.until.is_some_and(|until| state.step >= until) && state.step < recipe.steps;
        let is_due = state.step.is_multiple_of(options.save_every) || saved.elapsed() >= SAVE_AFTER;
        if is_stopped || is_paused || (is_due && state.step < recipe.steps) {
            checkpoint::save(options.out, &state, job, &trainer, options.keep)?;
            saved = Instant::now();
            picture::draw(options.out)?;
        }
        if is_stopped {
            return Err(stopped(&state, recipe).into());
        }
        if is_paused {
            let folder = checkpoint::folder(options.out);
            println!("paused at step {} of {}; the model so far is in {}", state.step, recipe.steps, folder.display());
            return Ok(());
        }
    }
    ensure!(state.step == recipe.steps, "the thread that makes batches ended at step {}", state.step);
    files::write(&options.out.join(recipe::FILE), toml::to_string(recipe)?.as_bytes())?;
    files::write(&options.out.join(CARD_FILE), card(job, &state)?.as_bytes())?;
    progress.finish(&state)?;
    picture::draw(options.out)?;
    // The model last, so that all else is there when it is.
    model_folder::save(options.out, trainer.model(), job.metadata())?;
    if keeps_best(recipe) && held_out.is_some_and(|held_out| held_out.last_is_lowest()) {
        checkpoint::remove_best(options.out)?;
    }
    checkpoint::remove(options.out)?;
    files::remove_lock(&lock_of(options.out), lock)
}

/// What a run says whose update failed.
fn ended(out: &Path, state: &TrainingState) -> String {
    let kept = match Checkpoint::find(out) {
        Ok(Some(checkpoint)) => format!("; the model of its last checkpoint is in {}", checkpoint.folder().display()),
        _ => String::new(),
    };
    format!("the run ended at step {}{kept}", state.step)
}

/// What a run that Ctrl-C ends says.
fn stopped(state: &TrainingState, recipe: &Recipe) -> interrupt::Stopped {
    let again = if state.step == 0 { "the same command begins again" } else { "go on with --resume" };
    interrupt::Stopped(format!("stopped at step {} of {}; {again}", state.step, recipe.steps))
}

/// Measures the model where it is due, and keeps it where no earlier one of the run was as good. The last one is kept anyway.
fn measure(
    held_out: Option<&mut HeldOut>,
    options: &TrainOptions,
    job: &Job,
    trainer: &Trainer,
    state: &TrainingState,
    progress: &RunProgress,
) -> Result<()> {
    let Some(held_out) = held_out.filter(|held_out| held_out.is_due(state.step)) else { return Ok(()) };
    let Some(said) = held_out.measure(trainer, state)? else { return Ok(()) };
    progress.say(&said);
    let is_between = (1..job.recipe.steps).contains(&state.step);
    if is_between && keeps_best(job.recipe) && held_out.last_is_lowest() {
        checkpoint::save_best(options.out, job, trainer.model())?;
    }
    Ok(())
}

fn keeps_best(recipe: &Recipe) -> bool {
    recipe.evaluation.is_some_and(|evaluation| evaluation.keep_best)
}

/// Whether the device computes in the recipe's type.
fn check_compute(compute: ComputeType, device: &Device) -> Result<()> {
    let name = compute.name();
    if !compute.is_native_to(device) {
        let is_cpu = device == &Device::flex();
        ensure!(is_cpu, "the device does not compute in {name}; set compute = \"f32\" in the recipe");
        say(format_args!(
            "note: this processor has no instructions for {name} (AMX, AVX512-BF16); f32 would be faster"
        ));
    }
    Ok(())
}

/// The cards that share each batch, for training.
fn cards(options: &TrainOptions, recipe: &Recipe) -> Result<Vec<Device>> {
    let rows = recipe.rows_of_update();
    ensure!(
        options.gpus <= rows,
        "an update has {rows} rows of text, fewer than --gpus {}; leave some out",
        options.gpus
    );
    let cards = device::open_several(options.device, options.gpus)?;
    Ok(cards.into_iter().map(Device::autodiff).collect())
}

/// What a run holds the lock of, so that no other trains in the same folder.
fn lock_of(out: &Path) -> PathBuf {
    out.join("training")
}

/// A new run, or the one in `--out` with `--resume`.
fn begin(
    options: &TrainOptions,
    job: &Job,
    initial: impl FnOnce(&Device) -> Result<Model>,
    device: &Device,
) -> Result<(TrainingState, Trainer)> {
    let out = options.out.display();
    let checkpoint = Checkpoint::find(options.out)?;
    let trainer = |model| -> Result<Trainer> {
        let positions = Method::of(job.config).positions(job.config, 1.0)?;
        Ok(Trainer::new(model, positions, job.recipe.hyperparameters()))
    };
    match checkpoint {
        Some(found) if options.resume => {
            let state = found.state_for(job)?;
            let trainer = trainer(found.model(job.config, device)?)?;
            Ok((state.clone(), trainer.resumed(state.step, found.optimizer_state()?, state.guard)?))
        }
        Some(_) => bail!("{out} holds an unfinished run; go on with --resume, or choose another --out"),
        None if weights_files::holds_weights(options.out) => {
            bail!("{out} holds a finished model; choose another --out")
        }
        None if options.resume => bail!("there is nothing to resume in {out}; leave out --resume"),
        None => {
            check_free(options, job.recipe)?;
            Ok((TrainingState::default(), trainer(initial(device)?)?))
        }
    }
}

/// Checks that the folder of a new run holds no files of others under the names that the run writes.
fn check_free(options: &TrainOptions, recipe: &Recipe) -> Result<()> {
    let card = options.out.join(CARD_FILE);
    // A run that lost its model, or ended before it was written, has its loss curve beside the card.
    let is_of_a_run = options.out.join(CURVE_FILE).exists();
    ensure!(is_of_a_run || !card.exists(), "{} is there already; choose another --out", card.display());
    let best = checkpoint::best_folder(options.out);
    if options.out.join(held_out::FILE).exists() {
        // Of a run that was cut off before its first checkpoint.
        return checkpoint::remove_best(options.out);
    }
    ensure!(
        !keeps_best(recipe) || !best.exists(),
        "{} is there already, where the run would keep its best model; choose another --out",
        best.display()
    );
    Ok(())
}

/// Batches made by a thread of its own, a few ahead, and where their text is from.
fn batches_ahead(
    source: AnySource,
    seed: u64,
    steps: std::ops::Range<usize>,
) -> mpsc::IntoIter<(String, drope_core::Result<Batch>)> {
    let (send, receive) = mpsc::sync_channel(BATCHES_AHEAD);
    std::thread::spawn(move || {
        for step in steps {
            // The receiver is gone when the run has ended.
            if send.send((source.place(seed, step), source.batch(seed, step))).is_err() {
                return;
            }
        }
    });
    receive.into_iter()
}
