//! `?benchmark`: how fast this browser reads and writes, on each program that it has, as a table to send on.

mod card;
mod measured;
mod peer;
mod table;

use drope_core::positions::Method;
use leptos::prelude::*;

use self::card::Card;
use self::measured::{ROUNDS, Setting, measure};
use self::peer::{PEER, Provider};
use self::table::{HEADS, Speed, markdown};
use crate::address::readings::first_reading;
use crate::link::script::Program;
use crate::link::threads::allowed;
use crate::parts::share::copy_text;
use crate::state::State;
use crate::state::column::plain;
use crate::state::engine::{Backend, BackendChoice};

/// The screen, in place of the whole page.
#[component]
pub fn Benchmark(state: State, prompts: [usize; 2]) -> impl IntoView {
    let reading = first_reading().unwrap_or_else(|| plain(Method::Rope));
    let model = reading.model.clone().unwrap_or_else(|| reading.method.info().nano_model.to_owned());
    let places = RwSignal::new(Vec::<String>::new());
    let speeds = RwSignal::new(Vec::<Speed>::new());
    // Sentences of what could not be measured.
    let missing = RwSignal::new(Vec::<String>::new());
    let progress = RwSignal::new(None::<(String, f64)>);
    let is_copied = RwSignal::new(None::<bool>);
    let text = {
        let model = model.clone();
        move || markdown(&model, &places.get(), &speeds.get())
    };
    let measure_all = move |_| {
        let reading = reading.clone();
        speeds.set(Vec::new());
        missing.set(Vec::new());
        is_copied.set(None);
        progress.set(Some(("It begins".to_owned(), 0.0)));
        leptos::task::spawn_local(async move {
            let card = Card::find().await;
            places.set(vec![browser(), card.to_string()]);
            let is_wanted = state.backend_choice.get_untracked() == BackendChoice::Webgpu;
            if let Some(reason) = card.reason_against().filter(|_| !is_wanted) {
                missing.update(|missing| missing.push(not_measured("WebGPU", reason)));
            }
            let programs = programs(allowed(state.threads), is_wanted || card.reason_against().is_none());
            let count = (programs.len() * prompts.len() * (ROUNDS + 1)) as f64;
            let mut done = 0.0;
            // Of WebGPU, once it was measured.
            let mut found_subgroups = None;
            for Contestant { computes, name } in programs {
                let tell = |prompt: usize, round: usize| {
                    let of_round =
                        if round == 0 { "to warm up".to_owned() } else { format!("round {round} of {ROUNDS}") };
                    let rounds =
                        prompts.iter().position(|&length| length == prompt).unwrap_or(0) * (ROUNDS + 1) + round;
                    let sentence = format!("{name}, a prompt of {prompt} tokens, {of_round}");
                    progress.set(Some((sentence, (done + rounds as f64) / count)));
                };
                if matches!(computes, Computes::Ours(setting) if !setting.may_use_subgroups)
                    && found_subgroups == Some(1)
                {
                    // It was measured without them already.
                    continue;
                }
                let found = match computes {
                    Computes::Ours(setting) => measure(setting, &name, &reading, &prompts, tell).await,
                    Computes::Peer(provider, threads) => {
                        peer::measure(provider, &name, threads, &prompts, tell).await.map(|found| (found, 1))
                    }
                };
                done += (prompts.len() * (ROUNDS + 1)) as f64;
                match found {
                    Ok((found, subgroups)) => {
                        speeds.update(|speeds| speeds.extend(found));
                        if matches!(
                            computes,
                            Computes::Ours(Setting { program: Program::Computes(Backend::Webgpu), .. })
                        ) {
                            found_subgroups = Some(subgroups);
                        }
                        if subgroups > 1 {
                            places.update(|places| places.push(format!("subgroups of {subgroups} units or more")));
                        }
                    }
                    Err(reason) => {
                        missing.update(|missing| missing.push(not_measured(&name, &reason)));
                    }
                }
            }
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
    let is_running = move || progress.get().is_some();
    let has_results = move || !speeds.get().is_empty();
    view! {
        <main id="main" tabindex="-1">
            <section class="benchmark" aria-label="Benchmark">
                <h2>"How fast is this browser?"</h2>
                <p>
                    {format!("{model} reads prompts of {} and {} tokens and answers, {ROUNDS} times on each program that this browser has: ", prompts[0], prompts[1])}
                    "the CPU with one thread and with all, and WebGPU with subgroups and without. "
                    {format!("So does {PEER} with nano-rope, which is loaded for it (17 MB, and 27 for WebGPU). The table shows medians and ranges; nothing is sent anywhere.")}
                </p>
                <p class="buttons">
                    <button id="measure" type="button" disabled=is_running on:click=measure_all>"Measure"</button>
                    <button id="copy-table" type="button" class="quiet" hidden=move || !has_results() on:click=copy>
                        <span aria-live="polite">{label}</span>
                    </button>
                </p>
                <Show when=is_running>
                    <label class="hint" role="status">
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

/// What computes: a program of ours, or the peer with so many threads.
#[derive(Clone, Copy)]
enum Computes {
    Ours(Setting),
    Peer(Provider, usize),
}

/// What is measured.
struct Contestant {
    computes: Computes,
    name: String,
}

/// Ours, each followed by the peer that computes with the same; WebGPU once more without subgroups, which is left out where there are none.
fn programs(threads: usize, has_webgpu: bool) -> Vec<Contestant> {
    let setting = |program, threads| Setting { program, threads, may_use_subgroups: true };
    let mut places = vec![(setting(Program::Computes(Backend::Cpu), 1), Provider::Wasm, "CPU, 1 thread".to_owned())];
    if threads > 1 {
        places.push((setting(Program::Shares, threads), Provider::Wasm, format!("CPU, {threads} threads")));
    }
    let webgpu = setting(Program::Computes(Backend::Webgpu), 1);
    if has_webgpu {
        places.push((webgpu, Provider::Webgpu, "WebGPU".to_owned()));
    }
    let both = |(setting, provider, place): (Setting, Provider, String)| {
        let peer = Contestant { computes: Computes::Peer(provider, setting.threads), name: format!("{PEER}, {place}") };
        [Contestant { computes: Computes::Ours(setting), name: place }, peer]
    };
    let mut all: Vec<Contestant> = places.into_iter().flat_map(both).collect();
    if has_webgpu {
        let without = Setting { may_use_subgroups: false, ..webgpu };
        all.push(Contestant { computes: Computes::Ours(without), name: "WebGPU without subgroups".to_owned() });
    }
    all
}

/// What the browser calls itself.
fn browser() -> String {
    let navigator = window().navigator();
    let agent = navigator.user_agent().unwrap_or_else(|_| "an unnamed browser".to_owned());
    format!("{agent}, {} processors", navigator.hardware_concurrency())
}

/// What is said of a program that was not measured; some reasons are sentences.
fn not_measured(name: &str, reason: &str) -> String {
    format!("{name} was not measured: {}.", reason.trim_end_matches('.'))
}
