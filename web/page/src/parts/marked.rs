//! An answer as text, with what is right and wrong in it marked.

use leptos::prelude::*;

use crate::state::asked::Asked;
use crate::state::column::Answer;

/// The answer with right, wrong and missing characters marked against the references, value by value.
pub fn marked(answer: &Answer, asked: Option<&Asked>) -> Vec<AnyView> {
    if asked.is_some_and(|asked| asked.is_own) {
        return vec![view! { <span class="own">{answer.text.clone()}</span> }.into_any()];
    }
    let mut references: Vec<&str> =
        asked.map_or(Vec::new(), |asked| asked.references.iter().map(String::as_str).collect());
    let ordered = asked.is_none_or(|asked| asked.ordered);
    let chars: Vec<char> = answer.text.chars().collect();
    let mut runs = chars.chunk_by(|a, b| a.is_alphanumeric() == b.is_alphanumeric()).peekable();
    let mut views = Vec::new();
    while let Some(run) = runs.next() {
        let text: String = run.iter().collect();
        // Words and characters that join values are never marked as wrong.
        if !run[0].is_alphanumeric() || text == "and" {
            views.push(view! { <span>{text}</span> }.into_any());
            continue;
        }
        // If the order does not count, a value is compared with the first reference that begins with it, if any does.
        let like = |reference: &&str| !ordered && reference.starts_with(&text);
        let at = references.iter().position(like).unwrap_or(0);
        let wanted: Vec<char> =
            if references.is_empty() { Vec::new() } else { references.remove(at).chars().collect() };
        for (at, letter) in run.iter().enumerate() {
            let class = if wanted.get(at) == Some(letter) { "hit" } else { "miss" };
            views.push(view! { <span class=class>{letter.to_string()}</span> }.into_any());
        }
        // The last value may still be growing.
        let is_whole = runs.peek().is_some() || answer.finished.is_some();
        // Nothing is missing of a word where a number was asked for.
        let is_alike = wanted.first().is_some_and(|letter| letter.is_ascii_digit() == run[0].is_ascii_digit());
        if is_whole && is_alike && run.len() < wanted.len() {
            let missing = "·".repeat(wanted.len() - run.len());
            views.push(view! { <span class="miss" title="missing">{missing}</span> }.into_any());
        }
    }
    views
}
