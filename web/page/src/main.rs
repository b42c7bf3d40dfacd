//! The page below its heading, which index.html has. Everything on it can be used before the weights are there.

mod address;
mod answers;
mod blob;
mod chart;
mod column;
mod controls;
mod difficulty;
mod engine;
mod export;
mod frequencies;
mod grid;
mod haystack;
mod heatmap;
mod heatmap_text;
mod inside;
mod offline;
mod overview;
mod own_models;
mod own_text;
mod predicted;
mod recalibrate;
mod recalibration_curves;
mod replies;
mod results;
mod runs;
mod state;
mod threads;
mod tour;
mod trainer_link;
mod training;
mod worker_link;
mod worker_script;

use leptos::prelude::*;

use self::engine::{Backend, Engine};
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
    let results = StoredValue::new(results::committed());
    worker_link::connect(state);
    state.keep_address();
    if state.is_embedded {
        return view! { <Embedded state /> }.into_any();
    }
    offline::keep(state);
    view! {
        <p class="new-version" role="status" hidden=move || !state.is_replaced.get()>
            "There is a new version of this page. "
            <button type="button" on:click=|_| drop(window().location().reload())>"Load it"</button>
        </p>
        <main>
            <overview::Overview state />
            <controls::Controls state />
            <Status state />
            <answers::Answers state />
            <haystack::Haystack state />
            <heatmap::Heatmap state />
            <frequencies::Frequencies state />
            <inside::Inside state />
            <predicted::PredictedText state />
            <grid::Grid state results />
            <recalibrate::Recalibrate state />
            <own_models::OwnModels state />
        </main>
        <footer>
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

/// One comparison, as part of another page.
#[component]
fn Embedded(state: State) -> impl IntoView {
    if let Some(body) = document().body() {
        // Fails only for names that no class can have.
        let _ = body.class_list().add_1("embedded");
    }
    // The whole page, with what is chosen here.
    let whole = move || {
        state.readings();
        let query = window().location().search().unwrap_or_default().replace("&embed=1", "");
        format!("./{query}")
    };
    view! {
        <main>
            <controls::Controls state />
            <Status state />
            <answers::Answers state />
        </main>
        <footer><p><a href=whole target="_blank" rel="noopener">"Open the whole page"</a></p></footer>
    }
}

/// What runs, what is loading, what went wrong.
#[component]
fn Status(state: State) -> impl IntoView {
    let loading = move || {
        state.loading.get().map(|loading| {
            let percent = if loading.total > 0.0 { 100.0 * loading.received / loading.total } else { 0.0 };
            view! {
                <p class="loading">
                    <label>
                        {format!("Loading {} ({:.1} MB) ", loading.model, loading.received / 1e6)}
                        <progress max="100" value=format!("{percent:.0}")></progress>
                    </label>
                </p>
            }
        })
    };
    let backend = move || match state.engine.get() {
        Engine::Loading => "Loading the program that runs the models…".to_owned(),
        Engine::Opening => "Comparing WebGPU with the CPU…".to_owned(),
        Engine::Open { backend: Backend::Cpu, threads: 1, note } => format!("Computing on CPU: {note}."),
        Engine::Open { backend: Backend::Cpu, threads, note } => {
            format!("Computing on CPU in {threads} threads: {note}.")
        }
        Engine::Open { backend: Backend::Webgpu, note, .. } => format!("Computing on WebGPU: {note}."),
        Engine::Stopped => "Not computing.".to_owned(),
    };
    let is_loading = move || state.engine.with(|engine| *engine == Engine::Loading);
    view! {
        <section class="status" aria-label="Status">
            <p id="backend" role="status">{backend}</p>
            <progress hidden=move || !is_loading() aria-label="Loading the program"></progress>
            {loading}
            <p id="error" role="alert" hidden=move || state.error.get().is_none()>{move || state.error.get()}</p>
        </section>
    }
}
