//! A short tour of the page for readers who do not know rotary positions: five steps, in the address, left at any time.

use leptos::prelude::*;

use crate::link::runs::ask;
use crate::parts::focus::focus;
use crate::screens::enter;
use crate::state::State;
use crate::state::screen::Screen;

/// A part of the page, as a CSS selector, and what is to be seen there.
struct TourStep {
    screen: Screen,
    part: &'static str,
    text: &'static str,
    /// Begins what is to be seen there, unless something is seen already.
    begin: fn(State),
}

const STEPS: [TourStep; 5] = [
    TourStep {
        screen: Screen::Play,
        part: ".story",
        text: "A language model is trained on texts up to some length, here 256 tokens. Make the text longer: the rows show how often \
               each model still finds the number. Plain rotary positions (RoPE) fail at once.",
        begin: nothing,
    },
    TourStep {
        screen: Screen::Play,
        part: ".controls",
        text: "A question hides a number under a key somewhere in a text, among other keys, and asks for it at the end. You choose \
               the kind of question, how long the text is, and how deep the number is hidden. Press Run.",
        begin: nothing,
    },
    TourStep {
        screen: Screen::Play,
        part: ".columns",
        text: "Each column is a method; all read the same text and answer token by token, now. Choose others, add up to four, and \
               change their settings. Green is right, red is wrong.",
        begin: answer,
    },
    TourStep {
        screen: Screen::Why,
        part: ".frequencies",
        text: "Why RoPE fails: it tells positions by angles, and a longer text brings angles that training never showed (red). \
               Scalings such as YaRN slow the rotation down; DroPE removes it. Drag the length and see.",
        begin: nothing,
    },
    TourStep {
        screen: Screen::Results,
        part: ".heatmap",
        text: "All of it at once: where the number is hidden against how long the text is. Some cells were measured beforehand; \
               fill all of them here, and the address of this page keeps what you chose, so that you can share it.",
        begin: nothing,
    },
];

fn nothing(_: State) {}

/// Lets the columns answer, once they have nothing to show and nothing runs.
fn answer(state: State) {
    let is_empty = state.columns.with_untracked(|columns| {
        columns.iter().all(|column| column.answer.with_untracked(|answer| answer.finished.is_none()))
    });
    if is_empty && state.running.with_untracked(Option::is_none) {
        ask(state);
    }
}

/// The card with the present step, at the foot of the window.
#[component]
pub fn Tour(state: State) -> impl IntoView {
    // The address may name a step that there is not.
    if state.tour.get_untracked() > STEPS.len() {
        state.tour.set(0);
    }
    Effect::new(move |before: Option<usize>| {
        let number = state.tour.get();
        let step = STEPS.get(number.wrapping_sub(1));
        if let Some(step) = step {
            enter(state, step.screen);
            (step.begin)(state);
        }
        // The screen is shown by then.
        request_animation_frame(move || show(step.map(|step| step.part)));
        match (before.unwrap_or_default(), number) {
            (0, 0) => {}
            (_, 0) => focus("tour"),
            // There "Back" is hidden.
            (0, _) | (_, 1) => focus("tour-next"),
            _ => {}
        }
        number
    });
    let card = move || {
        let number = state.tour.get();
        let step = STEPS.get(number.wrapping_sub(1))?;
        let (is_first, is_last) = (number == 1, number == STEPS.len());
        Some(view! {
            <div class="tour" role="dialog" aria-label="Tour"
                on:keydown=move |event| if event.key() == "Escape" { state.tour.set(0) }>
                <p aria-live="polite">{step.text}</p>
                <div class="buttons">
                    <span class="hint">{format!("{number} of {}", STEPS.len())}</span>
                    <button type="button" hidden=is_first on:click=move |_| state.tour.set(number - 1)>"Back"</button>
                    <button id="tour-next" type="button" class="primary"
                        on:click=move |_| state.tour.set(if is_last { 0 } else { number + 1 })>
                        {if is_last { "Done" } else { "Next" }}
                    </button>
                    <button id="tour-end" type="button" class="quiet" on:click=move |_| state.tour.set(0)>"Leave the tour"</button>
                </div>
            </div>
        })
    };
    view! { {card} }
}

/// Outlines a part of the page and brings it into view; none: nothing is outlined.
fn show(part: Option<&str>) {
    let find = |selector: &str| document().query_selector(selector).ok().flatten();
    if let Some(before) = find(".toured") {
        let _ = before.class_list().remove_1("toured");
    }
    if let Some(element) = part.and_then(find) {
        // Fails only for names that no class can have.
        let _ = element.class_list().add_1("toured");
        element.scroll_into_view();
    }
}
