//! Depth against length, the table by which retrieval is known: a heatmap for each column, from the committed results and from
//! what is counted in this tab.

use drope_core::language::Values;
use drope_core::niah::Task;
use drope_core::results::Cell;
use drope_core::stats::wilson;
use drope_protocol::Reading;
use leptos::prelude::*;

use super::export::{self, HeatmapCell};
use super::results::{committed_at_depths, find, interval, percent};
use super::runs::{TRIALS_AT_DEPTH, measure_all, stop};
use super::state::{CellKey, Column, EXTENSIONS, Running, State};

/// Depths of the needle, in percent of the text.
const DEPTHS: [u32; 5] = [0, 25, 50, 75, 100];

/// The heatmaps, side by side, with one button that fills them.
#[component]
pub fn Heatmap(state: State) -> impl IntoView {
    let results = StoredValue::new(committed_at_depths());
    let is_running = move || state.running.with(|running| is_at_depth(running.as_ref()));
    let press = move |_| if is_running() { stop(state) } else { measure_all(state, untrack(|| all_keys(state))) };
    let cells = move || untrack(|| all_cells(state, results));
    view! {
        <section class="heatmap" aria-label="Depth and length">
            <h2>"By depth and length"</h2>
            <p class="hint">
                "Where in the text the needle stands, from its start (0 %) to its end (100 %), against how long the text is. Press the \
                 button to ask "{TRIALS_AT_DEPTH}" fresh questions a cell here; a cell alone is asked when you press it."
            </p>
            <div class="buttons">
                <button id="fill" type="button" on:click=press>
                    {move || if is_running() { "Stop" } else { "Fill every cell here" }}
                </button>
                <button type="button" class="quiet" on:click=move |_| export::csv(&cells())>"CSV"</button>
                <button type="button" class="quiet" on:click=move |_| export::svg(&cells())>"SVG"</button>
                <button type="button" class="quiet" on:click=move |_| export::png(&cells())>"PNG"</button>
            </div>
            <div class="answers">
                <For each=move || state.columns.get() key=|column| column.key let:column>
                    <ColumnHeatmap state column results />
                </For>
            </div>
        </section>
    }
}

fn is_at_depth(running: Option<&Running>) -> bool {
    matches!(running, Some(Running::Cell(CellKey { depth: Some(_), .. })))
}

/// Every cell of every column, the shortest texts first, so that something is seen soon.
fn all_keys(state: State) -> Vec<CellKey> {
    let readings: Vec<Reading> = state.columns.get().into_iter().map(Column::reading).collect();
    let (task, values) = (state.task.get(), state.values.get());
    let mut keys = Vec::new();
    for extension in EXTENSIONS {
        for depth in DEPTHS {
            keys.extend(readings.iter().map(|reading| key(reading.clone(), task, values, extension, depth)));
        }
    }
    keys
}

fn key(reading: Reading, task: Task, values: Values, extension: usize, depth: u32) -> CellKey {
    CellKey { reading, task, values, extension, depth: Some(depth) }
}

/// Right answers and questions of a cell: those of this tab, else the committed ones.
fn counts(state: State, results: StoredValue<Vec<Cell>>, key: &CellKey) -> Option<(usize, usize)> {
    let here = state.counted(key).filter(|counted| counted.done > 0).map(|counted| (counted.correct, counted.done));
    here.or_else(|| results.with_value(|results| find(results, key).map(|cell| (cell.correct, cell.trials))))
}

/// What there is of all cells, for files.
fn all_cells(state: State, results: StoredValue<Vec<Cell>>) -> Vec<HeatmapCell> {
    let cell = |key: CellKey| {
        let (correct, trials) = counts(state, results, &key)?;
        Some(HeatmapCell::new(key, correct, trials))
    };
    all_keys(state).into_iter().filter_map(cell).collect()
}

#[component]
fn ColumnHeatmap(state: State, column: Column, results: StoredValue<Vec<Cell>>) -> impl IntoView {
    view! {
        <table class="depths">
            <caption>{move || export::title(&column.reading())}</caption>
            <thead>
                <tr>
                    <th scope="col">"Depth"</th>
                    {EXTENSIONS.map(|factor| view! { <th scope="col">{format!("{factor}×")}</th> }).collect_view()}
                </tr>
            </thead>
            <tbody>
                {DEPTHS.map(|depth| view! {
                    <tr>
                        <th scope="row">{format!("{depth} %")}</th>
                        {EXTENSIONS.map(|extension| view! {
                            <DepthCell state column results extension depth />
                        }).collect_view()}
                    </tr>
                }).collect_view()}
            </tbody>
        </table>
    }
}

/// A cell: its colour is its share, its number too; pressing it asks here.
#[component]
fn DepthCell(
    state: State,
    column: Column,
    results: StoredValue<Vec<Cell>>,
    extension: usize,
    depth: u32,
) -> impl IntoView {
    let key = move || key(column.reading(), state.task.get(), state.values.get(), extension, depth);
    let counts = Memo::new(move |_| counts(state, results, &key()));
    let is_running = move || state.running.get() == Some(Running::Cell(key()));
    let share = move || counts.get().map(|(correct, trials)| correct as f64 / trials as f64);
    let said = move || match counts.get() {
        Some((correct, trials)) => {
            let share = correct as f64 / trials as f64;
            format!("{} [{}], {correct} of {trials}", percent(share), interval(share, wilson(correct, trials)))
        }
        None => "not measured".to_owned(),
    };
    let press = move |_| if is_running() { stop(state) } else { measure_all(state, [untrack(key)]) };
    view! {
        <td style=move || format!("--share:{:.2}", share().unwrap_or_default())>
            <button type="button" class:running=is_running title=said on:click=press
                aria-label=move || format!("{extension} times, depth {depth} %: {}", said())>
                {move || share().map_or_else(|| "–".to_owned(), |share| format!("{:.0}", 100.0 * share))}
            </button>
        </td>
    }
}
