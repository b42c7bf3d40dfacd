//! `core eval ruler`, `longbench` and `choice`: the benchmarks of others, one question after the other.

mod choice;
mod longbench;
mod ruler;

use std::ops::Range;
use std::path::Path;

use anyhow::{Context, Result};
use clap::Args;
use drope_core::benchmarks::{Answer, Benchmark, BenchmarkCell};
use drope_core::generate::{Options, generate_each};
use drope_core::results::{CellHeader, ResultCell, Shard};

pub use self::choice::{ChoiceArgs, choice};
pub use self::longbench::{LongBenchArgs, longbench};
pub use self::ruler::{RulerArgs, ruler};
use crate::arguments::Sweep;
use crate::files::{self, model_folder};
use crate::interrupt;
use crate::reading::Measurement;
use crate::reading::{MeasuredModel, PlannedReading};

/// How questions are asked, for benchmarks whose answers the model generates.
#[derive(Args)]
pub struct AskingArgs {
    /// Write each question as a message with the model's chat template.
    #[arg(long)]
    pub chat: bool,
    /// Ask only this part of the questions, such as 3/16; `core merge` joins the parts.
    #[arg(long, default_value = "1/1")]
    pub shard: Shard,
}

/// A cell that is to be measured.
struct BenchmarkQuestions<'a> {
    /// Numbers of the haystacks if several questions share one, else numbers of the questions.
    wanted: Vec<usize>,
    /// The cell without its results.
    blank: BenchmarkCell,
    /// Asks all questions about one haystack and scores the answers.
    ask: Box<dyn Fn(usize) -> Result<Vec<Answer>> + Sync + 'a>,
}

/// A cell without its results.
fn blank(
    model: &MeasuredModel,
    sweep: &Sweep,
    reading: &PlannedReading,
    (benchmark, task): (Benchmark, &str),
    of_questions: usize,
) -> BenchmarkCell {
    BenchmarkCell {
        header: reading.header(model, sweep),
        context: reading.context,
        benchmark,
        task: task.to_owned(),
        source: String::new(),
        is_chat: false,
        seed: sweep.seed,
        of_questions,
        questions_per_haystack: 1,
        score: 0.0,
        ci95: [0.0, 0.0],
        normed: None,
        answers: Vec::new(),
    }
}

/// Names of the columns.
fn print_header() {
    println!(
        "{:12} {:12} {:>4} {:>7} {:20} {:>9} {:>7}  {:16}",
        "model", "method", "s", "tokens", "task", "questions", "score", "95 %"
    );
}

impl Measurement for BenchmarkQuestions<'_> {
    type Cell = BenchmarkCell;
    type Outcome = Vec<Answer>;

    fn title(&self) -> String {
        format!("{} {} {} tokens", self.blank.method.name(), self.blank.task, self.blank.context)
    }

    fn blank(&self) -> &BenchmarkCell {
        &self.blank
    }

    fn samples(&self) -> &[usize] {
        &self.wanted
    }

    fn find(&self, known: &[BenchmarkCell]) -> Vec<BenchmarkCell> {
        let BenchmarkCell { of_questions, questions_per_haystack, .. } = self.blank;
        let is_done = |cell: &&BenchmarkCell| {
            let indices = cell.answers.iter().map(|answer| answer.index);
            let wanted = self
                .wanted
                .iter()
                .flat_map(|&haystack| questions_about(haystack, questions_per_haystack, of_questions));
            cell.same_measurement(&self.blank) && indices.eq(wanted)
        };
        known.iter().find(is_done).cloned().into_iter().collect()
    }

    fn sample(&self, index: usize) -> Result<Vec<Answer>> {
        interrupt::check("stopped")?;
        (self.ask)(index)
    }

    fn cells(&self, answers: Vec<Vec<Answer>>) -> Result<Vec<BenchmarkCell>> {
        Ok(vec![BenchmarkCell { answers: answers.concat(), ..self.blank.clone() }.recomputed()])
    }

    fn print(&self, cells: &[BenchmarkCell]) {
        for cell in cells {
            let CellHeader { model, method, extension, .. } = &cell.header;
            let BenchmarkCell { context, task, answers, score, ci95, normed, .. } = cell;
            let [low, high] = ci95.map(|bound| 100.0 * bound);
            println!(
                "{model:12} {:12} {extension:>3}x {context:>7} {task:20} {:>9} {:>6.1}%  [{low:.1}, {high:.1}]  {}{}",
                method.name(),
                answers.len(),
                100.0 * score,
                normed.map_or(String::new(), |normed| format!("by letter {:.1}%  ", 100.0 * normed)),
                cell.parameters,
            );
        }
    }
}

/// What a chat template writes around a message.
fn chat_affixes(folder: &Path, is_chat: bool) -> Result<Option<[String; 2]>> {
    is_chat.then(|| Ok(model_folder::asked_chat_template(folder)?.affixes(None)?)).transpose()
}

/// A file of one JSON object a line: its name and hash, and what `read` makes of the lines.
fn read_lines<T>(path: &Path, read: impl Fn(&str) -> drope_core::Result<T>) -> Result<(String, Vec<T>)> {
    let (text, source) = files::read_source(path)?;
    let row = |(at, line): (usize, &str)| {
        read(line).with_context(|| format!("cannot use line {} of {}", at + 1, path.display()))
    };
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    Ok((source, lines.map(row).collect::<Result<_>>()?))
}

/// Numbers of the questions about a haystack.
fn questions_about(haystack: usize, per_haystack: usize, of_questions: usize) -> Range<usize> {
    let first = haystack * per_haystack;
    first..(first + per_haystack).min(of_questions)
}

/// The greedy answers to prompts of ids, of which the common beginning is read once.
fn answers(
    model: &MeasuredModel,
    reading: &PlannedReading,
    prompts: &[Vec<u32>],
    max_new_tokens: usize,
) -> Result<Vec<String>> {
    let (config, tokenizer) = (&model.loaded.config, &model.loaded.tokenizer);
    let longest = prompts.iter().map(Vec::len).max().unwrap_or(0);
    let options = Options {
        max_new_tokens,
        stop: config.eos_token_ids.clone(),
        context: longest + max_new_tokens,
        crop_length: reading.method.crop_length(config),
        ..Options::default()
    };
    let prompts: Vec<&[u32]> = prompts.iter().map(Vec::as_slice).collect();
    let ids = generate_each(&model.loaded.model, config, &reading.positions, &prompts, &options, interrupt::observe);
    let ids = pollster::block_on(ids)?;
    // After Ctrl-C the answers may be incomplete; the check discards them all.
    interrupt::check("stopped")?;
    Ok(ids.iter().map(|ids| tokenizer.decode(ids)).collect::<drope_core::Result<_>>()?)
}
