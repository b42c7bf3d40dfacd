//! `core eval choice`.

use std::path::PathBuf;

use anyhow::{Result, ensure};
use clap::Args;
use drope_core::benchmarks::choice::{Form, Question, log_likelihoods};
use drope_core::benchmarks::{Answer, Benchmark, BenchmarkCell};
use drope_core::results::Shard;

use super::{BenchmarkQuestions, blank, print_header, read_lines};
use crate::arguments::Sweep;
use crate::arguments::at_least_one;
use crate::interrupt;
use crate::reading::{self, MeasuredModel, PlannedReading, measure, samples_of};

/// Arguments of `core eval choice`.
#[derive(Args)]
#[command(mut_arg("extensions", |extension| extension.default_value("1")))]
pub struct ChoiceArgs {
    #[command(flatten)]
    pub sweep: Sweep,
    /// A file of questions, one JSON object a line.
    #[arg(long)]
    pub data: PathBuf,
    /// Format of the file: hellaswag, arc, openbookqa, piqa, winogrande, boolq, or plain (query, choices, gold).
    #[arg(long)]
    pub form: Form,
    /// Maximum number of questions, counted from the first; default: all.
    #[arg(long, value_parser = at_least_one)]
    pub trials: Option<usize>,
    /// Ask only this part of the questions, such as 3/16; `core merge` joins the parts.
    #[arg(long, default_value = "1/1")]
    pub shard: Shard,
}

/// Measures every cell that the results file does not hold.
pub fn choice(args: &ChoiceArgs) -> Result<()> {
    let model = reading::load(&args.sweep)?;
    let (source, questions) = read_lines(&args.data, |line| Question::from_json(args.form, line))?;
    ensure!(!questions.is_empty(), "{} has no questions", args.data.display());
    let trials = args.trials.unwrap_or(questions.len()).min(questions.len());
    let mut cells = Vec::new();
    for method in args.sweep.methods(&model.loaded.config)? {
        for reading in reading::readings(&args.sweep, &model.loaded, method)? {
            let blank = BenchmarkCell {
                source: source.clone(),
                ..blank(&model, &args.sweep, &reading, (Benchmark::Choice, args.form.name()), trials)
            };
            let (model, questions, reading) = (&model, &questions, reading.clone());
            let ask = move |index: usize| Ok(vec![chosen(model, &reading, index, &questions[index])?]);
            let wanted = samples_of(args.shard, trials, "questions")?;
            cells.push(BenchmarkQuestions { wanted, blank, ask: Box::new(ask) });
        }
    }
    print_header();
    measure(&args.sweep, model.threads, &cells).map(|_| ())
}

/// The choice that the model finds most likely.
fn chosen(model: &MeasuredModel, reading: &PlannedReading, index: usize, question: &Question) -> Result<Answer> {
    let most = reading.method.crop_length(&model.loaded.config).unwrap_or(usize::MAX);
    let context = reading.context.min(most);
    let asked = log_likelihoods(&model.loaded, &reading.positions, context, question, interrupt::observe);
    let likelihoods = pollster::block_on(asked)?;
    interrupt::check("stopped")?;
    let is_right = |chosen: usize| f64::from(u8::from(chosen == question.gold));
    let chosen = question.chosen(&likelihoods);
    let text = |choice: usize| question.choices[choice].concat().lines().last().unwrap_or_default().to_owned();
    Ok(Answer {
        index,
        score: is_right(chosen),
        normed: question.chosen_normed(&likelihoods).map(is_right),
        said: text(chosen),
        expected: vec![text(question.gold)],
    })
}
