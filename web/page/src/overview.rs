//! What the page shows before any weights are there: what the study found, and a button that shows a part of it.

use drope_core::language::Values;
use drope_core::niah::Task;
use drope_core::positions::Method;
use drope_core::results::StudyFigure;
use leptos::prelude::*;

use super::chart::Chart;
use super::runs::ask;
use super::state::State;

/// Where plain RoPE fails and DroPE does not, whatever the seed.
const TELLING: usize = 4;

/// Written by `cargo xtask table`.
const STUDY: &str = include_str!("../../../docs/study.json");

/// The figure, the sentences and the button.
#[component]
pub fn Overview(state: State) -> impl IntoView {
    let show = move |_| {
        state.is_own.set(false);
        state.ask_standard(Task::MultiKey, Values::Numbers);
        state.extension.set(TELLING);
        state.compare(&[Method::Drope, Method::Rope]);
        ask(state);
    };
    let study = study();
    view! {
        <section class="overview" aria-label="What was found">
            <p class="headline">{headline(&study)}</p>
            <Chart figure=StoredValue::new(study) />
            <p class="buttons">
                <button id="show" type="button" class="primary" on:click=show>
                    {format!("Watch DroPE and RoPE read {TELLING} times their training length")}
                </button>
                <button id="tour" type="button" on:click=move |_| state.tour.set(1)>"Take the tour"</button>
            </p>
        </section>
    }
}

/// A test reads the file.
fn study() -> StudyFigure {
    serde_json::from_str(STUDY).expect("docs/study.json is in the form that the tables are written in")
}

fn headline(study: &StudyFigure) -> String {
    let claims: Vec<String> = study.findings.iter().map(|finding| format!("{}.", finding.claim)).collect();
    let may_change =
        if study.is_interim() { " The last seeds are still being trained and may change this." } else { "" };
    format!("Rotary positions kept (RoPE) or dropped (DroPE), with equal training: {}{may_change}", claims.join(" "))
}

#[cfg(test)]
mod tests {
    use super::{headline, study};

    #[test]
    fn the_studys_file_has_what_the_page_shows() {
        let study = study();
        assert!(study.methods.len() > 4 && study.methods.iter().all(|line| line.style < 9));
        assert!(headline(&study).contains(&study.findings[0].claim));
    }
}
