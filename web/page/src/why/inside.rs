//! What attention does with the question: how much of it each head gives the needle, and how it spreads along the text.

use drope_core::probe::HeadProbe;
use leptos::prelude::*;
use wasm_bindgen::JsCast;

use crate::link::runs::{probe, stop};
use crate::parts::reading_title::reading_title;
use crate::state::State;
use crate::state::column::ProbedHeads;
use crate::state::running::Running;
use crate::why::entropy::Entropy;

/// Whose attention is shown.
#[derive(Clone, Copy, PartialEq)]
enum Query {
    /// The token of the question that looks at the needle most.
    Most,
    /// The last token, whose state the answer begins from.
    Last,
}

impl Query {
    /// Share of its attention that a head gives the needle.
    fn on_needle(self, head: &HeadProbe) -> f64 {
        match self {
            Self::Most => head.needle_of_question,
            Self::Last => head.needle,
        }
    }

    /// Its attention on each sentence.
    fn sentences(self, head: &HeadProbe) -> &[f64] {
        match self {
            Self::Most => &head.sentences,
            Self::Last => &head.sentences_of_last,
        }
    }
}

/// The heads of all columns' models, side by side.
#[component]
pub fn Inside(state: State) -> impl IntoView {
    // Layer and head whose attention is shown in every column; none: each column's own that gives the needle most.
    let chosen = RwSignal::new(None::<[usize; 2]>);
    let query = RwSignal::new(Query::Most);
    let is_running = move || state.running.get() == Some(Running::Probe);
    let press = move |_| if is_running() { stop(state) } else { probe(state) };
    view! {
        <section class="inside" aria-label="Inside">
            <h2>"Inside the models"</h2>
            <p class="hint">
                "A model that finds the needle has a head that looks at it while reading the question, mostly from the word of the key. A model \
                 that fails may look at it by chance, from a word that has nothing to do with the key: the word is named. In other heads attention \
                 spreads thinner the longer the text: their entropy grows towards the bound, where every token gets the same. Press a \
                 head to see where it looks, in every column."
            </p>
            <button id="probe" type="button" on:click=press>{move || if is_running() { "Stop" } else { "Look at the heads" }}</button>
            <fieldset class="segments">
                <legend>"Attention of"</legend>
                {[(Query::Most, "the word that looks at it most"), (Query::Last, "the last word, where the answer begins")].map(|(of, text)| view! {
                    <label>
                        <input type="radio" name="query" prop:checked=move || query.get() == of on:change=move |_| query.set(of) />
                        <span>{text}</span>
                    </label>
                })}
            </fieldset>
            <div class="answers">
                <For each=move || state.columns.get() key=|column| column.key let:column>
                    <div>{move || column.probe.get().map(|probed| view! { <Heads state probed chosen query=query.get() /> })}</div>
                </For>
            </div>
        </section>
    }
}

/// The token of a question that is so many tokens before its last one; tokens of the prompt end at `ends`.
fn word(question: &str, ends: &[u32], from_end: usize) -> Option<String> {
    let last = ends.len().checked_sub(1 + from_end)?;
    let behind = |place: usize| Some((ends.last()? - ends.get(place)?) as usize);
    let end = question.len().checked_sub(behind(last)?)?;
    // The first token of the question begins with the space before it.
    let start = question.len().saturating_sub(behind(last.checked_sub(1)?)?);
    Some(question.get(start..end)?.trim().to_owned()).filter(|word| !word.is_empty())
}

