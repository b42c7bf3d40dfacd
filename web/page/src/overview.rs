//! What the page shows before any weights are there: what was found, and a button that shows it.

use drope_core::language::Values;
use drope_core::niah::Task;
use drope_core::positions::Method;
use drope_core::results::Cell;
use leptos::prelude::*;

use super::chart::Chart;
use super::results::headline;
use super::runs::ask;
use super::state::State;

/// Where plain RoPE fails and DroPE does not, whatever the seed.
const TELLING: usize = 4;

/// The figure, the sentence and the button.
#[component]
pub fn Overview(state: State, results: StoredValue<Vec<Cell>>) -> impl IntoView {
    let sentence = move || {
        let kind = state.kind();
        results.with_value(|results| headline(results, kind))
    };
    let show = move |_| {
        state.is_own.set(false);
        state.ask_standard(Task::MultiKey, Values::Numbers);
        state.extension.set(TELLING);
        state.compare(&[Method::Drope, Method::Rope]);
        ask(state);
    };
    view! {
        <section class="overview" aria-label="What was found">
            <p class="headline">{sentence}</p>
            <Chart state results />
            <p class="buttons">
                <button id="show" type="button" class="primary" on:click=show>
                    {format!("Watch DroPE and RoPE read {TELLING} times their training length")}
                </button>
                <button id="tour" type="button" on:click=move |_| state.tour.set(1)>"Take the tour"</button>
            </p>
        </section>
    }
}
