//! `core eval ppl`: perplexity over a sliding window, and the loss by position within it.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use drope_core::config::Config;
use drope_core::language::{DocumentMix, training_document};
use drope_core::loaded_model::short_hash;
use drope_core::model::Model;
use drope_core::perplexity::{PARTS, PerplexityCell, TextLoss, Window, synthetic_source, token_losses, windows};
use drope_core::positions::Positions;
use drope_core::results::{ResultCell, Shard, rounded};
use drope_core::tokenizer::Tokenizer;
use indicatif::ProgressIterator;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use crate::sweep::{Sweep, at_least_one};
use crate::{device, files, interrupt, model_folder, results_file};

/// What `core eval ppl` is told.
#[derive(Args)]
pub struct PerplexityArgs {
    #[command(flatten)]
    pub sweep: Sweep,
    /// Tokens from window to window; default: half a window.
    #[arg(long, value_parser = at_least_one)]
    pub stride: Option<usize>,
    /// A text file to predict; default: held-out documents of the synthetic language.
    #[arg(long)]
    pub text: Option<PathBuf>,
    /// Texts, each as long as the longest window.
    #[arg(long, default_value = "16", value_parser = at_least_one)]
    pub texts: usize,
    /// Read only this part of the texts, such as 3/16; `core merge` joins the parts.
    #[arg(long, default_value = "1/1")]
    pub shard: Shard,
}

/// Ids of a text, and which are answers.
struct Text {
    ids: Vec<u32>,
    is_answer: Vec<bool>,
}

/// Runs every cell and writes the file after each, so that a stopped run resumes where it was. Returns the cells asked for.
pub fn run(request: &PerplexityArgs) -> Result<Vec<PerplexityCell>> {
    let sweep = &request.sweep;
    let config = sweep.config()?;
    let tokenizer = model_folder::tokenizer(&sweep.model, &config)?;
    let device = device::open(sweep.device)?.device;
    let model = model_folder::model(&sweep.model, &config, &device)?;
    let longest = sweep.extensions.iter().max().context("--extension is empty; give at least one factor")?;
    let texts = match &request.text {
        Some(path) => own_texts(path, &tokenizer, &config, longest * config.max_position_embeddings, request.texts)?,
        None => documents(&tokenizer, &config, longest * config.max_position_embeddings, request),
    };
    let source = match &request.text {
        Some(path) => {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            format!("{name} {}", short_hash(&[&files::read(path)?]))
        }
        None => synthetic_source(sweep.seed),
    };
    let wanted: Vec<usize> = request.shard.trials(texts.len()).collect();
    ensure!(!wanted.is_empty(), "this shard has none of the {} texts; share them out among fewer", texts.len());
    interrupt::watch()?;
    let mut asked_for = Vec::new();
    let cells: Vec<PerplexityCell> = results_file::open(sweep.json.as_deref())?;
    println!("{:12} {:12} {:>4} {:>10}  {:22} {:>8}", "model", "method", "s", "perplexity", "95 %", "answers");
    for &method in &sweep.methods {
        let fingerprint = sweep.fingerprint(method, config.dope_heads.as_ref())?;
        for &extension in &sweep.extensions {
            let positions = sweep.positions(&config, method, extension)?;
            let most = method.crop_length(&config).unwrap_or(usize::MAX);
            let window = most.min(extension * config.max_position_embeddings);
            let blank = PerplexityCell {
                model: sweep.model_name()?,
                method,
                extension,
                context: window,
                stride: request.stride.unwrap_or(window / 2),
                source: source.clone(),
                beta: rounded(positions.logit_scale),
                beta_given: sweep.beta.is_some(),
                cut: sweep.cut.map(rounded),
                fingerprint: fingerprint.clone(),
                length: longest * config.max_position_embeddings,
                of_texts: texts.len(),
                tokens: 0,
                loss: 0.0,
                perplexity: 0.0,
                ci95: None,
                answer_perplexity: None,
                curve: Vec::new(),
                texts: Vec::new(),
            };
            let is_done = |cell: &&PerplexityCell| {
                cell.same_measurement(&blank)
                    && cell.of_texts == blank.of_texts
                    && cell.texts.iter().map(|text| text.index).eq(wanted.iter().copied())
            };
            let cell = match cells.iter().find(is_done) {
                Some(cell) => cell.clone(),
                None => {
                    let cell = measured(
                        blank,
                        &model,
                        &config,
                        &positions,
                        &texts,
                        &wanted,
                        results_file::stopped(sweep.json.as_deref()),
                    )?;
                    results_file::add(sweep.json.as_deref(), std::slice::from_ref(&cell))?;
                    cell
                }
            };
            println!(
                "{:12} {:12} {:>3}x {:>10.3}  {:22} {:>8}",
                cell.model,
                cell.method.name(),
                cell.extension,
                cell.perplexity,
                cell.ci95.map_or(String::new(), |[low, high]| format!("[{low:.3}, {high:.3}]")),
                cell.answer_perplexity.map_or(String::new(), |answers| format!("{answers:.3}")),
            );
            asked_for.push(cell);
        }
    }
    Ok(asked_for)
}

