//! `core eval niah`: retrieval at several lengths, with intervals.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use drope_core::config::dope::DopeHeads;
use drope_core::language::Values;
use drope_core::niah::{Filler, Score, Spec, Task};
use drope_core::results::{CellHeader, Outcomes, ResultCell, RetrievalCell, Shard};

use crate::arguments::Sweep;
use crate::arguments::{DifficultyArgs, at_least_one, depth};
use crate::files::model_folder;
use crate::reading::{self, MeasuredModel, Measurement, PlannedReading, answer, measure, question_seed, samples_of};

/// Arguments of `core eval niah`.
#[derive(Args)]
pub struct NiahArgs {
    #[command(flatten)]
    pub sweep: Sweep,
    /// Tasks: single, multi-key, multi-query, multi-value, variable-tracking, latest-value, passkey.
    #[arg(long = "task", value_delimiter = ',', default_value = "multi-key")]
    pub tasks: Vec<Task>,
    /// Values: numbers, words.
    #[arg(long, value_delimiter = ',', default_value = "numbers")]
    pub values: Vec<Values>,
    /// Number of questions for each cell.
    #[arg(long, default_value = "500", value_parser = at_least_one)]
    pub trials: usize,
    /// Ask only this part of the questions, such as 3/16; `core merge` joins the parts.
    #[arg(long, default_value = "1/1")]
    pub shard: Shard,
    /// Depths of the needle, 0 (start of the haystack) to 1 (end); each depth is a cell. Default: random depths.
    #[arg(long = "depth", value_delimiter = ',', value_parser = depth)]
    pub depths: Vec<f64>,
    /// What needles are hidden in: prose, decoys (prose with words of keys and values), repeated-decoys (a few sentences of
    /// them again and again), needles (nothing else), or grass (Wang's repeated sentences); default: grass for passkey, else prose.
    #[arg(long)]
    pub filler: Option<Filler>,
    #[command(flatten)]
    pub difficulty: DifficultyArgs,
    /// Attention-sink tokens (beginning of text) right after each queried needle: DoPE's noisy setting.
    #[arg(long, default_value_t = 0)]
    pub sinks: usize,
    /// For dope-*: heads that `core dope select` wrote; default: those in the model's config.
    #[arg(long)]
    pub heads: Option<PathBuf>,
}

/// Measures every cell that the results file does not hold. Returns all that were asked for.
pub fn niah(args: &NiahArgs) -> Result<()> {
    let mut model = reading::load(&args.sweep)?;
    if let Some(path) = &args.heads {
        model.loaded.config.dope_heads = Some(model_folder::dope_heads(path)?);
        model.loaded.config.check()?;
    }
    samples_of(args.shard, args.trials, "questions")?;
    print_header();
    print_thresholds(&cells(&model, args)?);
    Ok(())
}

/// Names of the columns.
pub fn print_header() {
    println!(
        "{:12} {:8} {:17} {:8} {:>4} {:>7} {:>8}  {:14} {:>6} {:>6}",
        "model", "method", "task", "values", "s", "tokens", "exact", "95 %", "string", "guess"
    );
}

/// The cells of a model that is loaded already.
pub fn cells(model: &MeasuredModel, args: &NiahArgs) -> Result<Vec<RetrievalCell>> {
    measure(&args.sweep, model.threads, &planned_cells(model, args)?)
}

/// Prints whether each task passes the gate, by the accuracy of its cell at the training context, if that was measured.
fn print_thresholds(cells: &[RetrievalCell]) {
    for cell in cells.iter().filter(|cell| cell.extension == 1) {
        let Some(passes) = cell.passes_threshold(cells) else { continue };
        println!(
            "{} {} {} {}: {:.1}% at 1x, {} the threshold of {:.0}%",
            cell.model,
            cell.method.name(),
            cell.task.name(),
            cell.values.name(),
            100.0 * cell.accuracy,
            if passes { "passes" } else { "fails" },
            100.0 * RetrievalCell::THRESHOLD
        );
    }
}

/// A cell that is to be measured.
struct QuestionsToAsk<'a> {
    model: &'a MeasuredModel,
    reading: PlannedReading,
    spec: Spec<'static>,
    /// Numbers of the questions.
    trials: Vec<usize>,
    /// The cell without its results.
    blank: RetrievalCell,
}

