//! Accuracy by method and length: the committed results, and what is counted in this tab.

use drope_core::positions::Method;
use drope_core::results::RetrievalCell;
use drope_core::stats::wilson;
use leptos::prelude::*;

use crate::link::runs::{TRIALS, measure_all, stop};
use crate::parts::percent::{interval, percent};
use crate::results::committed::{UNEVEN, committed, find, leaders, papers_drope};
use crate::state::column::plain;
use crate::state::running::{CellKey, Counted, Running};
use crate::state::{EXTENSIONS, State};

/// The table of all methods and lengths for the chosen task and values.
#[component]
pub fn Grid(state: State) -> impl IntoView {
    let results = StoredValue::new(committed());
    let summary = move || {
        let kind = state.kind();
        results.with_value(|results| leaders(results, kind))
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
                                <th scope="row">{method.title()}</th>
                                {EXTENSIONS.map(|extension| view! { <GridCell state method extension results /> }).collect_view()}
                            </tr>
                        }).collect_view()}
                    </tbody>
                </table>
            </div>
            <p class="hint" id="uneven">{UNEVEN}</p>
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
fn GridCell(state: State, method: Method, extension: usize, results: StoredValue<Vec<RetrievalCell>>) -> impl IntoView {
    let key = move || CellKey { reading: plain(method), kind: state.kind(), extension, depth: None };
    let committed = move || results.with_value(|results| find(results, &key()).cloned());
    let counted = move || state.counted(&key());
    let is_running = move || state.running.get() == Some(Running::Cell(key()));
    let shade = move || format!("--share:{:.2}", committed().map_or(0.0, |result| result.accuracy));
    let press = move |_| if is_running() { stop(state) } else { measure_all(state, [key()]) };
    view! {
        <td style=shade>
            <button type="button" class:running=is_running on:click=press>
                <span class="visually-hidden">{format!("{} at {extension} times: ", method.title())}</span>
                {move || committed().map_or_else(
                    || view! { <span class="percent">"–"</span><span class="visually-hidden">" not measured"</span> }.into_any(),
                    |result| view! {
                        <span class="percent">{percent(result.accuracy)}</span>
                        <span class="interval" title=format!("{} trials", result.trials)>{interval(result.accuracy, result.ci95)}</span>
                    }.into_any(),
                )}
                {move || counted().map(|Counted { correct, done }| {
                    let interval = interval(correct as f64 / done.max(1) as f64, wilson(correct, done));
                    view! { <span class="live">{format!("here {correct}/{done} {interval}")}</span> }
                })}
                {move || if is_running() {
                    view! { <span class="live">"press to stop"</span> }.into_any()
                } else {
                    view! { <span class="visually-hidden">", press to ask here"</span> }.into_any()
                }}
            </button>
        </td>
    }
}
