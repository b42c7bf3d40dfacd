//! Accuracy by method and length: the committed results, and what is counted in this tab.

use std::collections::HashSet;

use drope_core::language::Values;
use drope_core::niah::Task;
use drope_core::positions::Method;
use drope_core::results::Cell as Measured;
use drope_core::stats::wilson;
use leptos::prelude::*;

use super::client::{self, TRIALS};
use super::controls::title;
use super::state::{CellKey, EXTENSIONS, Running, State};
use crate::protocol::model_of;

/// Written by `core eval niah`; inside the page's wasm, so that the grid is there before any weights.
const RESULTS: [&str; 4] = [
    include_str!("../../../docs/results/niah.json"),
    include_str!("../../../docs/results/niah-more.json"),
    include_str!("../../../docs/results/niah-most.json"),
    include_str!("../../../docs/results/niah-16x.json"),
];

/// DroPE as in the paper, whose model the page has not.
const ABLATION: &str = include_str!("../../../docs/results/ablation.json");

/// The table of all methods and lengths for the chosen task and values.
#[component]
pub fn Grid(state: State) -> impl IntoView {
    let results = StoredValue::new(committed());
    let summary = move || {
        let (task, values) = (state.task.get(), state.values.get());
        results.with_value(|results| best_sentence(results, task, values))
    };
    view! {
        <section class="grid" aria-label="Results">
            <h2>"Exact answers, by method and length"</h2>
            <p class="hint">{summary}</p>
            <div class="scroll">
                <table>
                    <thead>
                        <tr>
                            <th scope="col">"Method"</th>
                            {EXTENSIONS.map(|factor| view! { <th scope="col">{format!("{factor}×")}</th> }).collect_view()}
                        </tr>
                    </thead>
                    <tbody>
                        {Method::ALL.map(|method| view! {
                            <tr>
                                <th scope="row">{title(method)}</th>
                                {EXTENSIONS.map(|extension| view! { <Cell state method extension results /> }).collect_view()}
                            </tr>
                        }).collect_view()}
                    </tbody>
                </table>
            </div>
            <p class="hint">{papers_drope()}</p>
            <p class="hint">
                "Percent of questions answered exactly, with the 95 % interval. Press a cell to ask "{TRIALS}" fresh questions here. "
                "One-token words hide how badly a method copies; numbers need every digit."
            </p>
        </section>
    }
}

/// One cell: a button that runs it.
#[component]
fn Cell(state: State, method: Method, extension: usize, results: StoredValue<Vec<Measured>>) -> impl IntoView {
    let key = move || CellKey { method, task: state.task.get(), values: state.values.get(), extension };
    let committed = move || {
        let key = key();
        results.with_value(|results| {
            results
                .iter()
                .find(|result| {
                    result.method == method
                        && result.task == key.task
                        && result.values == key.values
                        && result.extension == extension
                })
                .cloned()
        })
    };
    let live = move || state.live.with(|live| live.get(&key()).copied());
    let is_running = move || state.running.get() == Some(Running::Cell(key()));
    let shade = move || format!("--share:{:.2}", committed().map_or(0.0, |result| result.accuracy));
    let press = move |_| if is_running() { client::stop(state) } else { client::measure(state, key()) };
    view! {
        <td style=shade>
            <button type="button" class:running=is_running on:click=press
                aria-label=move || {
                    let score = committed().map_or("not measured".to_owned(), |result| percent(&result));
                    format!("{} at {extension} times: {score}; {}", title(method), if is_running() { "stop" } else { "run here" })
                }>
                {move || committed().map_or_else(
                    || view! { <span class="percent">"–"</span> }.into_any(),
                    |result| view! {
                        <span class="percent">{percent(&result)}</span>
                        <span class="interval" title=format!("{} trials", result.trials)>{interval(result.ci95)}</span>
                    }.into_any(),
                )}
                {move || live().map(|live| view! {
                    <span class="live">{format!("here {}/{} ", live.correct, live.done)}{interval(wilson(live.correct, live.done))}</span>
                })}
                {move || is_running().then(|| view! { <span class="live">"press to stop"</span> })}
            </button>
        </td>
    }
}

fn interval([low, high]: [f64; 2]) -> String {
    format!("{:.0}–{:.0}", 100.0 * low, 100.0 * high)
}

fn percent(result: &Measured) -> String {
    format!("{:.0} %", 100.0 * result.accuracy)
}

/// Cells of the page's models; where one was asked twice, the one with more questions.
fn committed() -> Vec<Measured> {
    let read = |file| serde_json::from_str::<Vec<Measured>>(file).unwrap_or_default();
    let is_here = |cell: &Measured| model_of(cell.method) == cell.model;
    let mut cells: Vec<Measured> = RESULTS.into_iter().flat_map(read).filter(is_here).collect();
    cells.sort_by_key(|cell| std::cmp::Reverse(cell.trials));
    let mut seen = HashSet::new();
    cells.retain(|cell| seen.insert((cell.method, cell.task, cell.values, cell.extension)));
    cells
}

/// What DroPE would be without what we add: honest beside the row that has it.
fn papers_drope() -> String {
    let cells: Vec<Measured> = serde_json::from_str(ABLATION).unwrap_or_default();
    let plain = cells.iter().filter(|cell| cell.model == "drope-plain" && cell.extension > 1);
    let scores: Vec<String> = plain.map(|cell| format!("{} at {}×", percent(cell), cell.extension)).collect();
    format!(
        "DroPE here is recalibrated with two additions of ours: copies, which simulate the crowd of a longer text, and logits that \
         grow with the length. As in the paper, at the same budget, it answers fewer questions on one of four keys, numbers: {}.",
        scores.join(", ")
    )
}

/// Who leads at each length, in a sentence: where YaRN or NTK does, it says so, and where intervals overlap, that
/// nobody does.
fn best_sentence(results: &[Measured], task: Task, values: Values) -> String {
    let leaders = EXTENSIONS.map(|extension| {
        let here: Vec<&Measured> = results
            .iter()
            .filter(|result| result.task == task && result.values == values && result.extension == extension)
            .collect();
        let best = here.iter().max_by(|a, b| a.accuracy.total_cmp(&b.accuracy))?;
        let level: Vec<&str> =
            here.iter().filter(|result| result.ci95[1] >= best.ci95[0]).map(|result| title(result.method)).collect();
        Some(match level.len() {
            _ if best.accuracy < MEANINGFUL => format!("{extension}×: none"),
            1..=4 => format!("{extension}×: {} ({})", level.join(", "), percent(best)),
            others => format!("{extension}×: {others} methods are level ({})", percent(best)),
        })
    });
    let leaders: Vec<String> = leaders.into_iter().flatten().collect();
    if leaders.is_empty() {
        "No committed results for this task; press a cell to measure it here.".to_owned()
    } else {
        format!("Best here, with every method whose interval overlaps the best one's. {}.", leaders.join("; "))
    }
}

/// A best score below this is nobody's success.
const MEANINGFUL: f64 = 0.05;
