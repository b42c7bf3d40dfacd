//! The page below its heading, which index.html has. Everything on it can be used before the weights are there.

mod address;
mod answers;
mod axes;
mod benchmark;
mod blob;
mod chart;
mod choice;
mod column;
mod connection;
mod controls;
mod dial;
mod difficulty;
mod engine;
mod entropy;
mod estimate;
mod export;
mod frequencies;
mod grid;
mod haystack;
mod heatmap;
mod heatmap_text;
mod inside;
mod kept_models;
mod offline;
mod overview;
mod own_models;
mod own_text;
mod predicted;
mod recalibrate;
mod recalibration_curves;
mod recalibration_heatmap;
mod replies;
mod results;
mod rooms;
mod row;
mod runs;
mod share;
mod spectrum;
mod state;
mod status;
mod story;
mod taught;
mod threads;
mod tour;
mod trainer_link;
mod training;
mod worker_link;
mod worker_script;

use std::time::Duration;

use leptos::prelude::*;

use self::rooms::Part;
use self::rooms::Room::{Model, Play, Recalibrate, Results, Text, Why};
use self::state::State;

fn main() {
    console_error_panic_hook::set_once();
    mount_to_body(App);
    if let Some(notice) = document().get_element_by_id("starting") {
        notice.remove();
    }
}

/// The whole page.
#[component]
fn App() -> impl IntoView {
    let state = State::from_address();
    if let Some(prompts) = state.benchmark {
        return view! { <benchmark::Benchmark state prompts /> }.into_any();
    }
    state.keep_address();
    if state.is_embedded {
        worker_link::connect_once(state);
        runs::measure_waiting(state);
        return view! { <Embedded state /> }.into_any();
    }
    offline::keep(state);
    runs::measure_waiting(state);
    let sections = RwSignal::new(0);
    add_sections(state, sections);
    let has = move |count: u32| move || sections.get() >= count;
    view! {
        <p class="new-version" role="status" hidden=move || !state.is_replaced.get()>
            "There is a new version of this page. "
            <button type="button" on:click=|_| drop(window().location().reload())>"Load it"</button>
        </p>
        <main id="main" tabindex="-1">
            <rooms::Rooms state />
            <Part state rooms=&[Play]><story::StoryScreen state /></Part>
            <Show when=has(1)>
                <Part state rooms=&[Play, Text]><controls::Controls state /></Part>
                <status::Status state />
                <Part state rooms=&[Play, Text]><answers::Answers state /></Part>
            </Show>
            <Show when=has(2)><Part state rooms=&[Play, Text]><haystack::Haystack state /></Part></Show>
            <Show when=has(3)><Part state rooms=&[Results]><overview::Overview state /></Part></Show>
            <Show when=has(4)><Part state rooms=&[Results]><heatmap::Heatmap state /></Part></Show>
            <Show when=has(5)>
                <Part state rooms=&[Why]>
                    <dial::FrequencyDial state />
                    <frequencies::Frequencies state />
                </Part>
            </Show>
            <Show when=has(6)><Part state rooms=&[Why]><inside::Inside state /></Part></Show>
            <Show when=has(7)><Part state rooms=&[Text]><predicted::PredictedText state /></Part></Show>
            <Show when=has(8)><Part state rooms=&[Results]><grid::Grid state /></Part></Show>
            <Show when=has(9)><Part state rooms=&[Recalibrate]><recalibrate::Recalibrate state /></Part></Show>
            <Show when=has(SECTIONS)><Part state rooms=&[Model]><own_models::OwnModels state /></Part></Show>
        </main>
        <footer>
            <p class="buttons"><button id="tour" type="button" class="quiet" on:click=move |_| state.tour.set(1)>"Take the tour"</button></p>
            <p class="links">
                <a href="docs/study.html">"The study"</a>", "<a href="docs/protocol.html">"its protocol"</a>", "
                <a href="docs/results/README.html">"all scores"</a>", "<a href="docs/study.json">"the figure's data"</a>", "
                <a href="docs/real-models.html">"real models"</a>", "<a href="docs/teaching.html">"exercises for a class"</a>
                {REPOSITORY.map(|name| view! { ", "<a href=format!("https://github.com/{name}")>"the code"</a> })}"."
            </p>
            <p>
                "After "
                <a href="https://arxiv.org/abs/2512.12167">"Gelberg et al. 2025, Extending the Context of Pretrained LLMs by Dropping Their Positional Embeddings"</a>
                ". The models run in this tab; nothing you do here leaves it."
            </p>
        </footer>
        <tour::Tour state />
    }
    .into_any()
}

/// Owner and name of the repository whose workflow built the page (.github/workflows/pages.yml), if one did.
const REPOSITORY: Option<&str> = option_env!("GITHUB_REPOSITORY");

/// Sections below the first.
const SECTIONS: u32 = 10;

/// Makes the sections one after another, each in a task of its own, so that the browser paints and answers between them; then the
/// worker, which would take the processor from them.
fn add_sections(state: State, sections: RwSignal<u32>) {
    let add = move || {
        sections.update(|count| *count += 1);
        if sections.get_untracked() < SECTIONS {
            add_sections(state, sections);
        } else {
            worker_link::connect_once(state);
        }
    };
    set_timeout(add, Duration::ZERO);
}

/// One comparison, as part of another page.
#[component]
fn Embedded(state: State) -> impl IntoView {
    if let Some(body) = document().body() {
        // Fails only for names that no class can have.
        let _ = body.class_list().add_1("embedded");
    }
    // The whole page, with what is chosen here.
    let whole = move || format!("./{}", state.choices());
    view! {
        <main>
            <controls::Controls state />
            <status::Status state />
            <answers::Answers state />
        </main>
        <footer><p><a href=whole target="_blank" rel="noopener">"Open the whole page"</a></p></footer>
    }
}