fn measured(
    mut cell: PerplexityCell,
    model: &Model,
    config: &Config,
    positions: &Positions,
    texts: &[Text],
    wanted: &[usize],
    stopped: &str,
) -> Result<PerplexityCell> {
    for &index in wanted.iter().progress() {
        let text = &texts[index];
        let mut sums = TextLoss { index, curve: vec![(0, 0.0); PARTS], ..TextLoss::default() };
        for Window { read, counted } in windows(text.ids.len(), cell.context, cell.stride)? {
            interrupt::check(stopped)?;
            let mut ids = text.ids[read.clone()].to_vec();
            // Models, above all those without positions, hold on to the first token of a text: every window has it.
            ids[0] = config.bos_token_id.unwrap_or(ids[0]);
            let losses = pollster::block_on(token_losses(model, config, positions, &ids))?;
            for at in counted {
                let loss = f64::from(losses[at - read.start - 1]);
                sums.tokens += 1;
                sums.loss += loss;
                if text.is_answer[at] {
                    sums.answers += 1;
                    sums.answer_loss += loss;
                }
                if read.start == 0 {
                    let part = &mut sums.curve[at * PARTS / cell.context];
                    *part = (part.0 + 1, part.1 + loss);
                }
            }
        }
        cell.texts.push(sums.rounded());
    }
    Ok(cell.scored())
}

/// Documents of the synthetic language that training does not see: full length, with training's keys.
fn documents(tokenizer: &Tokenizer, config: &Config, length: usize, request: &PerplexityArgs) -> Vec<Text> {
    let encode = |text: &str| tokenizer.encode(text).unwrap_or_default();
    let mix = DocumentMix { repeat: 0.0, facts: 0.0, terse: 0.0, full: 0.0, ..DocumentMix::default() };
    let text = |index: usize| {
        // Training seeds are small numbers; these are not.
        let mut rng = ChaCha8Rng::seed_from_u64(request.sweep.seed ^ (0x99_1eaf << 32));
        rng.set_stream(index as u64);
        let document = training_document(&mut rng, length, &mix, config.bos_token_id.unwrap_or_default(), &encode);
        Text { ids: document.ids, is_answer: document.weights.iter().map(|&w| w == mix.answer_weight).collect() }
    };
    (0..request.texts).map(text).collect()
}

/// The reader's text, cut into pieces of `length` tokens.
fn own_texts(path: &Path, tokenizer: &Tokenizer, config: &Config, length: usize, texts: usize) -> Result<Vec<Text>> {
    let ids = tokenizer.encode(&files::read_text(path)?)?;
    let bos: Vec<u32> = config.bos_token_id.into_iter().collect();
    let pieces = ids.chunks_exact(length - bos.len()).take(texts);
    let pieces: Vec<Text> =
        pieces.map(|piece| Text { ids: [&bos, piece].concat(), is_answer: vec![false; length] }).collect();
    if pieces.is_empty() {
        bail!("{} has {} tokens, fewer than the {length} of the longest window", path.display(), ids.len());
    }
    Ok(pieces)
}
