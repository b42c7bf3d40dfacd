//! Measures all programs, one after the other, and says how far it is.

use drope_protocol::Reading;
use leptos::prelude::*;

use super::card::Card;
use super::measured::{Setting, measure};
use super::peer::{self, PEER, Provider};
use super::table::Speed;
use crate::link::script::Program;
use crate::link::threads::allowed;
use crate::state::State;
use crate::state::benchmark_size::BenchmarkSize;
use crate::state::engine::{Backend, BackendChoice};

/// What was found so far.
#[derive(Clone, Copy, Default)]
pub struct Found {
    /// The browser and its graphics card.
    pub places: RwSignal<Vec<String>>,
    pub speeds: RwSignal<Vec<Speed>>,
    /// Sentences of what could not be measured.
    pub missing: RwSignal<Vec<String>>,
    /// What is measured now, and the share that is done.
    pub progress: RwSignal<Option<(String, f64)>>,
}

/// Measures every program that this browser has. Where this is dropped, its worker ends.
pub async fn measure_all(state: State, reading: Reading, size: BenchmarkSize, found: Found) {
    let BenchmarkSize { prompts, rounds } = size;
    found.speeds.set(Vec::new());
    found.missing.set(Vec::new());
    found.progress.set(Some(("It begins".to_owned(), 0.0)));
    let lacks = |name: &str, reason: &str| found.missing.update(|missing| missing.push(not_measured(name, reason)));
    let card = Card::find().await;
    found.places.set(vec![browser(), card.to_string()]);
    let is_wanted = state.backend_choice.get_untracked() == BackendChoice::Webgpu;
    if let Some(reason) = card.reason_against().filter(|_| !is_wanted) {
        lacks("WebGPU", reason);
    }
    let programs = programs(allowed(state.threads), is_wanted || card.reason_against().is_none());
    let rounds_of_a_program = prompts.len() * (rounds + 1);
    let count = (programs.len() * rounds_of_a_program) as f64;
    // Of WebGPU, once it was measured.
    let mut found_subgroups = None;
    for (at, Contestant { computes, name }) in programs.into_iter().enumerate() {
        let tell = |prompt: usize, round: usize| {
            let of_round = if round == 0 { "to warm up".to_owned() } else { format!("round {round} of {rounds}") };
            let before = prompts.iter().position(|&length| length == prompt).unwrap_or(0) * (rounds + 1);
            let done = at * rounds_of_a_program + before + round;
            let sentence = format!("{name}, a prompt of {prompt} tokens, {of_round}");
            found.progress.set(Some((sentence, done as f64 / count)));
        };
        let measured = match computes {
            // It was measured without them already.
            Computes::Ours(Setting { may_use_subgroups: false, .. }) if found_subgroups == Some(1) => continue,
            Computes::Ours(setting) => measure(setting, &name, &reading, size, tell).await,
            Computes::Peer(provider, threads) => {
                peer::measure(provider, &name, threads, size, tell).await.map(|speeds| (speeds, 1))
            }
        };
        match measured {
            Ok((speeds, subgroups)) => {
                found.speeds.update(|all| all.extend(speeds));
                if matches!(computes, Computes::Ours(Setting { program: Program::Computes(Backend::Webgpu), .. })) {
                    found_subgroups = Some(subgroups);
                }
                if subgroups > 1 {
                    found.places.update(|places| places.push(format!("subgroups of {subgroups} units or more")));
                }
            }
            Err(reason) => lacks(&name, &reason),
        }
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
