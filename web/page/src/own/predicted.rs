//! Perplexity along the text: how well each column predicts it, and its model in windows of the training context.

use drope_protocol::Reading;
use leptos::prelude::*;

use crate::link::runs::{predict, stop};
use crate::parts::axes::{self, Axes, view_box};
use crate::parts::reading_title::reading_title;
use crate::state::State;
use crate::state::column::Predicted;
use crate::state::running::Running;

/// Size of the chart, in its own units.
const SIZE: [f64; 2] = [300.0, 120.0];

/// The button and a chart a column.
#[component]
pub fn PredictedText(state: State) -> impl IntoView {
    let is_running = move || state.running.get() == Some(Running::Predict);
    let press = move |_| if is_running() { stop(state) } else { predict(state) };
    // One scale for all columns, or they could not be compared.
    let top = move || {
        let highest = |predicted: &Option<Predicted>| {
            let losses = predicted.iter().flat_map(|predicted| predicted.losses.iter().chain(&predicted.cropped));
            losses.copied().fold(0.0f32, f32::max)
        };
        let columns = state.columns.get();
        f64::from(columns.into_iter().map(|column| column.predicted.with(highest)).fold(1.0f32, f32::max))
    };
    view! {
        <section class="inside" aria-label="Perplexity along the text">
            <h2>"How well it predicts the text"</h2>
            <p class="hint">
                "The mean of −ln p(token | all before it) in nats, from the start of the text to its end; lower is better, and exp of it is the \
                 perplexity. Dashed: the same model as it was trained, given no more than a training context of the text at a time (crop), \
                 which never breaks and never finds anything further back. A method that predicts worse than that has broken; one that \
                 only equals it may still retrieve."
            </p>
            <button id="predict" type="button" on:click=press>{move || if is_running() { "Stop" } else { "Predict the text" }}</button>
            <div class="answers">
                <For each=move || state.columns.get() key=|column| column.key let:column>
                    <div>{move || column.predicted.get().map(|predicted| view! { <Losses predicted top=top() /> })}</div>
                </For>
            </div>
        </section>
    }
}

/// Two lines of one column.
#[component]
fn Losses(predicted: Predicted, top: f64) -> impl IntoView {
    let Predicted { reading, losses, cropped } = predicted;
    let said = sentence(&reading, &losses, &cropped);
    view! {
        <figure>
            <svg viewBox=view_box(SIZE) role="img" aria-label=said.clone()>
                <polyline class="bound" points=line(&cropped, top) />
                <polyline class="strong" points=line(&losses, top) />
                <Axes size=SIZE heights=heights(top) ends=["start".to_owned(), "end of the text".to_owned()] />
            </svg>
            <figcaption class="hint">{said}</figcaption>
        </figure>
    }
}

/// Nats at the upper edge, in the middle and at the lower edge.
fn heights(top: f64) -> Vec<(f64, String)> {
    [1.0, 0.5, 0.0].map(|share| (SIZE[1] * (1.0 - share), format!("{:.1}", share * top))).to_vec()
}

fn line(losses: &[f32], top: f64) -> String {
    axes::line(losses.iter().copied().map(f64::from), SIZE, top)
}

/// What the chart shows, in words.
fn sentence(reading: &Reading, losses: &[f32], cropped: &[f32]) -> String {
    let ends = |losses: &[f32]| [losses.first(), losses.last()].map(|loss| loss.copied().unwrap_or_default().exp());
    let ([start, end], [_, crop]) = (ends(losses), ends(cropped));
    format!(
        "{}: perplexity {start:.1} at the start, {end:.1} at the end of the text; cropped {crop:.1} there.",
        reading_title(reading)
    )
}

#[cfg(test)]
mod tests {
    use drope_core::positions::Method;

    use super::{line, sentence};
    use crate::state::column::plain;

    #[test]
    fn lines_go_from_edge_to_edge_and_words_say_perplexities() {
        assert_eq!(line(&[2.0, 0.0, 1.0], 2.0), "0.0,0.0 150.0,120.0 300.0,60.0 ");
        let said = sentence(&plain(Method::Yarn), &[0.0, 1.0], &[0.0, 2.0f32.ln()]);
        assert_eq!(said, "YaRN: perplexity 1.0 at the start, 2.7 at the end of the text; cropped 2.0 there.");
    }
}
