//! `core tune`: the parameters with which a method answers most questions of the selection split.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use clap::Args;
use drope_core::config::Config;
use drope_core::language::Values;
use drope_core::niah::{Filler, QuestionSplit, Task};
use drope_core::positions::{Amount, Method, Parameter, Parameters};
use drope_core::results::Shard;
use drope_core::tune::{Grid, RandomSearch, ScoredPoint};

use crate::arguments::Sweep;
use crate::arguments::tuned::{self, Tuned, TunedCandidate};
use crate::arguments::{
    DifficultyArgs, NiahArgs, NumberArgs, ParameterArgs, above_zero, at_least_one, axis, method_names,
};
use crate::device::DeviceChoice;
use crate::messages::show;
use crate::reading::{self, MeasuredModel, retrieval};
use crate::{files, threads};

/// Find the parameters with which a method answers most questions of the selection split.
///
/// With --candidates so many combinations are drawn from wide ranges of all the method's parameters, its own values first, so that
/// methods are tuned alike; the best has the highest accuracy, on average over the extension factors, and of equal ones the first
/// counts. Without it, coordinate descent over the grid: from the method's own values on, each parameter in turn is tried with the best values
/// of the others, until a round changes nothing. The best has the highest accuracy, on average over the extension factors;
/// of equal ones the one with the fewest steps of the grid from the method's own values counts, then the one that was
/// measured first.
#[derive(Args)]
#[command(mut_arg("split", |split| split.default_value("selection")))]
pub struct TuneArgs {
    /// Folder of the model, or a GGUF.
    #[arg(long)]
    model: PathBuf,
    #[arg(
        long = "method",
        value_delimiter = ',',
        help = format!("Position methods, each tuned by itself: {}; default: what the config says", method_names())
    )]
    methods: Vec<Method>,
    /// Values to try of a parameter, such as beta_fast=8,16,32, once for each parameter; the method's own value is always
    /// tried; default: a grid of all the method's parameters, temperature included.
    #[arg(long = "grid", value_name = "NAME=VALUES", value_parser = axis)]
    grid: Vec<(Parameter, Vec<Amount>)>,
    /// Candidates to draw, the method's own values among them, in place of the grid.
    #[arg(long, conflicts_with = "grid", value_parser = at_least_one)]
    candidates: Option<usize>,
    /// Seed of the draw.
    #[arg(long, default_value_t = 1, requires = "candidates")]
    random_seed: u64,
    /// Task: single, multi-key, multi-query, multi-value, variable-tracking, latest-value, passkey.
    #[arg(long, default_value = "multi-key")]
    task: Task,
    /// Values: numbers, words.
    #[arg(long, default_value = "numbers")]
    values: Values,
    /// What needles are hidden in: prose, decoys, repeated-decoys, needles or grass; default: grass for passkey, else prose.
    #[arg(long)]
    filler: Option<Filler>,
    #[command(flatten)]
    difficulty: DifficultyArgs,
    /// Extension factors: multiples of the training context.
    #[arg(long = "extension", value_delimiter = ',', default_value = "2,4,8", value_parser = at_least_one)]
    extensions: Vec<usize>,
    /// Questions at each extension factor.
    #[arg(long, default_value = "100", value_parser = at_least_one)]
    trials: usize,
    /// Seed of the questions; results of evaluations have another.
    #[arg(long, default_value_t = 32_000)]
    seed: u64,
    /// For p-drope: frequencies below this, in radians a token, are dropped; default: the config's, else 2π/C.
    #[arg(long, value_parser = above_zero)]
    cut: Option<f64>,
    /// File for the results of all candidates; what it already holds is not measured again.
    #[arg(long)]
    json: Option<PathBuf>,
    /// File for the best parameters, which `--tuned` reads, with what was tried and all scores; a list of several methods.
    #[arg(long)]
    out: PathBuf,
    /// Where to compute.
    #[arg(long, value_enum, default_value = "auto")]
    device: DeviceChoice,
    /// CPU threads that compute; each thread works on one question at a time.
    #[arg(long, default_value_t = threads::available(), value_parser = at_least_one)]
    threads: usize,
}

/// What is tried for a method.
enum Candidates {
    Grid(Grid),
    /// The candidates with how they were drawn.
    Drawn(RandomSearch, Vec<Parameters>),
}

/// Measures the candidates and writes the best.
pub fn tune(args: &TuneArgs) -> Result<()> {
    ensure!(
        args.difficulty.split == QuestionSplit::Selection,
        "parameters are chosen by the questions of --split selection; those of the evaluation stay unseen until they are chosen"
    );
    files::check_writable(&args.out)?;
    let model = reading::load(&args.questions(Vec::new(), &Parameters::default()).sweep)?;
    let methods = args.questions(args.methods.clone(), &Parameters::default()).sweep.methods(&model.loaded.config)?;
    // All that is wrong with a method is found before anything is measured.
    let searches: Vec<Candidates> =
        methods.iter().map(|&method| args.search(method, &model.loaded.config)).collect::<Result<_>>()?;
    retrieval::print_header();
    let found = methods.iter().zip(searches).map(|(&method, search)| best(args, &model, method, search));
    let found = found.collect::<Result<Vec<Tuned>>>()?;
    let json = match &found[..] {
        [only] => serde_json::to_string_pretty(only)?,
        several => serde_json::to_string_pretty(several)?,
    };
    files::write(&args.out, (json + "\n").as_bytes())
}

