//! The page below its heading, which index.html has. Everything on it can be used before the weights are there.

mod address;
mod benchmark;
mod columns;
mod link;
mod offline;
mod own;
mod parts;
mod recalibrate;
mod results;
mod screens;
mod state;
mod story;
mod tour;
mod why;

use std::time::Duration;

use leptos::prelude::*;

use self::screens::Part;
use self::state::State;
use self::state::screen::Screen::{Model, Play, Recalibrate, Results, Text, Why};
use self::state::story::LIVE;

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
    if let Some(size) = state.benchmark {
        return view! { <benchmark::Benchmark state size /> }.into_any();
    }
    state.keep_address();
    if state.is_embedded {
        link::worker::connect_once(state);
        follow(state);
        return view! { <Embedded state /> }.into_any();
    }
    offline::keep(state);
    follow(state);
    let sections = RwSignal::new(0);
    add_sections(state, sections);
    let has = move |count: u32| move || sections.get() >= count;
    view! {
        <p class="new-version" role="status" hidden=move || !state.is_replaced.get()>
            "There is a new version of this page. "
            <button type="button" on:click=|_| drop(window().location().reload())>"Load it"</button>
        </p>
        <main id="main" tabindex="-1">
            <screens::Screens state />
            <Part state screens=&[Play]><story::StoryScreen state /></Part>
            <Show when=has(1)>
                <Part state screens=&[Play, Text]><columns::controls::Controls state /></Part>
                <parts::status::Status state />
                <Part state screens=&[Play, Text]><columns::answers::Answers state /></Part>
            </Show>
            <Show when=has(2)><Part state screens=&[Play, Text]><columns::haystack::Haystack state /></Part></Show>
            <Show when=has(3)><Part state screens=&[Results]><results::overview::Overview state /></Part></Show>
            <Show when=has(4)><Part state screens=&[Results]><results::heatmap::Heatmap state /></Part></Show>
            <Show when=has(5)>
                <Part state screens=&[Why]>
                    <why::dial::FrequencyDial state />
                    <why::frequencies::Frequencies state />
                </Part>
            </Show>
            <Show when=has(6)><Part state screens=&[Why]><why::inside::Inside state /></Part></Show>
            <Show when=has(7)><Part state screens=&[Text]><own::predicted::PredictedText state /></Part></Show>
            <Show when=has(8)><Part state screens=&[Results]><results::grid::Grid state /></Part></Show>
            <Show when=has(9)><Part state screens=&[Recalibrate]><recalibrate::Recalibrate state /></Part></Show>
            <Show when=has(SECTIONS)><Part state screens=&[Model]><own::models::OwnModels state /></Part></Show>
        </main>
        <footer>
            <p class="buttons"><button id="tour" type="button" class="quiet" on:click=move |_| state.tour.set(1)>"Take the tour"</button></p>
            <p class="links">
                <a href="docs/study.html">"The study"</a>", "<a href="docs/protocol.html">"its protocol"</a>", "
                <a href="docs/results/README.html">"all scores"</a>", "<a href="docs/study.json">"the figure's data"</a>", "
                <a href="docs/real-models.html">"real models"</a>", "<a href="docs/speed.html">"speed"</a>", "<a href="docs/teaching.html">"exercises for a class"</a>
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

/// What follows from what the workers say.
fn follow(state: State) {
    link::runs::measure_waiting(state);
    link::runs::stop_replaced(state);
    link::runs::probe_answered_dial(state);
    link::trainer::render_templates(state);
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
            link::worker::connect_once(state);
            // An address names a question that the page has no answers to.
            if state.screen.get_untracked() == Play
                && !state.story.is_first()
                && state.story.extension.get_untracked() <= LIVE
                && state.running.with_untracked(Option::is_none)
                && !link::worker::saves_data()
            {
                link::runs::tell_story(state);
            }
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
        <main id="main" tabindex="-1">
            <columns::controls::Controls state />
            <parts::status::Status state />
            <columns::answers::Answers state />
        </main>
        <footer><p><a href=whole target="_blank" rel="noopener">"Open the whole page"</a></p></footer>
    }
}
