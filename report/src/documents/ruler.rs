//! The table of RULER's scores.

use drope_core::benchmarks::BenchmarkCell;

use crate::markdown::table;
use crate::number::Number;

/// Scores by task, length and method; `reading` is what a cell is called.
pub fn ruler_table(mut cells: Vec<&BenchmarkCell>, reading: impl Fn(&BenchmarkCell) -> String) -> String {
    cells.sort_by(|a, b| (&a.task, a.context, a.method.name()).cmp(&(&b.task, b.context, b.method.name())));
    let row = |cell: &BenchmarkCell| {
        let score = Number { value: cell.score, ci95: Some(cell.ci95), trials: cell.answers.len() };
        let (context, questions) = (cell.context.to_string(), score.trials.to_string());
        vec![cell.task.clone(), context, reading(cell), questions, score.percent()]
    };
    table(["task", "tokens", "reading", "questions", "score"], cells.into_iter().map(row))
}
