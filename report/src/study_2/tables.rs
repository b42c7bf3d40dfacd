//! Accuracies of models of one budget side by side, for the paper: means over trunks in percent.

use super::models::{FAR_BUDGET, FAR_RIVALS, NO_BUDGET, UNTRAINED, UPPER_BOUNDS, title, tokens};
use super::results::{Asked, FAR, FAR_SELECTION, NEAR, Results, Side};
use super::rivals::OURS;
use crate::markdown::{line, or_dash, table};

/// Ours beside RoPE and the rivals that were trained on other positions, and the upper bounds.
const SHOWN: [&str; 5] = [OURS, "keep", "keep-copies", "gaps-yarn", "p-rope-keep-copies"];

/// A column: what is asked, and the extension factor.
type Column = (Asked, usize);

/// Both tables, up to 8× and beyond; empty where nothing of them is measured.
pub fn tables(results: &Results) -> String {
    let best = |(run, budget): (&str, &str)| Some(results.best_reading(run, budget, &NEAR)?.0);
    let runs = SHOWN.into_iter().chain(UPPER_BOUNDS).map(|run| (run, FAR_BUDGET));
    let near: Vec<Side> = [(UNTRAINED, NO_BUDGET)].into_iter().chain(runs).filter_map(best).collect();
    let prose = [1, 2, 4, 8].map(|s| (Asked::Primary, s));
    let decoys = [1, 2, 4, 8].map(|s| (Asked::Decoys, s));
    let near = of_sides(results, &near, &[prose, decoys].concat());
    let ours = results.best_reading(OURS, FAR_BUDGET, &FAR_SELECTION).map(|(side, _)| side);
    let rivals = results.ranked(&FAR_RIVALS, FAR_BUDGET, &FAR_SELECTION).into_iter().map(|(side, _)| side).take(2);
    let far: Vec<Side> = ours.into_iter().chain(rivals).collect();
    let far = of_sides(results, &far, &[FAR.map(|s| (Asked::Primary, s)), FAR.map(|s| (Asked::Decoys, s))].concat());
    let parts = [
        near.map(|table| format!("**After {} tokens, up to 8×.**\n\n{table}", tokens(FAR_BUDGET))),
        far.map(|table| format!("**The same beyond, with settings of their own.**\n\n{table}")),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join("\n")
}

/// `None` without rows.
fn of_sides(results: &Results, sides: &[Side], columns: &[Column]) -> Option<String> {
    let share = |side: &Side, &(asked, s): &Column| {
        or_dash(results.accuracy(side, asked, s).map(|over| format!("{:.0}", 100.0 * over.mean)))
    };
    let row = |side: &Side| line(title(&side.run), columns.iter().map(|column| share(side, column)));
    let heads = columns.iter().map(|(asked, s)| match asked {
        Asked::Decoys => format!("decoys, {s}×"),
        _ => format!("{s}×"),
    });
    (!sides.is_empty()).then(|| table(line("", heads), sides.iter().map(row)))
}
