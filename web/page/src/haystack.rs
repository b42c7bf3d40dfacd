//! The text that all columns read, with its needles.

use drope_core::niah::SentenceKind;
use leptos::prelude::*;

use super::state::{Asked, State};

/// Depth strip and text.
#[component]
pub fn Haystack(state: State) -> impl IntoView {
    view! {
        <section class="haystack" aria-label="Haystack">
            <h2>"The haystack"</h2>
            {move || state.asked.get().map_or_else(
                || view! { <p class="hint">"Press Run: the text that the methods read appears here, with its needles marked."</p> }.into_any(),
                |asked| view! { <HaystackText asked /> }.into_any(),
            )}
        </section>
    }
}

/// A strip with the places of the needles, and the sentences.
#[component]
fn HaystackText(asked: Asked) -> impl IntoView {
    let bytes: usize = asked.haystack.iter().map(|(text, _)| text.len() + 1).sum();
    let mut before = 0;
    let mut marks = Vec::new();
    let mut text = Vec::new();
    for (sentence, kind) in asked.haystack {
        let class = match kind {
            SentenceKind::Prose | SentenceKind::Sink => "",
            SentenceKind::Distractor => "distractor",
            SentenceKind::Needle => "needle",
        };
        if !class.is_empty() {
            let place = format!("left:{:.1}%", 100.0 * before as f64 / bytes as f64);
            marks.push(view! { <span class=class style=place></span> });
        }
        before += sentence.len() + 1;
        text.push(match kind {
            SentenceKind::Prose | SentenceKind::Sink => view! { <span>{sentence}" "</span> }.into_any(),
            _ => view! { <mark class=class>{sentence}</mark>" " }.into_any(),
        });
    }
    let trained = format!("width:{:.1}%", 100.0 * asked.context as f64 / asked.tokens.max(asked.context) as f64);
    let caption = format!(
        "{} tokens, {:.1} times the training context of {}. The shaded part of the strip is as much as the models ever saw at once in training; strong marks are what is asked for.",
        asked.tokens,
        asked.tokens as f64 / asked.context as f64,
        asked.context
    );
    view! {
        <div class="strip" role="img" aria-label="Places of the needles in the text">
            <span class="trained" style=trained></span>
            {marks}
        </div>
        <p class="hint">{caption}</p>
        <div class="text" tabindex="0" role="region" aria-label="Text of the haystack">{text}<span class="asked">{asked.question}</span></div>
    }
}
