//! Accuracy against length: a line a method, with a band for its interval.

use drope_core::positions::Method;
use drope_core::results::Cell;
use leptos::prelude::*;

use super::column::plain;
use super::results::{find, interval, percent};
use super::state::{CellKey, EXTENSIONS, State};

/// What is drawn, of the many that the table has: DroPE, its closest rivals and what all of them mend. The place in this list
/// is the line's style.
const METHODS: [Method; 6] =
    [Method::Drope, Method::PDrope, Method::Yarn, Method::Llama3, Method::DynamicNtk, Method::Rope];

/// Size of the plot and its margins, in units of the drawing.
const PLOT: [f64; 2] = [620.0, 190.0];
const LEFT: f64 = 44.0;
const TOP: f64 = 10.0;
const BOTTOM: f64 = 40.0;

/// The chart of the chosen task and values.
#[component]
pub fn Chart(state: State, results: StoredValue<Vec<Cell>>) -> impl IntoView {
    let lines = move || {
        let kind = state.kind();
        results.with_value(|results| {
            let point = |method, extension| {
                find(results, &CellKey { reading: plain(method), kind, extension, depth: None }).cloned()
            };
            METHODS
                .map(|method| EXTENSIONS.iter().filter_map(|&extension| point(method, extension)).collect::<Vec<_>>())
        })
    };
    let drawn = move || {
        let lines = lines();
        let marks = lines.iter().enumerate().map(|(style, cells)| view! { <Line style cells=cells.clone() /> });
        marks.collect_view()
    };
    view! {
        <figure class="chart">
            <svg viewBox=format!("0 0 {} {}", LEFT + PLOT[0] + 16.0, TOP + PLOT[1] + BOTTOM) role="img"
                aria-label="Exact answers against the length of the text, a line a method; the table below has the numbers">
                {[0.0, 0.25, 0.5, 0.75, 1.0].map(|share| view! {
                    <line class="rule" x1=LEFT x2={LEFT + PLOT[0]} y1=y(share) y2=y(share) />
                    <text class="tick" x={LEFT - 6.0} y={y(share) + 4.0} text-anchor="end">{format!("{:.0} %", 100.0 * share)}</text>
                }).collect_view()}
                {EXTENSIONS.map(|extension| view! {
                    <text class="tick" x=x(extension) y={TOP + PLOT[1] + 18.0} text-anchor="middle">{format!("{extension}×")}</text>
                }).collect_view()}
                <text class="tick" x={LEFT + PLOT[0] / 2.0} y={TOP + PLOT[1] + 35.0} text-anchor="middle">
                    "length of the text, in training contexts"
                </text>
                {drawn}
            </svg>
            <figcaption>
                <p class="hint">
                    "Percent of questions answered exactly, of the task that is chosen below; bands are 95 % intervals. "
                    <a href="#uneven">"The comparison is uneven."</a>
                </p>
                <ul class="legend">
                    {(0..).zip(METHODS).map(|(style, method): (usize, Method)| view! {
                        <li>
                            <svg viewBox="0 0 28 10" width="28" height="10" aria-hidden="true">
                                <polyline class=format!("line style-{style}") points="1,5 27,5" />
                            </svg>
                            {method.title()}
                        </li>
                    }).collect_view()}
                </ul>
            </figcaption>
        </figure>
    }
}

/// A method's band, line and points.
#[component]
fn Line(style: usize, cells: Vec<Cell>) -> impl IntoView {
    let at = |extension: usize, share: f64| format!("{:.1},{:.1} ", x(extension), y(share));
    let line: String = cells.iter().map(|cell| at(cell.extension, cell.accuracy)).collect();
    let low = cells.iter().map(|cell| at(cell.extension, cell.ci95[0]));
    let high = cells.iter().rev().map(|cell| at(cell.extension, cell.ci95[1]));
    let band: String = low.chain(high).collect();
    view! {
        <polygon class=format!("band style-{style}") points=band />
        <polyline class=format!("line style-{style}") points=line />
        {cells.into_iter().map(|cell| view! {
            <circle class=format!("point style-{style}") cx=x(cell.extension) cy=y(cell.accuracy) r="3.5">
                <title>{format!(
                    "{} at {}×: {} [{}], {} questions",
                    cell.method.title(), cell.extension, percent(cell.accuracy), interval(cell.accuracy, cell.ci95), cell.trials
                )}</title>
            </circle>
        }).collect_view()}
    }
}

/// Doubling the length is one step.
fn x(extension: usize) -> f64 {
    let longest = EXTENSIONS[EXTENSIONS.len() - 1];
    LEFT + 12.0 + (PLOT[0] - 24.0) * (extension as f64).log2() / (longest as f64).log2()
}

fn y(share: f64) -> f64 {
    TOP + PLOT[1] * (1.0 - share)
}
