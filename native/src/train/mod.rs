//! The loop that pretraining and recalibration share.

mod checkpoint;
mod gradients;
mod progress;

use std::path::Path;
use std::sync::mpsc;

use anyhow::{Context, Result, bail, ensure};
use drope_core::config::{AttentionType, Config, RopeParameters, RopeScaling};
use drope_core::model::Model;
use drope_core::positions::{Method, partial_drop_cutoff, rnope_swa_window};
use drope_core::tokenizer::Tokenizer;
use drope_core::train::{Batch, Optimizer, batch};

use self::checkpoint::Checkpoint;
pub use self::gradients::of_batch as gradients_of_batch;
use self::progress::Progress;
use crate::device::{Chosen, DeviceChoice};
use crate::recipe::{Dropped, PositionEmbedding, Recipe, Shape};
use crate::{device, files, interrupt, model_folder};

/// What both commands are told.
pub struct Options<'a> {
    pub recipe: &'a Recipe,
    pub out: &'a Path,
    pub resume: bool,
    pub device: DeviceChoice,
    pub threads: usize,
    /// Updates between checkpoints.
    pub save_every: usize,
    /// Updates after which to pause: the checkpoint is a model's folder, of a run cut short.
    pub until: Option<usize>,
    /// What a stopped run tells its user to do.
    pub how_to_go_on: &'a str,
}

/// Steps done of the unfinished run in `out`; `None` where there is none.
pub fn unfinished(out: &Path) -> Result<Option<usize>> {
    Checkpoint::find(out)?.map(|checkpoint| checkpoint.step()).transpose()
}

/// `core pretrain`: a model from random weights; `pe` replaces the recipe's position embedding.
pub fn pretrain(pe: Option<PositionEmbedding>, options: &Options) -> Result<()> {
    let mut recipe = options.recipe.clone();
    let Some(shape) = &mut recipe.model else {
        bail!("the recipe has no [model] table; pretraining needs the size of the model");
    };
    shape.pe = pe.unwrap_or(shape.pe);
    let shape = shape.clone();
    let tokenizer =
        Tokenizer::train(drope_core::language::tokenizer_corpus(recipe.seed, recipe.documents.passkey > 0.0))?;
    let config = new_config(&shape, &recipe, &tokenizer);
    config.check()?;
    let seed = recipe.seed;
    run(options, &recipe, &config, &tokenizer, |config, device| Ok(Model::random(config, seed, device)))
}

/// `core recalibrate`: positions dropped from a trained model, then trained at no more than the context of the recipe.
pub fn recalibrate(from: &Path, options: &Options) -> Result<()> {
    let recipe = options.recipe;
    let Some(drop) = &recipe.drop else {
        bail!("the recipe has no [drop] table; recalibration needs to know what to drop");
    };
    let mut config = model_folder::config(from)?;
    if recipe.context > config.max_position_embeddings {
        bail!(
            "the recipe's context of {} exceeds the model's training context of {}; recalibration stays within it",
            recipe.context,
            config.max_position_embeddings
        );
    }
    let tokenizer = model_folder::tokenizer(from, &config)?;
    if let Some(word) = tokenizer.unknown_word("special magic number")? {
        bail!(
            "the tokenizer in {} does not know {word:?}, but the documents of recalibration are in English",
            from.display()
        );
    }
    match drop.positions {
        Dropped::All => config.attention = drop.attention_type,
        Dropped::Low => {
            config.rope.rope_min_frequency =
                drop.cut.unwrap_or_else(|| partial_drop_cutoff(config.max_position_embeddings));
        }
        Dropped::None => {}
    }
    config.scalable_softmax = drop.scalable_softmax;
    run(options, recipe, &config, &tokenizer, |config, device| {
        let bytes = files::read(&from.join("model.safetensors"))?;
        Model::from_safetensors_with_new_norms(config, &bytes, device)
            .with_context(|| format!("cannot use the model in {}", from.display()))
    })
}

fn new_config(shape: &Shape, recipe: &Recipe, tokenizer: &Tokenizer) -> Config {
    Config {
        vocab_size: tokenizer.vocab_size(),
        hidden_size: shape.hidden_size,
        intermediate_size: shape.intermediate_size,
        num_hidden_layers: shape.num_hidden_layers,
        num_attention_heads: shape.num_attention_heads,
        num_key_value_heads: shape.num_key_value_heads,
        head_dim: shape.hidden_size / shape.num_attention_heads.max(1),
        rms_norm_eps: 1e-5,
        max_position_embeddings: recipe.context,
        tie_word_embeddings: true,
        rope: RopeParameters { rope_theta: shape.rope_theta, scaling: RopeScaling::Default, rope_min_frequency: 0.0 },
        attention: if shape.pe == PositionEmbedding::Nope { AttentionType::Nope } else { AttentionType::Rope },
        softmax_scale: None,
        temperature_coefficient: 0.0,
        head_scales: None,
        scalable_softmax: false,
        alibi: shape.pe == PositionEmbedding::Alibi,
        sliding_window: (shape.pe == PositionEmbedding::RnopeSwa).then(|| rnope_swa_window(recipe.context)),
        dope_heads: None,
        bos_token_id: tokenizer.bos(),
        eos_token_ids: Vec::new(),
        other: serde_json::Map::new(),
    }
}

