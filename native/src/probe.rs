//! `core probe`: what each head probes at when a question has been read, and how far it leans on positions.

use anyhow::Result;
use clap::Args;
use drope_core::config::Config;
use drope_core::generate::Flow;
use drope_core::language::{DocumentMix, Values, training_document};
use drope_core::model::{Model, token_ids};
use drope_core::niah::{self, Spec, Task};
use drope_core::positions::Positions;
use drope_core::probe::{HeadCell, HeadProbe, TokenizedSample, bias_gradients, mean, probe_heads};
use drope_core::results::rounded;
use drope_core::tokenizer::Tokenizer;
use indicatif::ProgressIterator;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use crate::device::DeviceChoice;
use crate::sweep::{Sweep, at_least_one};
use crate::{device, interrupt, model_folder, results_file};

/// What `core probe` is told.
#[derive(Args)]
pub struct ProbeArgs {
    #[command(flatten)]
    pub sweep: Sweep,
    /// Questions a length.
    #[arg(long, default_value = "50", value_parser = at_least_one)]
    pub trials: usize,
    /// Also the gradients of the positional biases, on average over so many models of this shape with random weights.
    #[arg(long, default_value_t = 0)]
    pub gradients: usize,
}

const TASK: Task = Task::MultiKey;

/// Number of tokens of the texts that gradients are taken on.
pub const GRADIENT_TOKENS: usize = 128;

/// Asks multi-key questions and writes the means of every head.
pub fn run(request: &ProbeArgs) -> Result<Vec<HeadCell>> {
    let sweep = &request.sweep;
    let config = sweep.config()?;
    let tokenizer = model_folder::tokenizer(&sweep.model, &config)?;
    let device = device::open(sweep.device)?.device;
    let model = model_folder::model(&sweep.model, &config, &device)?;
    let name = sweep.model_name()?;
    let stopped = results_file::stopped(sweep.json.as_deref());
    interrupt::watch()?;
    let cells: Vec<HeadCell> = results_file::open(sweep.json.as_deref())?;
    let mut asked_for = Vec::new();
    for &method in &sweep.methods {
        let fingerprint = sweep.fingerprint(method, config.dope_heads.as_ref())?;
        for &extension in &sweep.extensions {
            let positions = sweep.positions(&config, method, extension)?;
            let blank = HeadCell {
                model: name.clone(),
                method,
                extension,
                beta: rounded(positions.logit_scale),
                cut: sweep.cut.map(rounded),
                trials: request.trials,
                seed: sweep.seed,
                fingerprint: fingerprint.clone(),
                runs: request.gradients,
                probe: HeadProbe::default(),
                gradients: None,
            };
            let is_done = |cell: &&HeadCell| {
                HeadCell { probe: HeadProbe::default(), gradients: None, ..(*cell).clone() } == blank
            };
            let mut found: Vec<HeadCell> = cells.iter().filter(is_done).cloned().collect();
            if found.is_empty() {
                let questions = (0..request.trials).progress().map(|trial| {
                    let marked = question(sweep, &config, &tokenizer, extension, trial)?
                        .cropped(method.crop_length(&config), TASK.max_answer_tokens());
                    let go_on = async |_| if interrupt::requested() { Flow::Stop } else { Flow::Continue };
                    let probes = pollster::block_on(probe_heads(&model, &config, &positions, &marked, go_on))?;
                    probes.ok_or_else(|| interrupt::Stopped(stopped.to_owned()).into())
                });
                let probes = mean(&questions.collect::<Result<Vec<_>>>()?);
                let gradients = match request.gradients {
                    0 => None,
                    runs => Some(gradients(&config, &tokenizer, &positions, runs, sweep.seed, sweep.device)?),
                };
                let of_layer = |layer: usize| gradients.as_ref().map(|gradients| gradients[layer]);
                let cell = |probe: HeadProbe| HeadCell { gradients: of_layer(probe.layer), probe, ..blank.clone() };
                found = probes.into_iter().map(cell).collect();
                results_file::add(sweep.json.as_deref(), &found)?;
            }
            print(method.name(), extension, &found);
            asked_for.extend(found);
        }
    }
    Ok(asked_for)
}

/// A number of a head.
type Part = fn(&HeadProbe) -> f64;

fn print(method: &str, extension: usize, cells: &[HeadCell]) {
    let parts: [(&str, Part); 2] =
        [("last query", |look| look.needle), ("a query of the question", |look| look.needle_of_question)];
    for (who, part) in parts {
        if let Some(best) = cells.iter().max_by(|a, b| part(&a.probe).total_cmp(&part(&b.probe))) {
            let HeadProbe { layer, head, entropy, entropy_bound, .. } = best.probe;
            println!(
                "{method} at {extension}x: most on the needle by {who}: {:.3}, layer {layer} head {head} \
                 (entropy {entropy:.2} of at most {entropy_bound:.2})",
                part(&best.probe)
            );
        }
    }
}

fn question(
    sweep: &Sweep,
    config: &Config,
    tokenizer: &Tokenizer,
    extension: usize,
    trial: usize,
) -> Result<TokenizedSample> {
    let context = extension * config.max_position_embeddings;
    let spec = Spec::new(TASK, Values::Numbers, context, sweep.seed.wrapping_add(trial as u64));
    let sample = niah::sample(&spec, tokenizer)?;
    Ok(TokenizedSample::new(&sample, tokenizer)?)
}

/// Norms of the gradients of both positional biases for each layer, of random weights and documents.
pub fn gradients(
    config: &Config,
    tokenizer: &Tokenizer,
    positions: &Positions,
    runs: usize,
    seed: u64,
    device: DeviceChoice,
) -> Result<Vec<[f64; 2]>> {
    let device = device::open(device)?.device.autodiff();
    let mut means = vec![[0.0; 2]; config.num_hidden_layers];
    for run in 0..runs as u64 {
        interrupt::check("stopped while it took gradients; the same command takes them anew")?;
        let model = Model::random(config, run, &device);
        let ids = document(config, tokenizer, seed.wrapping_add(run));
        let ids = token_ids(&ids, [1, ids.len()], &device);
        for back in [0, 1] {
            let norms = bias_gradients(&model, config.num_hidden_layers, &ids, positions, back);
            for (mean, norm) in means.iter_mut().zip(norms) {
                mean[back] += norm / runs as f64;
            }
        }
    }
    Ok(means)
}

/// A document of the synthetic language that training does not see.
pub fn document(config: &Config, tokenizer: &Tokenizer, seed: u64) -> Vec<u32> {
    let encode = |text: &str| tokenizer.encode(text).unwrap_or_default();
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let bos = config.bos_token_id.unwrap_or_default();
    training_document(&mut rng, GRADIENT_TOKENS, &DocumentMix::default(), bos, &encode).ids
}
