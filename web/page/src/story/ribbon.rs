//! The text as a ribbon: it grows with its length, and its shaded part is as long as what the models were trained on.

use leptos::prelude::*;

use crate::columns::haystack::needles;
use crate::state::story::{LENGTHS, Story};

/// The ribbon, along which the needle can be dragged.
#[component]
pub fn Ribbon(story: Story, on_moved: impl Fn() + 'static) -> impl IntoView {
    // Each doubling adds as much, so that all lengths can be told apart; within the ribbon places are to scale.
    let width = move || {
        let doublings = (story.extension.get() as f64).log2();
        format!("width:{:.1}%", 100.0 * (1.0 + doublings) / LENGTHS.len() as f64)
    };
    let trained = move || format!("width:{:.2}%", 100.0 / story.extension.get() as f64);
    let needle = move || format!("left:{}%", story.depth.get());
    // The other keys of the text; the one that is asked for is where the reader drags it.
    let others = move || story.asked.get().iter().flat_map(needles).collect_view();
    view! {
        <div class="ribbon" style=width>
            <div role="img" aria-label="The text; its shaded beginning is as long as what the models were trained on">
                <span class="trained" style=trained></span>
                {others}
                <span class="glow" style=needle></span>
            </div>
            <input id="needle" type="range" min="0" max="100" step="5" aria-label="Place of the needle in the text, in percent"
                prop:value=move || story.depth.get()
                on:input=move |event| if let Ok(depth) = event_target_value(&event).parse() { story.depth.set(depth) }
                on:change=move |_| on_moved() />
        </div>
        <p class="legend-line hint" aria-hidden="true"><span class="swatch trained"></span>"256 tokens, as in training " <span class="swatch glow"></span>"the number: drag it"</p>
    }
}
