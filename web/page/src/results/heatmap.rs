//! Exact answers by depth and length, the usual table for retrieval: a heatmap for each column, from the committed
//! results and from what is counted in this tab.

use std::collections::VecDeque;

use drope_core::results::RetrievalCell;
use drope_protocol::{QuestionKind, Reading};
use leptos::prelude::*;

use crate::link::runs::{TRIALS_AT_DEPTH, measure_all, stop};
use crate::parts::estimate::{duration, seconds};
use crate::parts::percent::{interval, percent};
use crate::parts::reading_title::reading_title;
use crate::results::committed::{committed_at_depths, find};
use crate::results::export;
use crate::results::heatmap_text::{DepthCounts, HeatmapCell};
use crate::state::column::Column;
use crate::state::running::{CellKey, Running};
use crate::state::{EXTENSIONS, State};

/// Depths of the needle, in percent of the text.
const DEPTHS: [u32; 5] = [0, 25, 50, 75, 100];

/// The heatmaps, side by side, with one button that fills them.
#[component]
pub fn Heatmap(state: State) -> impl IntoView {
    let results = StoredValue::new(committed_at_depths());
    let is_running = move || state.running.with(|running| is_at_depth(running.as_ref()));
    let press = move |_| if is_running() { stop(state) } else { measure_all(state, untrack(|| missing_keys(state))) };
    let cells = move || untrack(|| all_cells(state, results));
    // For readers who do not see it, as often as they want to hear it.
    let waiting = Memo::new(move |_| state.queue.with(VecDeque::len).div_ceil(10));
    let spoken =
        move || Some(waiting.get()).filter(|&tens| tens > 0).map(|tens| format!("At most {tens}0 cells are left."));
    view! {
        <section class="heatmap" aria-label="Depth and length">
            <h2>"By depth and length"</h2>
            <p class="hint">
                "Where in the text the needle stands, from its start (0 %) to its end (100 %), against how long the text is. Press the \
                 button to ask "{TRIALS_AT_DEPTH}" fresh questions a cell here; a cell alone is asked when you press it. What was asked here is underlined."
            </p>
            <p class="hint" id="fill-time">{move || time(state)}</p>
            <p class="visually-hidden" role="status">{spoken}</p>
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

/// How long filling takes, or how much of it is left.
fn time(state: State) -> String {
    if state.running.with(|running| is_at_depth(running.as_ref())) {
        let cells = 1 + state.queue.with(VecDeque::len);
        return if cells == 1 { "One cell is left.".to_owned() } else { format!("{cells} cells are left.") };
    }
    let questions = (DEPTHS.len() * TRIALS_AT_DEPTH) as f64;
    let at = |extension: usize| {
        state.columns.get().into_iter().map(move |column| seconds(state, column, extension * state.context_of(column)))
    };
    let all = questions * EXTENSIONS.into_iter().flat_map(at).sum::<f64>();
    let cells = DEPTHS.len() * EXTENSIONS.len() * state.columns.with(Vec::len);
    format!(
        "All {cells} cells may take about {} here, the shortest texts first; Stop keeps what is done.",
        duration(all)
    )
}

fn is_at_depth(running: Option<&Running>) -> bool {
    matches!(running, Some(Running::Cell(CellKey { depth: Some(_), .. })))
}

/// Every cell of every column, the shortest texts first, so that something is seen soon.
fn all_keys(state: State) -> Vec<CellKey> {
    let mut readings: Vec<Reading> = Vec::new();
    for reading in state.readings() {
        if !readings.contains(&reading) {
            readings.push(reading);
        }
    }
    let kind = state.kind();
    let mut keys = Vec::new();
    for extension in EXTENSIONS {
        for depth in DEPTHS {
            keys.extend(readings.iter().map(|reading| key(reading.clone(), kind, extension, depth)));
        }
    }
    keys
}

/// Those that were not asked here to the end; all of them where none is missing.
fn missing_keys(state: State) -> Vec<CellKey> {
    let all = all_keys(state);
    let is_missing = |key: &&CellKey| state.counted(key).is_none_or(|counted| counted.done < TRIALS_AT_DEPTH);
    let missing: Vec<CellKey> = all.iter().filter(is_missing).cloned().collect();
    if missing.is_empty() { all } else { missing }
}

fn key(reading: Reading, kind: QuestionKind, extension: usize, depth: u32) -> CellKey {
    CellKey { reading, kind, extension, depth: Some(depth) }
}

/// What is known of a cell: what was counted in this tab, once all was asked, else the committed result.
fn counts(state: State, results: StoredValue<Vec<RetrievalCell>>, key: &CellKey) -> Option<DepthCounts> {
    let here = state.counted(key).filter(|counted| counted.done == TRIALS_AT_DEPTH);
    let here = here.map(|counted| DepthCounts { correct: counted.correct, trials: counted.done, is_here: true });
    let committed = |cell: &RetrievalCell| DepthCounts { correct: cell.correct, trials: cell.trials, is_here: false };
    here.or_else(|| results.with_value(|results| find(results, key).map(committed)))
}

/// All cells that have counts, for saving to a file.
fn all_cells(state: State, results: StoredValue<Vec<RetrievalCell>>) -> Vec<HeatmapCell> {
    let cell = |key: CellKey| {
        let counts = counts(state, results, &key)?;
        Some(HeatmapCell { key, counts })
    };
    all_keys(state).into_iter().filter_map(cell).collect()
}

#[component]
fn ColumnHeatmap(state: State, column: Column, results: StoredValue<Vec<RetrievalCell>>) -> impl IntoView {
    view! {
        <table class="depths">
            <caption>{move || reading_title(&column.reading())}</caption>
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

/// A cell: its colour and its number show the share of right answers, and pressing it asks the questions here.
#[component]
fn DepthCell(
    state: State,
    column: Column,
    results: StoredValue<Vec<RetrievalCell>>,
    extension: usize,
    depth: u32,
) -> impl IntoView {
    let key = move || key(column.reading(), state.kind(), extension, depth);
    let counts = Memo::new(move |_| counts(state, results, &key()));
    let is_running = move || state.running.get() == Some(Running::Cell(key()));
    let said = move || match counts.get() {
        Some(counts @ DepthCounts { correct, trials, is_here }) => {
            let (share, place) = (counts.share(), if is_here { ", asked here" } else { "" });
            format!("{} [{}], {correct} of {trials}{place}", percent(share), interval(share, counts.interval()))
        }
        None => "not measured".to_owned(),
    };
    let press = move |_| if is_running() { stop(state) } else { measure_all(state, [untrack(key)]) };
    view! {
        <td style=move || format!("--share:{:.2}", counts.get().map_or(0.0, DepthCounts::share))>
            <button type="button" class:running=is_running class:here=move || counts.get().is_some_and(|counts| counts.is_here)
                title=said on:click=press>
                <span class="visually-hidden">{move || format!("{}, {extension} times, depth {depth} %: ", reading_title(&column.reading()))}</span>
                {move || counts.get().map_or_else(|| "–".to_owned(), |counts| format!("{:.0}", 100.0 * counts.share()))}
                <span class="visually-hidden">
                    {move || if counts.get().is_none() { ", not measured" } else { "" }}
                    {move || if is_running() { ", press to stop" } else { ", press to ask here" }}
                </span>
            </button>
        </td>
    }
}
