//! `?benchmark`: how fast this browser reads and writes, on each program that it has, as a table to send on.

mod card;
mod measured;
mod peer;
mod run;
mod table;

use drope_core::positions::Method;
use futures::future::{AbortHandle, abortable};
use leptos::prelude::*;

use self::peer::PEER;
use self::run::{Found, measure_all};
use self::table::{HEADS, markdown};
use crate::address::readings::first_reading;
use crate::parts::share::copy_text;
use crate::state::State;
use crate::state::benchmark_size::BenchmarkSize;
use crate::state::column::plain;

/// The screen, in place of the whole page.
#[component]
pub fn Benchmark(state: State, size: BenchmarkSize) -> impl IntoView {
    let BenchmarkSize { prompts: [short, long], rounds } = size;
    let times = if rounds == 1 { "once".to_owned() } else { format!("{rounds} times") };
    let reading = first_reading().unwrap_or_else(|| plain(Method::Rope));
    let model = reading.model.clone().unwrap_or_else(|| reading.method.info().nano_model.to_owned());
    let found @ Found { places, speeds, missing, progress } = Found::default();
    let is_copied = RwSignal::new(None::<bool>);
    // Ends what is being measured.
    let end = StoredValue::new(None::<AbortHandle>);
    let text = {
        let model = model.clone();
        move || markdown(&model, &places.get(), &speeds.get())
    };
    let is_running = move || progress.get().is_some();
    let press = move |_| {
        if let Some(running) = end.try_update_value(Option::take).flatten() {
            return running.abort();
        }
        is_copied.set(None);
        let (measured, handle) = abortable(measure_all(state, reading.clone(), size, found));
        end.set_value(Some(handle));
        leptos::task::spawn_local(async move {
            // What was measured before a stop stays.
            let _ = measured.await;
            end.set_value(None);
            progress.set(None);
        });
    };
    let copy = {
        let text = text.clone();
        move |_| {
            let text = text();
            leptos::task::spawn_local(async move { is_copied.set(Some(copy_text(&text).await.is_some())) });
        }
    };
    let label = move || match is_copied.get() {
        None => "Copy the table",
        Some(true) => "Table copied",
        Some(false) => "Copy it from the field below",
    };
    // Without the round, for readers who do not see it.
    let spoken = Memo::new(move |_| {
        let (sentence, _) = progress.get()?;
        Some(sentence.rsplit_once(", ").map_or(sentence.clone(), |(what, _)| what.to_owned()))
    });
    // What was copied lacks what is measured later.
    Effect::new(move || {
        speeds.track();
        if is_copied.get_untracked() == Some(true) {
            is_copied.set(None);
        }
    });
    let has_results = move || !speeds.get().is_empty();
    view! {
        <main id="main" tabindex="-1">
            <section class="benchmark" aria-label="Benchmark">
                <h2>"How fast is this browser?"</h2>
                <p>
                    {format!("{model} reads prompts of {short} and {long} tokens and answers, {times} on each program that this browser has: ")}
                    "the CPU with one thread and with all, and WebGPU with subgroups and without. "
                    {format!("So does {PEER} with nano-rope, which is loaded for it (17 MB, and 27 for WebGPU). The table shows medians and ranges; nothing is sent anywhere.")}
                </p>
                <p class="buttons">
                    <button id="measure" type="button" on:click=press>{move || if is_running() { "Stop" } else { "Measure" }}</button>
                    <button id="copy-table" type="button" class="quiet" hidden=move || !has_results() on:click=copy>
                        <span aria-live="polite">{label}</span>
                    </button>
                </p>
                <p class="visually-hidden" role="status">{move || spoken.get()}</p>
                <Show when=is_running>
                    <label class="hint">
                        {move || progress.get().map(|(sentence, _)| sentence)}
                        <progress max="1" value=move || progress.get().map_or(0.0, |(_, share)| share)></progress>
                    </label>
                </Show>
                <p class="hint">{move || places.get().join("; ")}</p>
                <Show when=has_results>
                    <div class="scroll">
                        <table>
                            <thead><tr>{HEADS.map(|head| view! { <th scope="col">{head}</th> }).collect_view()}</tr></thead>
                            <tbody>
                                {move || speeds.get().iter().map(|speed| {
                                    let [program, numbers @ ..] = speed.cells();
                                    view! {
                                        <tr>
                                            <th scope="row">{program}</th>
                                            {numbers.map(|number| view! { <td>{number}</td> }).collect_view()}
                                        </tr>
                                    }
                                }).collect_view()}
                            </tbody>
                        </table>
                    </div>
                </Show>
                {move || missing.get().into_iter().map(|sentence| view! { <p class="hint missing">{sentence}</p> }).collect_view()}
                <Show when=move || is_copied.get() == Some(false)>
                    <textarea readonly rows="12" aria-label="The table in Markdown" prop:value=text.clone()></textarea>
                </Show>
            </section>
        </main>
        <footer><p><a href="./">"Open the whole page"</a></p></footer>
    }
}