/// Measures the candidates of a method, and says which is the best.
fn best(args: &TuneArgs, model: &MeasuredModel, method: Method, search: Candidates) -> Result<Tuned> {
    let score = |parameters: &Parameters| args.accuracy(model, method, parameters);
    let (grid, random, (candidates, best)) = match search {
        Candidates::Grid(grid) => (tuned::axes(&grid), None, on_grid(&grid, score)?),
        Candidates::Drawn(random, candidates) => (BTreeMap::new(), Some(random), drawn(&candidates, score)?),
    };
    show(format_args!("\n{:>8}  parameters of {}", "accuracy", method.name()));
    for candidate in &candidates {
        let mark = if candidate.parameters == best.parameters { "  best" } else { "" };
        show(format_args!("{:>7.1}%  {}{mark}", 100.0 * candidate.accuracy, described(&candidate.parameters)));
    }
    let at_ends = random.as_ref().map(|search| search.at_ends(&best.parameters)).unwrap_or_default();
    for parameter in at_ends {
        show(format_args!("{} of the best lies within a tenth of an end of its range", parameter.name()));
    }
    let filler = args.filler.unwrap_or(args.task.filler());
    Ok(Tuned {
        model: model.name.clone(),
        fingerprint: model.loaded.fingerprint(method)?,
        method,
        parameters: best.parameters,
        accuracy: best.accuracy,
        task: args.task,
        values: args.values,
        filler,
        difficulty: args.difficulty.of(args.task, filler),
        extensions: args.extensions.clone(),
        trials: args.trials,
        seed: args.seed,
        grid,
        random,
        candidates,
    })
}

/// The candidates of coordinate descent, and the best of them.
fn on_grid(
    grid: &Grid,
    score: impl FnMut(&Parameters) -> Result<f64>,
) -> Result<(Vec<TunedCandidate>, TunedCandidate)> {
    let scored = grid.descend(score)?;
    let of_point = |point: &ScoredPoint| TunedCandidate { parameters: point.parameters.clone(), accuracy: point.score };
    let best = grid.best(&scored).map(of_point).context("there is nothing to tune; give a grid")?;
    Ok((scored.iter().map(of_point).collect(), best))
}

/// Candidates with their accuracy, and the best of them; of equal ones the first.
fn drawn(
    candidates: &[Parameters],
    mut score: impl FnMut(&Parameters) -> Result<f64>,
) -> Result<(Vec<TunedCandidate>, TunedCandidate)> {
    let scored = candidates
        .iter()
        .map(|parameters| Ok(TunedCandidate { parameters: parameters.clone(), accuracy: score(parameters)? }));
    let scored = scored.collect::<Result<Vec<_>>>()?;
    let better = |best: TunedCandidate, next: TunedCandidate| if next.accuracy > best.accuracy { next } else { best };
    let best = scored.iter().cloned().reduce(better).context("there are no candidates")?;
    Ok((scored, best))
}

fn described(parameters: &Parameters) -> String {
    if parameters.is_empty() { "the method's own".to_owned() } else { parameters.to_string() }
}

impl TuneArgs {
    /// What is tried for a method.
    fn search(&self, method: Method, config: &Config) -> Result<Candidates> {
        let factors: Vec<f64> = self.extensions.iter().map(|&extension| extension as f64).collect();
        let config = config.clone().with_cut(self.cut);
        let Some(candidates) = self.candidates else {
            return Ok(Candidates::Grid(Grid::new(method, &config, &factors, &self.grid)?));
        };
        let random = RandomSearch::new(method, &config, candidates, self.random_seed)?;
        let candidates = random.draw(method, &config, &factors)?;
        Ok(Candidates::Drawn(random, candidates))
    }

    /// The questions for a candidate, as arguments of `core eval niah`.
    fn questions(&self, methods: Vec<Method>, parameters: &Parameters) -> NiahArgs {
        let sweep = Sweep {
            lengths: Vec::new(),
            numbers: NumberArgs::default(),
            model: self.model.clone(),
            methods,
            extensions: self.extensions.clone(),
            seed: self.seed,
            beta: None,
            cut: self.cut,
            parameters: ParameterArgs::these(parameters),
            json: self.json.clone(),
            device: self.device,
            threads: self.threads,
        };
        NiahArgs {
            sweep,
            tasks: vec![self.task],
            values: vec![self.values],
            trials: self.trials,
            shard: Shard::WHOLE,
            depths: Vec::new(),
            filler: self.filler,
            difficulty: self.difficulty,
            sinks: 0,
            heads: None,
        }
    }

    /// Mean accuracy over the extension factors, at each of which there are equally many questions.
    fn accuracy(&self, model: &MeasuredModel, method: Method, parameters: &Parameters) -> Result<f64> {
        let cells = retrieval::cells(model, &self.questions(vec![method], parameters))?;
        let correct: usize = cells.iter().map(|cell| cell.correct).sum();
        Ok(correct as f64 / (self.trials * cells.len()) as f64)
    }
}
