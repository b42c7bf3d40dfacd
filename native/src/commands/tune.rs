//! `core tune`: the parameters with which a method answers most questions of the selection split.

use std::path::PathBuf;

use anyhow::{Result, ensure};
use clap::Args;
use drope_core::language::Values;
use drope_core::niah::{Filler, QuestionSplit, Task};
use drope_core::positions::{Amount, Method, Parameter, Parameters};
use drope_core::results::Shard;
use drope_core::tune::Grid;

use super::niah::{self, NiahArgs};
use crate::arguments::Sweep;
use crate::arguments::tuned::{self, Tuned, TunedCandidate};
use crate::arguments::{DifficultyArgs, NumberArgs, ParameterArgs, above_zero, at_least_one, axis, method_names};
use crate::device::DeviceChoice;
use crate::reading::{self, MeasuredModel};
use crate::{files, threads};

/// Find the parameters with which a method answers most questions of the selection split.
///
/// Coordinate descent over the grid: from the method's own values on, each parameter in turn is tried with the best values
/// of the others, until a round changes nothing. The best has the highest accuracy, on average over the extension factors;
/// of equal ones the one with the fewest steps of the grid from the method's own values counts, then the one that was
/// measured first.
#[derive(Args)]
#[command(mut_arg("split", |split| split.default_value("selection")))]
pub struct TuneArgs {
    /// Folder of the model.
    #[arg(long)]
    model: PathBuf,
    #[arg(long, help = format!("Position method: {}; default: what the config says", method_names()))]
    method: Option<Method>,
    /// Values to try of a parameter, such as beta_fast=8,16,32, once for each parameter; the method's own value is always
    /// tried; default: a grid of all the method's parameters, temperature included.
    #[arg(long = "grid", value_name = "NAME=VALUES", value_parser = axis)]
    grid: Vec<(Parameter, Vec<Amount>)>,
    /// Task: single, multi-key, multi-query, multi-value, variable-tracking, latest-value, passkey.
    #[arg(long, default_value = "multi-key")]
    task: Task,
    /// Values: numbers, words.
    #[arg(long, default_value = "numbers")]
    values: Values,
    /// What needles are hidden in: prose, decoys, needles or grass; default: grass for passkey, else prose.
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
    /// File for the best parameters, which `--tuned` reads, with the grid and all scores.
    #[arg(long)]
    out: PathBuf,
    /// Where to compute.
    #[arg(long, value_enum, default_value = "auto")]
    device: DeviceChoice,
    /// CPU threads that compute; each thread works on one question at a time.
    #[arg(long, default_value_t = threads::available(), value_parser = at_least_one)]
    threads: usize,
}

/// Measures the candidates and writes the best.
pub fn tune(args: &TuneArgs) -> Result<()> {
    ensure!(
        args.difficulty.split == QuestionSplit::Selection,
        "parameters are chosen by the questions of --split selection; those of the evaluation stay unseen until they are chosen"
    );
    files::check_writable(&args.out)?;
    let model = reading::load(&args.questions(None, &Parameters::default()).sweep)?;
    let method = args.method.unwrap_or_else(|| Method::of(&model.loaded.config));
    let factors: Vec<f64> = args.extensions.iter().map(|&extension| extension as f64).collect();
    let config = model.loaded.config.clone().with_cut(args.cut);
    let grid = Grid::new(method, &config, &factors, &args.grid)?;
    niah::print_header();
    let candidates = grid.descend(|parameters| args.accuracy(&model, method, parameters))?;
    let best = grid.best(&candidates).map(TunedCandidate::new);
    let Some(best) = best else { anyhow::bail!("there is nothing to tune; give a grid") };
    println!("\n{:>8}  parameters", "accuracy");
    for candidate in &candidates {
        let mark = if candidate.parameters == best.parameters { "  best" } else { "" };
        println!("{:>7.1}%  {}{mark}", 100.0 * candidate.score, described(&candidate.parameters));
    }
    let filler = args.filler.unwrap_or(args.task.filler());
    let found = Tuned {
        model: model.name,
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
        grid: tuned::axes(&grid),
        candidates: candidates.iter().map(TunedCandidate::new).collect(),
    };
    files::write(&args.out, (serde_json::to_string_pretty(&found)? + "\n").as_bytes())
}

fn described(parameters: &Parameters) -> String {
    if parameters.is_empty() { "the method's own".to_owned() } else { parameters.to_string() }
}

impl TuneArgs {
    /// The questions for a candidate, as arguments of `core eval niah`.
    fn questions(&self, method: Option<Method>, parameters: &Parameters) -> NiahArgs {
        let sweep = Sweep {
            lengths: Vec::new(),
            numbers: NumberArgs::default(),
            model: self.model.clone(),
            methods: method.into_iter().collect(),
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
        let cells = niah::cells(model, &self.questions(Some(method), parameters))?;
        let correct: usize = cells.iter().map(|cell| cell.correct).sum();
        Ok(correct as f64 / (self.trials * cells.len()) as f64)
    }
}
