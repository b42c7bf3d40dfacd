//! `core search longrope2`: factors for LongRoPE, by the perplexity of needles' answers at the extended length.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use clap::{Args, Subcommand};
use drope_core::config::{Config, LongRopeParameters, RopeScaling};
use drope_core::longrope2::{Bounds, Candidate, Population, Space};
use drope_core::positions::Method;
use serde::{Deserialize, Serialize};

use crate::arguments::{above_zero, at_least_one};
use crate::device::{self, DeviceChoice};
use crate::files::model_folder::{self, SEARCH_FILE};
use crate::files::{self, weights_files};
use crate::messages::show;
use crate::progress::Progress;
use crate::reading::held_out::FittingContext;
use crate::{interrupt, threads};

const POPULATION: usize = 64;

/// What can be searched for.
#[derive(Subcommand)]
pub enum Search {
    /// Factors for LongRoPE by evolution, with critical dimension (LongRoPE2).
    Longrope2(SearchArgs),
}

/// Arguments of `core search longrope2`.
#[derive(Args)]
pub struct SearchArgs {
    /// Folder of the model.
    #[arg(long)]
    model: PathBuf,
    /// Folder for the model with the factors in its config, and for the state of the search; a search that was stopped
    /// goes on.
    #[arg(long)]
    out: PathBuf,
    /// Extension factor.
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u64).range(2..))]
    factor: u64,
    /// Smallest factor of the frequencies that do not rotate once within the training context, as a multiple of
    /// --factor; at most 1.
    #[arg(long, default_value_t = Bounds::default().lowest, value_parser = above_zero)]
    lowest: f64,
    /// Largest factor of the same frequencies, also as a multiple of --factor; at least 1.
    #[arg(long, default_value_t = Bounds::default().highest, value_parser = above_zero)]
    highest: f64,
    /// Generations of 64 candidates.
    #[arg(long, default_value = "40", value_parser = at_least_one)]
    generations: usize,
    /// Documents that candidates are judged by.
    #[arg(long, default_value = "4", value_parser = at_least_one)]
    texts: usize,
    /// Seed of the search and of the documents.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Where to compute.
    #[arg(long, value_enum, default_value = "auto")]
    device: DeviceChoice,
    /// CPU threads that compute.
    #[arg(long, default_value_t = threads::available(), value_parser = at_least_one)]
    pub threads: usize,
}

/// Contents of [`SEARCH_FILE`]: enough to resume.
#[derive(Serialize, Deserialize)]
struct SearchState {
    /// Fingerprint of the model with which candidates are judged.
    model: String,
    space: Space,
    seed: u64,
    texts: usize,
    population: Population,
}

/// Searches and writes a folder of the same model whose config lists the factors.
pub fn longrope2(request: &SearchArgs) -> Result<()> {
    let (&SearchArgs { lowest, highest, .. }, extension) = (request, request.factor as usize);
    ensure!(
        lowest <= 1.0 && (1.0..=100.0).contains(&highest),
        "--lowest is {lowest} and --highest {highest}, but they must be at most 1 and from 1 to 100"
    );
    weights_files::check_has_config(&request.model, "fields for the factors")?;
    let device = device::open(request.device)?.device;
    let mut context = FittingContext::open(&request.model, request.texts, request.seed, &device)?;
    context.stopped = "stopped; the same command goes on with the next candidate";
    let config = &context.loaded.config;
    ensure!(
        config.trained_factor() == 1.0,
        "the frequencies of {} are scaled already; search factors for a model with plain RoPE",
        request.model.display()
    );
    let factor = extension as f64;
    let (rotary_dim, length) = (config.rotary_dim(), config.max_position_embeddings);
    let space = Space::new(factor, config.rope.rope_theta, rotary_dim, length, Bounds { lowest, highest });
    let texts = context.documents(extension, request.texts);
    interrupt::watch();
    let path = request.out.join(SEARCH_FILE);
    files::check_writable(&path)?;
    let Some(_lock) = files::try_lock(&path)? else {
        bail!("another search runs in {}; wait for it, or choose another --out", request.out.display());
    };
    ensure!(
        path.exists() || !weights_files::holds_weights(&request.out),
        "{} holds a model already; choose another --out",
        request.out.display()
    );
    let model = model_folder::fingerprint(&request.model, Method::LongRope, None)?;
    let population =
        unfinished(&path, &model, &space, request)?.unwrap_or_else(|| space.first(POPULATION, request.seed));
    let mut state = SearchState { model, space, seed: request.seed, texts: request.texts, population };
    let bar = Progress::of_items(request.generations * POPULATION)?;
    let judged = state.population.candidates.iter().filter(|candidate| candidate.perplexity.is_some()).count();
    bar.go_on_from((state.population.generation * POPULATION + judged) as u64);
    loop {
        while let Some(next) = state.population.candidates.iter().position(|candidate| candidate.perplexity.is_none()) {
            let candidate = &mut state.population.candidates[next];
            let positions = Method::LongRope.positions(&scaled(config, factor, candidate), factor)?;
            let perplexity = context.answer_loss(&positions, &texts)?.exp();
            candidate.perplexity = Some((perplexity * 1e6).round() / 1e6);
            files::write(&path, &serde_json::to_vec(&state)?)?;
            bar.inc(1);
        }
        let generation = state.population.generation;
        bar.set_message(format!("generation {generation}: perplexity {:.4}", best(&state.population).1));
        if generation + 1 >= request.generations {
            break;
        }
        state.population = state.space.next(&state.population, request.seed);
    }
    bar.finish_and_clear();
    let population = state.population;
    let (found, perplexity) = best(&population);
    show(format_args!(
        "perplexity of answers {perplexity:.4} with critical pair {} and factors {:.3?}",
        found.critical, found.factors
    ));
    model_folder::copy_files(&request.model, &request.out, &scaled(config, factor, &found))
}

/// The population of a search that was stopped.
fn unfinished(path: &Path, model: &str, space: &Space, request: &SearchArgs) -> Result<Option<Population>> {
    if !path.exists() {
        return Ok(None);
    }
    let state: SearchState = serde_json::from_slice(&files::read(path)?)
        .with_context(|| format!("{} is damaged; delete it to search afresh", path.display()))?;
    if (&*state.model, &state.space, state.seed, state.texts) != (model, space, request.seed, request.texts) {
        bail!("{} belongs to another search or model; choose another --out", path.display());
    }
    Ok(Some(state.population))
}

fn best(population: &Population) -> (Candidate, f64) {
    let perplexity = |candidate: &Candidate| candidate.perplexity.unwrap_or(f64::INFINITY);
    let best = population.candidates.iter().min_by(|a, b| perplexity(a).total_cmp(&perplexity(b)));
    let best = best.unwrap_or(&population.candidates[0]);
    (best.clone(), perplexity(best))
}

fn scaled(config: &Config, factor: f64, candidate: &Candidate) -> Config {
    let mut config = config.clone();
    // A value outside `rope_scaling` would take precedence over the value inside when the config is read again.
    config.other.remove("original_max_position_embeddings");
    config.rope.scaling = RopeScaling::Longrope(LongRopeParameters {
        short_factor: vec![1.0; candidate.factors.len()],
        long_factor: candidate.factors.clone(),
        factor: Some(factor),
        attention_factor: None,
        original_max_position_embeddings: Some(config.max_position_embeddings),
    });
    config
}
