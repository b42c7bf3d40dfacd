//! Accuracy by method and length: the committed results, and what is counted in this tab.

use drope_core::positions::Method;
use drope_core::results::Cell as Measured;
use drope_core::stats::wilson;
use leptos::prelude::*;

use super::client::{self, TRIALS};
use super::controls::title;
use super::state::{CellKey, EXTENSIONS, Running, State};
use crate::protocol::model_of;

/// Written by `core eval niah`; inside the page's wasm, so that the grid is there before any weights.
const RESULTS: [&str; 2] =
    [include_str!("../../../docs/results/niah.json"), include_str!("../../../docs/results/niah-16x.json")];

/// The table of all methods and lengths for the chosen task and values.
#[component]
pub fn Grid(state: State) -> impl IntoView {
    let read = |file| serde_json::from_str::<Vec<Measured>>(file).unwrap_or_default();
    let results = StoredValue::new(RESULTS.into_iter().flat_map(read).collect::<Vec<_>>());
    let summary = move || {
        let (task, values) = (state.task.get(), state.values.get());
        results.with_value(|results| best_sentence(results, task.name(), values.name()))
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
                    result.model == model_of(method)
                        && result.method == method.name()
                        && result.task == key.task.name()
                        && result.values == key.values.name()
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
                aria-label=move || format!("{} at {extension} times: {}", title(method), if is_running() { "stop" } else { "run here" })>
                {move || committed().map_or_else(
                    || view! { <span class="percent">"–"</span> }.into_any(),
                    |result| view! {
                        <span class="percent">{format!("{:.0} %", 100.0 * result.accuracy)}</span>
                        <span class="interval" title=format!("{} trials", result.trials)>{interval(result.ci95)}</span>
                    }.into_any(),
                )}
                {move || live().map(|live| view! {
                    <span class="live">{format!("here {}/{} ", live.correct, live.done)}{interval(wilson(live.correct, live.done))}</span>
                })}
            </button>
        </td>
    }
}

fn interval([low, high]: [f64; 2]) -> String {
    format!("{:.0}–{:.0}", 100.0 * low, 100.0 * high)
}

/// Who leads at each length, in a sentence: where YaRN or NTK does, it says so, and where intervals overlap, that
/// nobody does.
fn best_sentence(results: &[Measured], task: &str, values: &str) -> String {
    let leaders = EXTENSIONS.map(|extension| {
        let is_here =
            |result: &&Measured| result.task == task && result.values == values && result.extension == extension;
        let best = results.iter().filter(is_here).max_by(|a, b| a.accuracy.total_cmp(&b.accuracy))?;
        let level: Vec<&str> = results
            .iter()
            .filter(is_here)
            .filter(|result| result.ci95[1] >= best.ci95[0])
            .filter_map(|result| Some(title(result.method.parse::<Method>().ok()?)))
            .collect();
        Some(format!("{extension}×: {} ({:.0} %)", level.join(", "), 100.0 * best.accuracy))
    });
    let leaders: Vec<String> = leaders.into_iter().flatten().collect();
    if leaders.is_empty() {
        "No committed results for this task; press a cell to measure it here.".to_owned()
    } else {
        format!("Best here, with every method whose interval overlaps the best one's. {}.", leaders.join("; "))
    }
}
