//! `core eval niah`: retrieval at several lengths, with intervals.

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context, Result, bail};
use drope_core::config::Config;
use drope_core::dope::DopeHeads;
use drope_core::generate::{Flow, Options, generate};
use drope_core::language::Values;
use drope_core::model::Model;
use drope_core::niah::{self, Filler, Score, Sinks, Spec, Task};
use drope_core::perplexity::{self, PerplexityCell};
use drope_core::positions::{Method, Positions};
use drope_core::results::{self, Cell, Shard};
use drope_core::tokenizer::Tokenizer;
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::{device, files, interrupt, model_folder};

/// What `core eval niah` is told.
pub struct Request {
    pub model: PathBuf,
    pub methods: Vec<Method>,
    pub tasks: Vec<Task>,
    pub values: Vec<Values>,
    pub extensions: Vec<usize>,
    pub trials: usize,
    pub seed: u64,
    /// Where the needle that is asked for is put; `None`: at random.
    pub depths: Vec<Option<f64>>,
    /// What the needles are hidden in, if not what the task's authors use.
    pub filler: Option<Filler>,
    /// Attention-sink tokens behind each needle that is asked for.
    pub sinks: usize,
    /// Heads for DoPE, in place of the model's own.
    pub heads: Option<PathBuf>,
    /// Which of the questions to ask.
    pub shard: Shard,
    /// Replaces the temperature β of the config.
    pub beta: Option<f64>,
    /// Replaces the cut of the config.
    pub cut: Option<f64>,
    pub json: Option<PathBuf>,
    pub device: device::DeviceChoice,
    pub threads: usize,
}

/// A model with what belongs to it.
struct Reader {
    name: String,
    config: Config,
    model: Model,
    tokenizer: Tokenizer,
}

/// Runs every cell and writes the file after each, so that a stopped run resumes where it was. Returns the cells asked for.
pub fn niah(request: &Request) -> Result<Vec<Cell>> {
    let chosen = device::open(request.device)?;
    if chosen.is_cpu && request.threads > 1 {
        let _ = rayon::ThreadPoolBuilder::new().num_threads(1).build_global();
    }
    let threads = if chosen.is_cpu { request.threads.max(1) } else { 1 };
    let mut config = model_folder::config(&request.model)?.with_cut(request.cut);
    if let Some(path) = &request.heads {
        config.dope_heads = Some(model_folder::dope_heads(path)?);
        config.check()?;
    }
    let reader = Reader {
        name: model_name(&request.model)?,
        model: model_folder::model(&request.model, &config, &chosen.device)?,
        tokenizer: model_folder::tokenizer(&request.model, &config)?,
        config,
    };
    interrupt::watch()?;
    let mut cells: Vec<Cell> = done_before(request.json.as_deref())?;
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
                let cell = run_cell(&reader, cell, threads)?;
                cells.push(cell.clone());
                write(request.json.as_deref(), &cells)?;
                cell
            }
        };
        let [low, high] = cell.ci95.map(|bound| 100.0 * bound);
        println!(
            "{:12} {:8} {:12} {:8} {:>3}x {:>7.1}%  [{low:.1}, {high:.1}]   {:>5.1}%",
            cell.model,
            cell.method,
            cell.task,
            cell.values,
            cell.extension,
            100.0 * cell.accuracy,
            100.0 * cell.string_match
        );
        asked_for.push(cell);
    }
    Ok(asked_for)
}

