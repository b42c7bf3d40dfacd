//! What runs, what is loading, what went wrong.

use leptos::prelude::*;
use web_sys::ScrollLogicalPosition;

use super::focus::scroll_to;
use crate::state::State;
use crate::state::engine::{Backend, Engine};
use crate::state::running::{Download, Running};

/// Where models compute, and what concerns all columns; a model of the reader's shows its own beside its form.
#[component]
pub fn Status(state: State) -> impl IntoView {
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
    // What began the run may be far below.
    Effect::new(move |_| {
        if state.error.with(Option::is_some) {
            scroll_to("#error", ScrollLogicalPosition::Nearest);
        }
    });
    let is_loading = move || state.engine.with(|engine| *engine == Engine::Loading);
    let is_of_model = move || state.running.with(|running| running.as_ref().is_some_and(Running::is_of_models));
    view! {
        <section class="status" aria-label="Status">
            <p id="backend" role="status">{backend}</p>
            <progress hidden=move || !is_loading() aria-label="Loading the program"></progress>
            {move || (!is_of_model()).then(|| view! { <LoadingFiles loading=state.loading /> })}
            <p id="error" role="alert" hidden=move || state.error.get().is_none()>{move || state.error.get()}</p>
        </section>
    }
}

/// Files of a model that are on their way.
#[component]
pub fn LoadingFiles(loading: RwSignal<Option<Download>>) -> impl IntoView {
    move || {
        loading.get().map(|loading| {
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
    }
}
