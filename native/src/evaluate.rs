//! `core eval niah`: retrieval at several lengths, with intervals.

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Result, bail, ensure};
use clap::Args;
use drope_core::config::Config;
use drope_core::config::dope::DopeHeads;
use drope_core::generate::{Flow, Options, generate};
use drope_core::language::Values;
use drope_core::model::Model;
use drope_core::niah::{self, Filler, Score, Sinks, Spec, Task};
use drope_core::positions::{Method, Positions};
use drope_core::results::{Cell, Shard};
use drope_core::tokenizer::Tokenizer;
use indicatif::{ProgressBar, ProgressStyle};

use crate::sweep::{Sweep, at_least_one};
use crate::{device, interrupt, model_folder, results_file};

/// What `core eval niah` is told.
#[derive(Args)]
pub struct NiahArgs {
    #[command(flatten)]
    pub sweep: Sweep,
    /// Tasks: single, multi-key, multi-query, multi-value, passkey.
    #[arg(long = "task", value_delimiter = ',', default_value = "multi-key")]
    pub tasks: Vec<Task>,
    /// Values: numbers, words.
    #[arg(long, value_delimiter = ',', default_value = "numbers")]
    pub values: Vec<Values>,
    /// Questions a cell.
    #[arg(long, default_value = "500", value_parser = at_least_one)]
    pub trials: usize,
    /// Ask only this part of the questions, such as 3/16; `core merge` joins the parts.
    #[arg(long, default_value = "1/1")]
    pub shard: Shard,
    /// Depths of the needle, 0 (start of the haystack) to 1 (end), a cell each; default: at random.
    #[arg(long = "depth", value_delimiter = ',', value_parser = share)]
    pub depths: Vec<f64>,
    /// What needles are hidden in: prose, or grass (Wang's repeated sentences); default: grass for passkey, else prose.
    #[arg(long)]
    pub filler: Option<Filler>,
    /// Attention-sink tokens (beginning of text) right behind each needle that is asked for: DoPE's noisy setting.
    #[arg(long, default_value_t = 0)]
    pub sinks: usize,
    /// For dope-*: heads that `core dope select` wrote; default: those in the model's config.
    #[arg(long)]
    pub heads: Option<PathBuf>,
    /// CPU threads.
    #[arg(long, default_value_t = std::thread::available_parallelism().map_or(1, Into::into))]
    pub threads: usize,
}

/// A number from 0 to 1, on the command line.
fn share(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().ok().filter(|share| (0.0..=1.0).contains(share));
    number.ok_or_else(|| "a depth is a number from 0 to 1".to_owned())
}

/// A model with what belongs to it.
struct Reader {
    name: String,
    config: Config,
    model: Model,
    tokenizer: Tokenizer,
}

/// Runs every cell and writes the file after each, so that a stopped run resumes where it was. Returns the cells asked for.
pub fn niah(request: &NiahArgs) -> Result<Vec<Cell>> {
    let sweep = &request.sweep;
    let chosen = device::open(sweep.device)?;
    if chosen.is_cpu && request.threads > 1 {
        let _ = rayon::ThreadPoolBuilder::new().num_threads(1).build_global();
    }
    let threads = if chosen.is_cpu { request.threads.max(1) } else { 1 };
    let mut config = sweep.config()?;
    if let Some(path) = &request.heads {
        config.dope_heads = Some(model_folder::dope_heads(path)?);
        config.check()?;
    }
    let reader = Reader {
        name: sweep.model_name()?,
        model: model_folder::model(&sweep.model, &config, &chosen.device)?,
        tokenizer: model_folder::tokenizer(&sweep.model, &config)?,
        config,
    };
    interrupt::watch()?;
    let asks_nothing = request.shard.trials(request.trials).next().is_none();
    ensure!(!asks_nothing, "this shard has none of the {} questions; share them out among fewer", request.trials);
    let cells: Vec<Cell> = results_file::open(sweep.json.as_deref())?;
    let mut asked_for = Vec::new();
    println!(
        "{:12} {:8} {:12} {:8} {:>4} {:>8}  {:14} {:>6}",
        "model", "method", "task", "values", "s", "exact", "95 %", "string"
    );
    for cell in every_cell(&reader, request)? {
        let known = cells.iter().find(|known| {
            known.is_of(&cell.blank) && known.shard == cell.blank.shard && known.trials == cell.trials.len()
        });
        let cell = match known {
            Some(known) => known.clone(),
            None => {
                let cell = run_cell(&reader, cell, threads, sweep.json.as_deref())?;
                results_file::add(sweep.json.as_deref(), std::slice::from_ref(&cell))?;
                cell
            }
        };
        let [low, high] = cell.ci95.map(|bound| 100.0 * bound);
        println!(
            "{:12} {:8} {:12} {:8} {:>3}x {:>7.1}%  [{low:.1}, {high:.1}]   {:>5.1}%",
            cell.model,
            cell.method.name(),
            cell.task.name(),
            cell.values.name(),
            cell.extension,
            100.0 * cell.accuracy,
            100.0 * cell.string_match
        );
        asked_for.push(cell);
    }
    Ok(asked_for)
}

/// A cell that is to be measured.
struct Question {
    method: Method,
    positions: Positions,
    spec: Spec<'static>,
    /// Numbers of the questions.
    trials: Vec<usize>,
    /// The cell without its results.
    blank: Cell,
}

