//! The cut as a dial: which rotations are dropped, and what becomes of the answer and of the attention on the needle.

use drope_core::probe::HeadProbe;
use leptos::prelude::*;

use crate::columns::answers::explained;
use crate::link::runs::{ask_dial, stop};
use crate::parts::estimate::time_of_all;
use crate::parts::row::{AnswerRow, Share};
use crate::state::State;
use crate::state::column::Column;
use crate::state::dial::{Dial, MODELS};
use crate::state::running::Running;
use crate::state::spectrum;

/// Size of the drawing of a frequency.
const BAR: [f64; 2] = [18.0, 60.0];
/// Fewest and most turns that are drawn, as powers of ten.
const POWERS: [f64; 2] = [-2.4, 1.7];

/// The slider over the spectrum, and the two answers.
#[component]
pub fn FrequencyDial(state: State) -> impl IntoView {
    let dial = state.dial;
    let count = spectrum::frequencies().len();
    let turns = Memo::new(move |_| dial.turns());
    let said = move || {
        let dropped = dial.dropped.get();
        match dropped {
            0 => "Nothing is dropped: RoPE.".to_owned(),
            1 if dial.is_soft.get() => "The slowest rotation stands still.".to_owned(),
            _ if dial.is_soft.get() => {
                format!(
                    "The {dropped} slowest of {count} rotations are slowed down, from the first, not at all, to the last, to a stop: CoPE."
                )
            }
            all if all == count => "Everything is dropped: DroPE.".to_owned(),
            _ => format!("The {dropped} slowest of {count} rotations are dropped."),
        }
    };
    let ask_both = move || {
        let story = state.story;
        let tokens = story.extension.get() * story.context();
        let time = time_of_all(state, dial.columns().to_vec(), tokens);
        format!("Ask both at {}× (about {time})", story.extension.get())
    };
    let is_asking = move || matches!(state.running.get(), Some(Running::Dial | Running::DialProbe));
    view! {
        <section class="dial" aria-label="Cut">
            <h2>"Turn the cut yourself"</h2>
            <p class="hint">
                "One bar per frequency; its height is the number of turns within 256 tokens, and the dashed line is one whole turn. Slow ones are \
                 at the right. Drop more or fewer, and both models are asked the question of the first screen, at its length."
            </p>
            <svg viewBox=format!("0 0 {} {}", BAR[0] * count as f64, BAR[1]) preserveAspectRatio="xMinYMid" role="img" aria-label=said>
                {(0..count).map(|place| {
                    let class = move || if dial.is_soft.get() || place + dial.dropped.get() < count { "kept" } else { "dropped" };
                    let turns = move || turns.with(|turns| turns[place]);
                    let height = move || height(turns());
                    view! {
                        <rect class=class
                            x={BAR[0] * place as f64 + 2.0} y=move || BAR[1] - height() width={BAR[0] - 4.0} height=height>
                            <title>{move || format!("{:.2} turns in 256 tokens", turns())}</title>
                        </rect>
                    }
                }).collect_view()}
                <line class="turn" x1="0" x2={BAR[0] * count as f64} y1={BAR[1] - height(1.0)} y2={BAR[1] - height(1.0)} />
            </svg>
            <label class="length">
                <span>{said}</span>
                <input id="cut" type="range" min="0" max=count step="1" prop:value=move || dial.dropped.get()
                    on:input=move |event| if let Ok(dropped) = event_target_value(&event).parse() {
                        if untrack(is_asking) {
                            // Its answers are of the cut before.
                            stop(state);
                        }
                        dial.turn(dropped, dial.is_soft.get_untracked());
                    }
                    on:change=move |_| ask_dial(state) />
            </label>
            <label class="inline">
                <input id="soft" type="checkbox" prop:checked=move || dial.is_soft.get()
                    on:change=move |event| {
                        dial.turn(dial.dropped.get_untracked(), event_target_checked(&event));
                        ask_dial(state);
                    } />
                "Slow them down instead, the slower the more (CoPE)"
            </label>
            <p class="buttons">
                <button id="ask-dial" type="button" class="primary"
                    on:click=move |_| if is_asking() { stop(state) } else { ask_dial(state) }>
                    {move || if is_asking() { "Stop".to_owned() } else { ask_both() }}
                </button>
            </p>
            <ol class="rows">
                {MODELS.iter().zip(dial.columns()).map(|((_, name), column)| view! { <DialRow dial column name is_reading=Signal::derive(is_asking) /> }).collect_view()}
            </ol>
        </section>
    }
}

/// A model's answer, and the attention that its best head gives the needle.
#[component]
fn DialRow(dial: Dial, column: Column, name: &'static str, is_reading: Signal<bool>) -> impl IntoView {
    let most = move || {
        let of = |head: &HeadProbe| head.needle_of_question;
        column.probe.with(|probe| probe.as_ref().map(|probe| probe.heads.iter().map(of).fold(0.0, f64::max)))
    };
    let share = Signal::derive(move || Share {
        of_one: most(),
        text: most().map_or_else(|| "–".to_owned(), crate::parts::percent::percent),
        below: "of a head's attention on the needle".to_owned(),
    });
    view! {
        <AnswerRow column asked=dial.asked id=format!("dial-{}", column.key + 1) name=name.to_owned()
            title=Signal::derive(move || explained(&column)) share is_reading />
    }
}

fn height(turns: f64) -> f64 {
    let [fewest, most] = POWERS;
    BAR[1] * ((turns.log10() - fewest) / (most - fewest)).clamp(0.02, 1.0)
}
