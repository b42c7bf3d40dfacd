//! The text that all columns read, with its needles.

use drope_core::niah::SentenceKind;
use leptos::prelude::*;

use crate::link::runs::ask;
use crate::state::State;
use crate::state::asked::Asked;

/// Depth strip and text.
#[component]
pub fn Haystack(state: State) -> impl IntoView {
    view! {
        <section class="haystack" aria-label="Haystack">
            <h2>"The haystack"</h2>
            <DepthStrip state />
            {move || state.asked.get().map_or_else(
                || view! { <p class="hint">"Press Run: the text that the methods read appears here, with its needles marked."</p> }.into_any(),
                |asked| view! { <HaystackText asked /> }.into_any(),
            )}
        </section>
    }
}

/// A text with more tokens than this is not split into tokens, because browsers would draw it slowly.
const MOST_TOKENS: usize = 6000;

/// A strip with the places of the needles, along which the reader moves them. It stays while the next text is on its way, and keeps
/// the keyboard's focus.
#[component]
fn DepthStrip(state: State) -> impl IntoView {
    let last = Memo::new(move |last: Option<&Option<Asked>>| state.asked.get().or_else(|| last.cloned().flatten()));
    let trained = move || last.with(|asked| format!("width:{:.1}%", asked.as_ref().map_or(0.0, trained_percent)));
    let marks = move || last.with(|asked| asked.iter().flat_map(needles).collect_view());
    view! {
        <div class="strip" hidden=move || last.with(Option::is_none)>
            <div role="img" aria-label="Places of the needles in the text">
                <span class="trained" style=trained></span>
                {marks}
            </div>
            <input id="strip" type="range" min="0" max="100" step="5" aria-label="Depth of the needle, in percent"
                prop:value=move || state.depth.get()
                on:input=move |event| if let Ok(depth) = event_target_value(&event).parse() { state.depth.set(depth) }
                on:change=move |_| ask(state) />
        </div>
        <p class="hint" hidden=move || last.with(Option::is_none)>
            "Shaded is as much as the models ever saw at once in training. Drag along the strip to hide the needle elsewhere."
        </p>
    }
}

/// How much of the text is as long as what the models saw in training.
fn trained_percent(asked: &Asked) -> f64 {
    100.0 * asked.context as f64 / asked.ends.len().max(asked.context) as f64
}

/// How a sentence is marked; prose is not.
fn mark_class(kind: SentenceKind) -> Option<&'static str> {
    match kind {
        SentenceKind::Prose | SentenceKind::Decoy | SentenceKind::Sink => None,
        SentenceKind::Distractor => Some("distractor"),
        SentenceKind::Needle => Some("needle"),
    }
}

/// A mark for each needle, where it stands in the text.
pub fn needles(asked: &Asked) -> Vec<impl IntoView + use<>> {
    let bytes: usize = asked.haystack.iter().map(|(text, _)| text.len() + 1).sum();
    let mut before = 0;
    let mut marks = Vec::new();
    for (sentence, kind) in &asked.haystack {
        if let Some(class) = mark_class(*kind) {
            let place = format!("left:{:.1}%", 100.0 * before as f64 / bytes as f64);
            marks.push(view! { <span class=class style=place></span> });
        }
        before += sentence.len() + 1;
    }
    marks
}

/// The sentences as tokens.
#[component]
pub fn HaystackText(asked: Asked) -> impl IntoView {
    let Asked { haystack, question, ends, context, .. } = asked;
    let tokens = ends.len();
    // Where the training context ends in the text, if it does.
    let limit = ends.get(context.saturating_sub(1)).map(|&end| end as usize).filter(|_| tokens > context);
    let ends: Vec<usize> = if tokens > MOST_TOKENS {
        limit.into_iter().collect()
    } else {
        ends.into_iter().map(|end| end as usize).collect()
    };
    let mut before = 0;
    let mut text = Vec::new();
    for (sentence, kind) in haystack {
        let pieces = tokens_of(&sentence, before, &ends, limit);
        before += sentence.len() + 1;
        text.push(match mark_class(kind) {
            None => view! { <span>{pieces}" "</span> }.into_any(),
            Some(class) => view! { <mark class=class>{pieces}</mark>" " }.into_any(),
        });
    }
    let question = tokens_of(&question, before, &ends, limit);
    let caption = format!(
        "{tokens} tokens, {:.1} times the training context of {}. Strong marks are what is asked for.",
        tokens as f64 / context as f64,
        context
    );
    view! {
        <p class="hint">{caption}</p>
        <div class="text" tabindex="0" role="region" aria-label="Text of the haystack">{text}<span class="asked">{question}</span></div>
    }
}

/// A stretch of the text that begins at byte `start`, cut where tokens end, with a mark where the training context does.
fn tokens_of(text: &str, start: usize, ends: &[usize], limit: Option<usize>) -> Vec<AnyView> {
    let mut views = Vec::new();
    for piece in pieces(text, start, ends) {
        views.push(view! { <span class="token">{piece.text.to_owned()}</span> }.into_any());
        if limit == Some(piece.end) {
            views.push(view! { <span class="limit">"training context ends here"</span> }.into_any());
        }
    }
    views
}

/// Part of a text that is a token, and where it ends in the prompt.
#[derive(Debug, PartialEq)]
struct Piece<'a> {
    text: &'a str,
    end: usize,
}

/// A text cut where tokens end; a token that ends inside a character ends with it.
fn pieces<'a>(text: &'a str, start: usize, ends: &[usize]) -> Vec<Piece<'a>> {
    let first = ends.partition_point(|&end| end <= start);
    let inside = ends[first..].iter().take_while(|&&end| end < start + text.len());
    let mut pieces = Vec::new();
    let mut from = 0;
    for end in inside.map(|end| end - start).chain([text.len()]) {
        if end > from && text.is_char_boundary(end) {
            pieces.push(Piece { text: &text[from..end], end: start + end });
            from = end;
        }
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::{Piece, pieces};

    #[test]
    fn a_text_is_cut_where_tokens_end() {
        let piece = |text, end| Piece { text, end };
        // The beginning-of-text token covers no bytes.
        let ends = [0, 3, 7, 8, 11, 12, 20];
        assert_eq!(pieces("One two.", 0, &ends), [piece("One", 3), piece(" two", 7), piece(".", 8)]);
        assert_eq!(
            pieces("né!", 9, &ends),
            [piece("né", 12), piece("!", 13)],
            "é is two bytes, of which a token ends in one"
        );
        assert_eq!(pieces("", 9, &ends), []);
    }
}
