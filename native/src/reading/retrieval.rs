//! Questions of needles, and their cells in results.

use anyhow::Result;
use drope_core::config::dope::DopeHeads;
use drope_core::niah::{Score, Spec};
use drope_core::results::{CellHeader, Outcomes, ResultCell, RetrievalCell, Shard};

use super::answer::{answer, question_seed};
use super::measure::{Measurement, measure};
use super::model::{MeasuredModel, PlannedReading, readings};
use crate::arguments::NiahArgs;

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
    for method in args.sweep.methods(&model.loaded.config)? {
        let readings = readings(&args.sweep, &model.loaded, method)?;
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
                100.0 * cell.chance_level(),
                cell.parameters
            );
        }
    }
}
