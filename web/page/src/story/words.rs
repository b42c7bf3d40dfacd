//! What happens in the rows, a sentence each.

use leptos::prelude::*;

use super::whole;
use crate::state::story::study;

/// How many times a sentence of filler counts at most, on average over a document, in recalibration with copies.
const MOST_COPIES: usize = 32;

/// Questions that a reader of the rows has, with their answers.
#[component]
pub fn PlainWords() -> impl IntoView {
    let published = study().methods.iter().find(|line| line.name == "DroPE").and_then(|line| line.points.last());
    let published = published.map(|point| format!("at {}× it answers {}", point.extension, whole(point.mean)));
    let entries = [
        (
            "RoPE",
            "tells the model where a word stands: it rotates pairs of numbers, by larger angles for later words."
                .to_owned(),
        ),
        ("Why it breaks", "In a longer text the slow rotations reach angles that training never showed.".to_owned()),
        (
            "YaRN",
            "turns more slowly, so that a longer text stays within the angles that are known. It needs no training."
                .to_owned(),
        ),
        (
            "DroPE",
            format!(
                "takes the positions away after training, and trains on a little at the same length. Exactly as published it reads less far here: {}.",
                published.unwrap_or_else(|| "not measured".to_owned())
            ),
        ),
        (
            "Copies",
            format!(
                "Without positions a long text differs from a short one only in how many words compete for attention. So in recalibration each \
             sentence of filler counts several times, up to {MOST_COPIES} times on average:"
            ),
        ),
    ];
    view! {
        <dl class="words">
            {entries.into_iter().map(|(term, text)| view! { <div><dt>{term}</dt><dd>{text}</dd></div> }).collect_view()}
        </dl>
        <figure class="copies" role="img" aria-label="A short text, and the same text with its sentence of filler counted many times">
            <Counted copies=1 />
            <Counted copies=MOST_COPIES />
        </figure>
    }
}

/// A needle, a sentence of filler counted so many times, and a question.
#[component]
fn Counted(copies: usize) -> impl IntoView {
    view! {
        <p>
            <span class="piece needle">"needle"</span>
            {(0..copies).map(|copy| view! { <span class="piece">{(copy == 0).then_some("filler")}</span> }).collect_view()}
            <span class="piece">"question"</span>
            {(copies > 1).then(|| view! { <small>{format!("counted {copies} times")}</small> })}
        </p>
    }
}