fn planned_cells<'a>(model: &'a MeasuredModel, args: &NiahArgs) -> Result<Vec<QuestionsToAsk<'a>>> {
    let depths: Vec<Option<f64>> = match &args.depths[..] {
        [] => vec![None],
        depths => depths.iter().copied().map(Some).collect(),
    };
    let mut cells = Vec::new();
    for method in args.sweep.methods(&model.loaded.config) {
        let readings = reading::readings(&args.sweep, &model.loaded, method)?;
        for &task in &args.tasks {
            for &values in &args.values {
                for reading in &readings {
                    for &depth in &depths {
                        let filler = args.filler.unwrap_or(task.filler());
                        let difficulty = args.difficulty.of(task, filler);
                        let standard = Spec::new(task, values, reading.context, args.sweep.seed);
                        let spec = Spec { depth, filler, difficulty, ..standard };
                        spec.check()?;
                        cells.push(planned_cell(model, args, reading, spec));
                    }
                }
            }
        }
    }
    Ok(cells)
}

fn planned_cell<'a>(
    model: &'a MeasuredModel,
    args: &NiahArgs,
    reading: &PlannedReading,
    spec: Spec<'static>,
) -> QuestionsToAsk<'a> {
    let heads = model.loaded.config.dope_heads.as_ref().filter(|_| reading.method.is_dope());
    let trials: Vec<usize> = args.shard.trials(args.trials).collect();
    let blank = RetrievalCell {
        header: reading.header(model, &args.sweep),
        task: spec.task,
        values: spec.values,
        context: reading.context,
        trials: trials.len(),
        correct: 0,
        accuracy: 0.0,
        string_match: 0.0,
        ci95: [0.0, 0.0],
        seed: args.sweep.seed,
        depth: spec.depth,
        filler: (spec.filler != spec.task.filler()).then_some(spec.filler),
        sinks: args.sinks,
        difficulty: spec.difficulty,
        heads: heads.map(DopeHeads::label),
        shard: (args.shard != Shard::WHOLE).then_some(args.shard),
        outcomes: None,
    };
    QuestionsToAsk { model, reading: reading.clone(), spec, trials, blank }
}

impl Measurement for QuestionsToAsk<'_> {
    type Cell = RetrievalCell;
    type Outcome = Score;

    fn title(&self) -> String {
        let CellHeader { method, parameters, .. } = &self.blank.header;
        let RetrievalCell { task, values, context, .. } = &self.blank;
        format!("{} {} {} {context} tokens {parameters}", method.name(), task.name(), values.name())
    }

    fn blank(&self) -> &RetrievalCell {
        &self.blank
    }

    fn samples(&self) -> &[usize] {
        &self.trials
    }

    fn find(&self, known: &[RetrievalCell]) -> Vec<RetrievalCell> {
        let is_done = |cell: &&RetrievalCell| {
            cell.same_measurement(&self.blank) && (cell.shard, cell.trials) == (self.blank.shard, self.blank.trials)
        };
        known.iter().find(is_done).cloned().into_iter().collect()
    }

    fn sample(&self, trial: usize) -> Result<Score> {
        let spec = Spec { seed: question_seed(&self.blank, trial), ..self.spec };
        pollster::block_on(answer(self.model, &self.reading, &spec, self.blank.sinks))
    }

    fn cells(&self, scores: Vec<Score>) -> Result<Vec<RetrievalCell>> {
        let outcomes: Outcomes = scores.iter().map(|score| score.exact).collect();
        let matched = scores.iter().map(|score| (score.string_match * 1e6).round() as u64).sum::<u64>() as f64 / 1e6;
        Ok(vec![
            RetrievalCell { correct: outcomes.count(), outcomes: Some(outcomes), ..self.blank.clone() }
                .recomputed(matched),
        ])
    }

    fn print(&self, cells: &[RetrievalCell]) {
        for cell in cells {
            let CellHeader { model, method, extension, .. } = &cell.header;
            let RetrievalCell { task, values, context, accuracy, ci95, string_match, .. } = cell;
            let [low, high] = ci95.map(|bound| 100.0 * bound);
            println!(
                "{model:12} {:8} {:17} {:8} {extension:>3}x {context:>7} {:>7.1}%  [{low:.1}, {high:.1}]   {:>5.1}% {:>5.1}%  {}",
                method.name(),
                task.name(),
                values.name(),
                100.0 * accuracy,
                100.0 * string_match,
                100.0 * cell.guess_floor(),
                cell.parameters
            );
        }
    }
}