/// Name of a model in results: that of its folder.
pub fn model_name(folder: &Path) -> Result<String> {
    let folder = folder.canonicalize().context("cannot find the model's folder")?;
    Ok(folder.file_name().unwrap_or_default().to_string_lossy().into_owned())
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

fn every_cell(reader: &Reader, request: &Request) -> Result<Vec<Question>> {
    let mut cells = Vec::new();
    for &method in &request.methods {
        for &task in &request.tasks {
            for &values in &request.values {
                for &extension in &request.extensions {
                    for &depth in &request.depths {
                        cells.push(cell(reader, request, method, (task, values, extension, depth))?);
                    }
                }
            }
        }
    }
    Ok(cells)
}

fn cell(
    reader: &Reader,
    request: &Request,
    method: Method,
    (task, values, extension, depth): (Task, Values, usize, Option<f64>),
) -> Result<Question> {
    let positions = method.positions(&reader.config, extension as f64)?;
    let positions = match request.beta {
        Some(beta) => positions.with_logit_scale(beta),
        None => positions,
    };
    let context = extension * reader.config.max_position_embeddings;
    let filler = request.filler.unwrap_or(task.filler());
    let heads = reader.config.dope_heads.as_ref().filter(|_| method.is_dope()).map(DopeHeads::label);
    let blank = Cell {
        model: reader.name.clone(),
        method: method.name().to_owned(),
        task: task.name().to_owned(),
        values: values.name().to_owned(),
        extension,
        context,
        trials: 0,
        correct: 0,
        accuracy: 0.0,
        string_match: 0.0,
        ci95: [0.0, 0.0],
        seed: request.seed,
        beta: positions.logit_scale,
        cut: request.cut,
        depth,
        filler: (filler != task.filler()).then_some(filler),
        sinks: request.sinks,
        heads,
        shard: (request.shard != Shard::WHOLE).then_some(request.shard),
    };
    let spec = Spec { depth, filler, ..Spec::new(task, values, context, request.seed) };
    Ok(Question { method, positions, spec, trials: request.shard.trials(request.trials).collect(), blank })
}

/// Cells of an earlier run into the same file.
pub fn done_before<T: DeserializeOwned>(json: Option<&Path>) -> Result<Vec<T>> {
    match json {
        Some(path) if path.exists() => serde_json::from_str(&files::read_text(path)?)
            .with_context(|| format!("{} does not hold results; choose another --json", path.display())),
        _ => Ok(Vec::new()),
    }
}

/// Writes the cells so far, one a line, where a file was asked for.
pub fn write<T: Serialize>(json: Option<&Path>, cells: &[T]) -> Result<()> {
    let Some(path) = json else { return Ok(()) };
    let lines = cells.iter().map(serde_json::to_string).collect::<Result<Vec<_>, _>>()?;
    files::write(path, format!("[\n{}\n]\n", lines.join(",\n")).as_bytes())
}

fn run_cell(reader: &Reader, question: Question, threads: usize) -> Result<Cell> {
    let Question { blank, trials, .. } = &question;
    let style = ProgressStyle::with_template("{bar:30} {pos}/{len} {msg}  {eta} left")?;
    let bar = ProgressBar::new(trials.len() as u64).with_style(style);
    bar.set_message(format!("{} {} {} {}x", blank.method, blank.task, blank.values, blank.extension));
    let next = AtomicUsize::new(0);
    let scores: Mutex<Vec<Result<Score>>> = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let trial = trials.get(next.fetch_add(1, Ordering::Relaxed));
                    let Some(&trial) = trial.filter(|_| !interrupt::requested()) else { return };
                    // Trials of all methods, tasks and lengths have seeds of their own.
                    let seed = blank.seed.wrapping_mul(1_000_003).wrapping_add((trial as u64) << 8);
                    let score = pollster::block_on(run_trial(reader, &question, seed + blank.extension as u64));
                    scores.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(score);
                    bar.inc(1);
                }
            });
        }
    });
    bar.finish_and_clear();
    if interrupt::requested() {
        return Err(interrupt::Stopped("stopped; the same command goes on with the next cell".into()).into());
    }
    let scores = scores.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    let scores = scores.into_iter().collect::<Result<Vec<_>>>()?;
    let correct = scores.iter().filter(|score| score.exact).count();
    // Threads finish in any order: sum in fixed steps so that the file is the same every time.
    let matched = scores.iter().map(|score| (score.string_match * 1e6).round() as u64).sum::<u64>() as f64 / 1e6;
    Ok(Cell { trials: trials.len(), correct, ..question.blank }.scored(matched))
}

/// `core merge`: the shards of each cell joined into one file.
pub fn merge(files: &[PathBuf], out: &Path) -> Result<()> {
    let texts = files.iter().map(|file| files::read_text(file)).collect::<Result<Vec<_>>>()?;
    if let Some(cells) = all::<Cell>(&texts) {
        write(Some(out), &results::merge(cells)?)
    } else if let Some(cells) = all::<PerplexityCell>(&texts) {
        write(Some(out), &perplexity::merge(cells)?)
    } else {
        bail!("these files are not all of `eval niah` or all of `eval ppl`; merge one kind at a time")
    }
}

/// The cells of every file, if all are of this kind.
fn all<T: DeserializeOwned>(texts: &[String]) -> Option<Vec<T>> {
    let lists: Result<Vec<Vec<T>>, _> = texts.iter().map(|text| serde_json::from_str(text)).collect();
    Some(lists.ok()?.into_iter().flatten().collect())
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
    let sample = niah::sample(&Spec { seed, sinks, ..*spec }, &|text| reader.tokenizer.count(text))?;
    let prompt = reader.tokenizer.prompt(&sample.prompt(), reader.config.bos_token_id)?;
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
        keep: method.keeps(&reader.config),
        temperature: 0.0,
        seed: 0,
    };
    let model = &reader.model;
    let answer = generate(model, &reader.config, positions, &prompt, &options, async |_| Flow::Continue).await?;
    Ok(sample.score(&reader.tokenizer.decode(&answer)?))
}
