//! What makes questions harder than the standard ones.

use drope_core::language::Values;
use drope_core::niah::{Difficulty, Distractors, Filler, Task};
use leptos::prelude::*;

use crate::address::difficulty::text;
use crate::parts::choice::Choice;
use crate::state::State;

/// Numbers of different keys that can be chosen.
const KEYS: [&str; 4] = ["8", "16", "32", "64"];

/// The settings, folded away.
#[component]
pub fn HarderQuestions(state: State) -> impl IntoView {
    let chosen = move || match text(state.kind()) {
        text if text.is_empty() => "Harder questions".to_owned(),
        text => format!("Harder questions: {text}"),
    };
    let change = move |change: &dyn Fn(&mut Difficulty)| state.difficulty.update(change);
    let fillers = [
        ("", "varied prose"),
        (Filler::Decoys.name(), "prose with words and digits of needles"),
        (Filler::Needles.name(), "needles alone"),
        (Filler::Grass.name(), "five sentences over and over"),
    ];
    let digits = [("4", "4"), ("7", "7, as in RULER")];
    let distractors = [
        (Distractors::Unrelated.name(), "share no word with it"),
        (Distractors::Sharing.name(), "share a word with it"),
    ];
    let keys: Vec<_> = std::iter::once(("", "as many as the task has")).chain(KEYS.map(|keys| (keys, keys))).collect();
    let known = |known: &'static [&'static str], value: String| {
        known.iter().find(|known| **known == value).copied().unwrap_or("")
    };
    let number_of_keys = move || state.difficulty.get().keys.map(|keys| keys.to_string()).unwrap_or_default();
    view! {
        <details class="settings harder" hidden=move || state.is_own.get()>
            <summary>{chosen}</summary>
            <p class="hint">
                "The study's models (choose them under Model) were taught harder questions too: 7 digits, keys that share a word, decoys, needles alone, \
                 chains, the latest of several values; but neither pass keys nor the five sentences, and no text had more than 256 tokens. The methods' \
                 own models were taught none of these. There are no committed results here for these settings."
            </p>
            <div class="controls">
                <Choice id="digits".to_owned() label="Digits of numbers" options=digits.to_vec()
                    value=Signal::derive(move || if state.difficulty.get().digits == Values::LONG_DIGITS { "7" } else { "4" })
                    on_choose=move |digits: String| if let Ok(digits) = digits.parse() { change(&|difficulty| difficulty.digits = digits) } />
                <Choice id="distractors".to_owned() label="Other keys" options=distractors.to_vec()
                    value=Signal::derive(move || state.difficulty.get().distractors.name())
                    on_choose=move |name: String| if let Ok(kind) = name.parse() { change(&|difficulty| difficulty.distractors = kind) } />
                <Choice id="keys".to_owned() label="Number of keys" options=keys
                    value=Signal::derive(move || known(&KEYS, number_of_keys()))
                    on_choose=move |keys: String| change(&|difficulty| difficulty.keys = keys.parse().ok()) />
                <Choice id="filler".to_owned() label="Haystack" options=fillers.to_vec()
                    value=Signal::derive(move || state.filler.get().map_or("", Filler::name))
                    on_choose=move |name: String| state.filler.set(name.parse().ok()) />
                <div class="field" hidden=move || state.task.get() != Task::VariableTracking>
                    <Choice id="hops".to_owned() label="Links of the chain" options=HOPS.map(|hops| (hops, hops)).to_vec()
                        value=Signal::derive(move || known(&HOPS, state.difficulty.get().hops.to_string()))
                        on_choose=move |hops: String| if let Ok(hops) = hops.parse() { change(&|difficulty| difficulty.hops = hops) } />
                </div>
            </div>
        </details>
    }
}

const HOPS: [&str; 3] = ["2", "3", "4"];