fn run(
    options: &Options,
    recipe: &Recipe,
    config: &Config,
    tokenizer: &Tokenizer,
    initial: impl FnOnce(&Config, &burn::tensor::Device) -> Result<Model>,
) -> Result<()> {
    files::check_writable(&options.out.join("model.safetensors"))?;
    let Chosen { device, is_cpu } = device::open(options.device)?;
    // One kernel at a time in each thread: at this size more threads inside a kernel only wait for each other.
    if is_cpu {
        let _ = rayon::ThreadPoolBuilder::new().num_threads(1).build_global();
    }
    let threads = if is_cpu { options.threads.max(1) } else { 1 };
    let device = device.autodiff();
    let positions = Method::of(config).positions(config, 1.0)?;
    let fresh = Optimizer::new(recipe.optimizer, recipe.weight_decay);
    let (mut state, model, mut optimizer) = match Checkpoint::find(options.out)? {
        Some(found) if options.resume => found.load(recipe, config, fresh, &device)?,
        Some(_) => {
            bail!("{} holds an unfinished run; go on with --resume, or choose another --out", options.out.display())
        }
        None if options.out.join("model.safetensors").exists() => {
            bail!("{} holds a finished model; choose another --out", options.out.display())
        }
        None if options.resume => bail!("there is nothing to resume in {}; leave out --resume", options.out.display()),
        None => (checkpoint::TrainingState::default(), initial(config, &device)?, fresh),
    };
    if let Some(until) = options.until.filter(|&until| until < state.step) {
        bail!("the run in {} is already at step {}, past step {until}", options.out.display(), state.step);
    }
    if options.until == Some(state.step) {
        return Ok(());
    }
    let mut model = Some(model);
    interrupt::watch()?;
    let mut progress = Progress::start(options.out, &state, recipe)?;
    let bos = config.bos_token_id.or(tokenizer.bos()).unwrap_or_default();
    let batches = batches_ahead(recipe, tokenizer, bos, state.step);
    for batch in batches {
        let current = model.take().context("the model is always put back")?;
        let learning_rate = recipe.schedule.at(state.step, recipe.steps);
        let step = gradients_of_batch(&current, &batch, &positions, &device, threads);
        let (updated, norm) =
            optimizer.step(current, step.gradients, learning_rate, recipe.max_gradient_norm).with_context(|| {
                format!(
                    "training broke at step {}; start again in another --out with a lower schedule.peak",
                    state.step
                )
            })?;
        state.step += 1;
        state.tokens += batch.ids.len() as u64;
        progress.step(&mut state, &batch, &step.losses, learning_rate, norm)?;
        let stopped = interrupt::requested();
        let paused = options.until.is_some_and(|until| state.step >= until) && state.step < recipe.steps;
        if stopped || paused || (state.step % options.save_every == 0 && state.step < recipe.steps) {
            checkpoint::save(options.out, &state, recipe, config, &updated, tokenizer, &optimizer)?;
        }
        if stopped {
            let message = format!("stopped at step {} of {}; {}", state.step, recipe.steps, options.how_to_go_on);
            return Err(interrupt::Stopped(message).into());
        }
        if paused {
            let folder = checkpoint::folder(options.out);
            println!("paused at step {} of {}; the model so far is in {}", state.step, recipe.steps, folder.display());
            return Ok(());
        }
        model = Some(updated);
    }
    ensure!(
        state.step == recipe.steps,
        "no document can be made for step {}; mend the recipe's [documents] and [curriculum], and start again in another --out",
        state.step
    );
    let model = model.context("the model is always put back")?;
    model_folder::save(options.out, config, &model, tokenizer)?;
    files::write(&options.out.join("recipe.toml"), toml::to_string(recipe)?.as_bytes())?;
    progress.finish(&state)?;
    checkpoint::remove(options.out)
}

/// Batches made by a thread of its own, a few ahead of the step that needs them.
fn batches_ahead(recipe: &Recipe, tokenizer: &Tokenizer, bos: u32, from: usize) -> mpsc::IntoIter<Batch> {
    let (send, receive) = mpsc::sync_channel(4);
    let (recipe, tokenizer) = (recipe.clone(), tokenizer.clone());
    std::thread::spawn(move || {
        let encode = |text: &str| tokenizer.encode(text).unwrap_or_default();
        for step in from..recipe.steps {
            let batch = batch(
                recipe.seed,
                step,
                recipe.steps,
                recipe.tokens_per_step,
                recipe.context,
                &recipe.curriculum,
                &recipe.documents,
                bos,
                &encode,
            );
            if send.send(batch).is_err() {
                return;
            }
        }
    });
    receive.into_iter()
}