fn every_cell(reader: &Reader, request: &NiahArgs) -> Result<Vec<Question>> {
    let mut cells = Vec::new();
    let at_random = [None];
    let depths: Vec<Option<f64>> = request.depths.iter().copied().map(Some).collect();
    let depths = if depths.is_empty() { &at_random[..] } else { &depths };
    for &method in &request.sweep.methods {
        let fingerprint = request.sweep.fingerprint(method, reader.config.dope_heads.as_ref())?;
        for &task in &request.tasks {
            for &values in &request.values {
                for &extension in &request.sweep.extensions {
                    for &depth in depths {
                        cells.push(cell(reader, request, method, &fingerprint, (task, values, extension, depth))?);
                    }
                }
            }
        }
    }
    Ok(cells)
}

fn cell(
    reader: &Reader,
    request: &NiahArgs,
    method: Method,
    fingerprint: &str,
    (task, values, extension, depth): (Task, Values, usize, Option<f64>),
) -> Result<Question> {
    let sweep = &request.sweep;
    let positions = sweep.positions(&reader.config, method, extension)?;
    let context = extension * reader.config.max_position_embeddings;
    let filler = request.filler.unwrap_or(task.filler());
    let heads = reader.config.dope_heads.as_ref().filter(|_| method.is_dope()).map(DopeHeads::label);
    let blank = Cell {
        model: reader.name.clone(),
        method,
        task,
        values,
        extension,
        context,
        trials: 0,
        correct: 0,
        accuracy: 0.0,
        string_match: 0.0,
        ci95: [0.0, 0.0],
        seed: sweep.seed,
        beta: positions.logit_scale,
        cut: sweep.cut,
        depth,
        filler: (filler != task.filler()).then_some(filler),
        sinks: request.sinks,
        heads,
        fingerprint: fingerprint.to_owned(),
        shard: (request.shard != Shard::WHOLE).then_some(request.shard),
    };
    let spec = Spec { depth, filler, ..Spec::new(task, values, context, sweep.seed) };
    Ok(Question { method, positions, spec, trials: request.shard.trials(request.trials).collect(), blank })
}

fn run_cell(reader: &Reader, question: Question, threads: usize, json: Option<&Path>) -> Result<Cell> {
    let Question { blank, trials, .. } = &question;
    let style = ProgressStyle::with_template("{bar:30} {pos}/{len} {msg}  {eta} left")?;
    let bar = ProgressBar::new(trials.len() as u64).with_style(style);
    bar.set_message(format!(
        "{} {} {} {}x",
        blank.method.name(),
        blank.task.name(),
        blank.values.name(),
        blank.extension
    ));
    let next = AtomicUsize::new(0);
    let scores: Mutex<Vec<Result<Score>>> = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let trial = trials.get(next.fetch_add(1, Ordering::Relaxed));
                    let Some(&trial) = trial.filter(|_| !interrupt::requested()) else { return };
                    let score = pollster::block_on(run_trial(reader, &question, seed_of(blank, trial)));
                    scores.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(score);
                    bar.inc(1);
                }
            });
        }
    });
    bar.finish_and_clear();
    interrupt::check(results_file::stopped(json))?;
    let scores = scores.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    let scores = scores.into_iter().collect::<Result<Vec<_>>>()?;
    let correct = scores.iter().filter(|score| score.exact).count();
    // Threads finish in any order: sum in fixed steps so that the file is the same every time.
    let matched = scores.iter().map(|score| (score.string_match * 1e6).round() as u64).sum::<u64>() as f64 / 1e6;
    Ok(Cell { trials: trials.len(), correct, ..question.blank }.scored(matched))
}

/// Questions of every length and every asked-for depth have seeds of their own; methods, tasks and values share them.
fn seed_of(cell: &Cell, trial: usize) -> u64 {
    let depth = cell.depth.map_or(0, |depth| (depth * 1e6).round() as u64 + 1);
    cell.seed.wrapping_mul(1_000_003).wrapping_add((trial as u64) << 8).wrapping_add(depth << 40)
        + cell.extension as u64
}

async fn run_trial(reader: &Reader, question: &Question, seed: u64) -> Result<Score> {
    let Question { method, positions, spec, blank, .. } = question;
    let sink = reader.config.bos_token_id.and_then(|id| reader.tokenizer.token(id));
    let sinks = match sink.as_deref() {
        Some(token) => Some(Sinks { token, count: blank.sinks }),
        None if blank.sinks > 0 => {
            bail!("{} has no beginning-of-text token to be an attention sink; leave out --sinks", reader.name)
        }
        None => None,
    };
    let sample = niah::sample(&Spec { seed, sinks, ..*spec }, &reader.tokenizer)?;
    let prompt = reader.tokenizer.prompt(&sample.prompt())?;
    if let Some(word) = reader.tokenizer.unknown_word(&sample.question)? {
        bail!(
            "the tokenizer of {} does not know {word:?}, which the task {} needs; use a model trained with its words",
            reader.name,
            spec.task.name()
        );
    }
    let options = Options {
        max_new_tokens: spec.task.max_answer_tokens(),
        stop: reader.tokenizer.sentence_ends(),
        context: spec.context + spec.task.max_answer_tokens(),
        crop_length: method.crop_length(&reader.config),
        temperature: 0.0,
        seed: 0,
    };
    let model = &reader.model;
    // A stopped cell is thrown away, so that its last answers need not be whole.
    let observe = async |_| if interrupt::requested() { Flow::Stop } else { Flow::Continue };
    let answer = generate(model, &reader.config, positions, &prompt, &options, observe).await?;
    Ok(sample.score(&reader.tokenizer.decode(&answer)?))
}
