//! `core pretrain` and `core recalibrate`: what is trained, and from which weights.

mod card;
mod checkpoint;
mod held_out;
mod job;
mod json_lines;
mod options;
mod picture;
mod progress;
pub mod recipe;
mod record;
mod run;
mod text;
mod torch;

use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use burn::tensor::Device;
use clap::ValueEnum;
use drope_core::config::{Config, LLAMA, PositionScheme, RopeParameters, RopeScaling};
use drope_core::language::is_made_of_tokens;
use drope_core::model::Model;
use drope_core::positions::{partial_drop_cutoff, rnope_swa_window, usual_clipped_pairs};
use drope_core::tokenizer::Tokenizer;

use self::checkpoint::Checkpoint;
use self::job::Job;
pub use self::options::{SAVE_EVERY, TrainOptions};
pub use self::record::training_record;
pub use self::torch::PLAN_FILE;
use crate::device::DeviceChoice;
use crate::files::model_folder::{self, model_name};
use crate::files::weights_files;
use crate::messages::say;
use drope_core::train::recipe::{ModelShape, PositionEmbedding, Recipe};

/// Updates done of the unfinished run in `out`; `None` where there is none.
pub fn unfinished(out: &Path) -> Result<Option<usize>> {
    Checkpoint::find(out)?.map(|checkpoint| checkpoint.step()).transpose()
}

/// `core pretrain`: a model from random weights; `pe` replaces the recipe's position embedding.
pub fn pretrain(pe: Option<PositionEmbedding>, options: &TrainOptions) -> Result<()> {
    let mut recipe = options.recipe.clone();
    let Some(shape) = &mut recipe.model else {
        bail!("the recipe has no [model] table; pretraining needs the size of the model");
    };
    shape.pe = pe.unwrap_or(shape.pe);
    let shape = shape.clone();
    recipe.check()?;
    let tokenizer = Tokenizer::train(drope_core::language::tokenizer_corpus(recipe.seed, &recipe.documents))?;
    let config = new_config(&shape, &recipe, &tokenizer);
    config.check()?;
    recipe.check_copies(&config)?;
    let seed = recipe.seed;
    let text = text::open(&recipe, &tokenizer)?;
    let (config, tokenizer, data) = (&config, &tokenizer, text.hash.clone());
    let job = Job { recipe: &recipe, config, tokenizer, side_files: &[], base: None, data };
    run::train_to_end(options, &job, text, |device| Ok(Model::random(config, seed, device)))
}

/// What trains a model that is recalibrated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Engine {
    /// This program, on one device or the cards of one machine (--gpus).
    Core,
    /// PyTorch: only a folder with the dropped model, all batches and a script is written.
    Torch,
}

/// `core recalibrate`: positions dropped from the trained model in `from`, then training at no more than its context, unless the recipe's `longest` says so.
pub fn recalibrate(from: &Path, engine: Engine, options: &TrainOptions) -> Result<()> {
    let recipe = options.recipe;
    ensure!(
        engine == Engine::Core || options.gpus == 1,
        "--gpus is for --engine core; accelerate's own configuration says which cards train with PyTorch"
    );
    ensure!(
        engine == Engine::Core || !sets_what_torch_ignores(options),
        "--resume, --until, --keep, --save-every and --device are for --engine core; leave them out, and see train.py for what PyTorch keeps \
         (--save-steps)"
    );
    ensure!(
        !checkpoint::replaces(options.out, from),
        "the model in --from is one that the run in --out replaces; copy it elsewhere, or choose another --out"
    );
    let base = model_folder::config(from)?;
    let tokenizer = model_folder::tokenizer(from, &base)?;
    let cannot = || format!("cannot recalibrate the model in {}", from.display());
    if recipe.data.as_ref().is_none_or(|data| data.synthetic > 0.0) {
        recipe.check_words(&tokenizer).with_context(cannot)?;
        warn_of_words(&tokenizer);
    }
    let config = recipe.recalibrated(&base).with_context(cannot)?;
    let side_files = model_folder::side_files(from)?;
    let weights = weights_files::open(from)?;
    let mut base_hash = weights_files::hash(from)?;
    base_hash.update(tokenizer.to_json()?.as_bytes());
    base_hash.update(config.to_json().as_bytes());
    let base = Some((model_name(from)?, base_hash.finish()));
    let text = text::open(recipe, &tokenizer)?;
    let (config, tokenizer, side_files) = (&config, &tokenizer, &*side_files);
    let job = Job { recipe, config, tokenizer, side_files, base, data: text.hash.clone() };
    let initial = |device: &Device| {
        Model::load_with_new_norms(config, &weights, device)
            .with_context(|| format!("cannot use the model in {}", from.display()))
    };
    match engine {
        Engine::Core => run::train_to_end(options, &job, text, initial),
        Engine::Torch => torch::write_folder(options.out, &job, &text, initial),
    }
}

fn sets_what_torch_ignores(options: &TrainOptions) -> bool {
    let &TrainOptions { resume, until, keep, save_every, device, .. } = options;
    resume || until.is_some() || keep != 1 || save_every != SAVE_EVERY || device != DeviceChoice::Auto
}

/// Says that the synthetic language is not what a model of another vocabulary was trained on.
fn warn_of_words(tokenizer: &Tokenizer) {
    if !is_made_of_tokens(tokenizer) {
        say(format_args!(
            "warning: the recipe trains on the synthetic language of this program, whose words are not tokens of this model; name \
             text of your own in its [data] table (`core data prepare` writes it)"
        ));
    }
}

fn new_config(shape: &ModelShape, recipe: &Recipe, tokenizer: &Tokenizer) -> Config {
    let head_dim = shape.hidden_size / shape.num_attention_heads;
    let positions = match shape.pe {
        PositionEmbedding::Rope => PositionScheme::Rotary,
        PositionEmbedding::PRope => PositionScheme::Partial { min_frequency: partial_drop_cutoff(recipe.context) },
        PositionEmbedding::Cope => {
            PositionScheme::Clipped { pairs: shape.clipped_pairs.unwrap_or_else(|| usual_clipped_pairs(head_dim)) }
        }
        PositionEmbedding::Nope => PositionScheme::None,
        PositionEmbedding::Alibi => PositionScheme::Alibi,
        PositionEmbedding::RnopeSwa => PositionScheme::RnopeSwa { window: rnope_swa_window(recipe.context) },
    };
    Config {
        family: &LLAMA,
        architecture: *LLAMA.architecture(),
        positions,
        layer_types: Vec::new(),
        vocab_size: tokenizer.vocab_size(),
        hidden_size: shape.hidden_size,
        intermediate_size: shape.intermediate_size,
        num_hidden_layers: shape.num_hidden_layers,
        num_attention_heads: shape.num_attention_heads,
        num_key_value_heads: shape.num_key_value_heads,
        head_dim,
        rms_norm_eps: 1e-5,
        max_position_embeddings: recipe.context,
        extension: 1,
        tie_word_embeddings: true,
        rope: RopeParameters {
            rope_theta: shape.rope_theta,
            scaling: RopeScaling::Default,
            rope_scaling_trained: false,
        },
        softmax_scale: None,
        temperature_coefficient: 0.0,
        head_scales: None,
        scalable_softmax: false,
        dope_heads: None,
        bos_token_id: tokenizer.bos(),
        eos_token_ids: Vec::new(),
        other: serde_json::Map::new(),
    }
}