/// A model's heads as a table, where one of them looks, and their entropy along the text.
#[component]
fn Heads(state: State, probed: ProbedHeads, chosen: RwSignal<Option<[usize; 2]>>, query: Query) -> impl IntoView {
    let layers: Vec<Vec<HeadProbe>> =
        probed.heads.chunk_by(|a, b| a.layer == b.layer).map(<[HeadProbe]>::to_vec).collect();
    let heads = layers.iter().map(Vec::len).max().unwrap_or(0);
    let best = probed.heads.iter().max_by(|a, b| query.on_needle(a).total_cmp(&query.on_needle(b))).cloned();
    let best = best.unwrap_or_default();
    let own = [best.layer, best.head];
    // The no-break space keeps the percent sign on the same line as the number.
    let percent = |share: f64| format!("{:.0}\u{a0}%", 100.0 * share);
    // Questions are drawn for each model's own tokenizer and context; the page has the text of the first column's alone.
    let has_text = state.asked.with_untracked(|asked| {
        asked.as_ref().is_some_and(|asked| {
            asked.haystack.len() == best.sentences.len() && asked.ends.last() == probed.ends.last()
        })
    });
    let word = || {
        let asked = state.asked.get_untracked().filter(|_| has_text)?;
        word(&asked.question, &probed.ends, best.token_from_end?)
    };
    let from = match query {
        Query::Most => word().map(|word| format!(", from “{word}”")).unwrap_or_default(),
        Query::Last => ", from the last token".to_owned(),
    };
    let caption = format!(
        "{} at {}×: layer {}, head {} gives the needle most, {} of its attention{from}; at the end of the question its entropy is \
         {:.1} of at most {:.1} nats.",
        reading_title(&probed.reading),
        probed.extension,
        best.layer,
        best.head,
        percent(query.on_needle(&best)),
        best.entropy,
        best.entropy_bound
    );
    let shown = move || chosen.get().unwrap_or(own);
    let head_cell = move |probe: &HeadProbe| {
        let place = [probe.layer, probe.head];
        let share = query.on_needle(probe);
        view! {
            <td style=format!("--share:{share:.3}")>
                <button type="button" aria-pressed=move || (shown() == place).to_string() on:click=move |_| chosen.set(Some(place))>
                    <span class="visually-hidden">{format!("layer {}, head {}: ", probe.layer, probe.head)}</span>
                    {percent(share)}
                </button>
            </td>
        }
    };
    let all = StoredValue::new(probed.heads.clone());
    let looks_at = move || {
        let probe = all.with_value(|heads| heads.iter().find(|probe| [probe.layer, probe.head] == shown()).cloned());
        probe
            .filter(|_| has_text)
            .map(|probe| view! { <Attention state reading=reading_title(&probed.reading) probe query /> })
    };
    view! {
        <p>{caption}</p>
        <div class="scroll">
            <table class="heads">
                <caption class="hint">{match query {
                    Query::Most => "Attention on the needle, of the token of the question that looks at it most",
                    Query::Last => "Attention on the needle, of the last token of the question",
                }}</caption>
                <thead><tr>
                    <td></td>
                    {(0..heads).map(|head| view! { <th scope="col">{format!("head {head}")}</th> }).collect_view()}
                </tr></thead>
                <tbody>
                    {(0..).zip(layers).map(|(number, heads): (usize, Vec<HeadProbe>)| view! {
                        <tr>
                            <th scope="row">{format!("layer {number}")}</th>
                            {heads.iter().map(head_cell).collect_view()}
                        </tr>
                    }).collect_view()}
                </tbody>
            </table>
        </div>
        {looks_at}
        <Entropy heads=probed.heads />
    }
}

/// The text, in which a sentence is darker if it gets more of a head's attention.
#[component]
fn Attention(state: State, reading: String, probe: HeadProbe, query: Query) -> impl IntoView {
    let most = query.sentences(&probe).iter().copied().fold(0.0, f64::max).max(1e-9);
    let caption = format!(
        "Where layer {}, head {} looks; the sentence that gets most has {:.0} % of its attention.",
        probe.layer,
        probe.head,
        100.0 * most
    );
    let text = move || {
        state.asked.with(|asked| {
            let sentences = asked.iter().flat_map(|asked| &asked.haystack);
            let spans = sentences.zip(query.sentences(&probe)).map(|((sentence, _), weight)| {
                let shade = format!("--share:{:.2}", weight / most);
                let class = if *weight >= most { "seen most" } else { "seen" };
                view! { <span class=class style=shade title=format!("{:.1} %", 100.0 * weight)>{sentence.clone()}" "</span> }
            });
            spans.collect_view()
        })
    };
    let shown = NodeRef::<leptos::html::Div>::new();
    // A long text is scrolled to the sentence that gets most attention.
    Effect::new(move |_| {
        let Some(window) = shown.get() else { return };
        let darkest = window.query_selector(".most").ok().flatten();
        if let Some(darkest) = darkest.and_then(|darkest| darkest.dyn_into::<web_sys::HtmlElement>().ok()) {
            window.set_scroll_top(darkest.offset_top() - window.client_height() / 2);
        }
    });
    view! {
        <p class="hint">{caption}</p>
        <div class="text" node_ref=shown tabindex="0" role="region" aria-label=format!("Attention of {reading} on the text")>{text}</div>
    }
}

#[cfg(test)]
mod tests {
    use super::word;

    #[test]
    fn tokens_of_the_question_are_counted_from_its_end() {
        let question = "the number for amber is:";
        // Tokens of the text before the question, and of the question, whose last byte is the 124th of the prompt.
        let ends = [40, 99, 103, 110, 114, 120, 123, 124];
        assert_eq!(
            [0, 1, 2].map(|from_end| word(question, &ends, from_end)),
            [":", "is", "amber"].map(|word| Some(word.into()))
        );
        assert_eq!(
            word(question, &ends, 5).as_deref(),
            Some("the"),
            "the space before the question is of its first token"
        );
        assert_eq!(word(question, &ends, 6), None, "that token is of the text");
        assert_eq!(word(question, &ends, 99), None);
    }
}
