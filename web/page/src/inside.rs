//! What attention does with the question: how much of it each head gives the needle, and how it spreads along the text.

use drope_core::probe::HeadProbe;
use leptos::prelude::*;
use wasm_bindgen::JsCast;

use super::column::ProbedHeads;
use super::heatmap_text::title;
use super::runs::{probe, stop};
use super::state::{Running, State};

/// Size of a chart, in its own units.
const SIZE: [f64; 2] = [300.0, 120.0];

/// The heads of all columns' models, side by side.
#[component]
pub fn Inside(state: State) -> impl IntoView {
    // Layer and head whose attention is shown in every column; none: each column's own that gives the needle most.
    let chosen = RwSignal::new(None::<[usize; 2]>);
    let is_running = move || state.running.get() == Some(Running::Probe);
    let press = move |_| if is_running() { stop(state) } else { probe(state) };
    view! {
        <section class="inside" aria-label="Inside">
            <h2>"Inside the models"</h2>
            <p class="hint">
                "A model that finds the needle has a head that looks at it while reading the question. In other heads attention \
                 spreads thinner the longer the text: their entropy grows towards the bound, where every token gets the same. Press a \
                 head to see where it looks, in every column."
            </p>
            <button id="probe" type="button" on:click=press>{move || if is_running() { "Stop" } else { "Look at the heads" }}</button>
            <div class="answers">
                <For each=move || state.columns.get() key=|column| column.key let:column>
                    <div>{move || column.probe.get().map(|probed| view! { <Heads state probed chosen /> })}</div>
                </For>
            </div>
        </section>
    }
}

/// A model's heads as a table, where one of them looks, and their entropy along the text.
#[component]
fn Heads(state: State, probed: ProbedHeads, chosen: RwSignal<Option<[usize; 2]>>) -> impl IntoView {
    let layers: Vec<Vec<HeadProbe>> =
        probed.heads.chunk_by(|a, b| a.layer == b.layer).map(<[HeadProbe]>::to_vec).collect();
    let heads = layers.iter().map(Vec::len).max().unwrap_or(0);
    let best = probed.heads.iter().max_by(|a, b| a.needle_of_question.total_cmp(&b.needle_of_question)).cloned();
    let best = best.unwrap_or_default();
    let own = [best.layer, best.head];
    // The no-break space keeps the percent sign on the same line as the number.
    let percent = |share: f64| format!("{:.0}\u{a0}%", 100.0 * share);
    let caption = format!(
        "{} at {}×: layer {}, head {} gives the needle most, {} of its attention; at the end of the question its entropy is \
         {:.1} of at most {:.1} nats.",
        title(&probed.reading),
        probed.extension,
        best.layer,
        best.head,
        percent(best.needle_of_question),
        best.entropy,
        best.entropy_bound
    );
    let shown = move || chosen.get().unwrap_or(own);
    let head_cell = move |probe: &HeadProbe| {
        let place = [probe.layer, probe.head];
        let share = probe.needle_of_question;
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
        probe.map(|probe| view! { <Attention state reading=title(&probed.reading) probe /> })
    };
    view! {
        <p>{caption}</p>
        <div class="scroll">
            <table class="heads">
                <caption class="hint">"Attention on the needle, of the token of the question that looks at it most"</caption>
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
fn Attention(state: State, reading: String, probe: HeadProbe) -> impl IntoView {
    let most = probe.sentences.iter().copied().fold(0.0, f64::max).max(1e-9);
    let caption = format!(
        "Where layer {}, head {} looks; the sentence that gets most has {:.0} % of its attention.",
        probe.layer,
        probe.head,
        100.0 * most
    );
    let text = move || {
        state.asked.with(|asked| {
            let sentences = asked.iter().flat_map(|asked| &asked.haystack);
            let spans = sentences.zip(&probe.sentences).map(|((sentence, _), weight)| {
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

/// Mean entropy of each head along the text, below its bound.
#[component]
fn Entropy(heads: Vec<HeadProbe>) -> impl IntoView {
    let top = heads.iter().flat_map(|head| &head.entropy_bounds).fold(1.0f64, |top, &bound| top.max(bound));
    let line = move |nats: &[f64]| -> String {
        let step = SIZE[0] / nats.len().saturating_sub(1).max(1) as f64;
        let points = (0..).map(f64::from).zip(nats);
        points.map(|(part, nats)| format!("{:.1},{:.1} ", part * step, SIZE[1] * (1.0 - nats / top))).collect()
    };
    // Heads with a sliding window have a lower bound of their own.
    let widest = heads.iter().max_by(|a, b| a.entropy_bound.total_cmp(&b.entropy_bound));
    let bound = widest.map(|head| line(&head.entropy_bounds)).unwrap_or_default();
    let lines = heads.iter().map(|head| line(&head.entropies)).collect::<Vec<_>>();
    view! {
        <figure>
            <svg viewBox=format!("0 -4 {} {}", SIZE[0], SIZE[1] + 8.0) role="img"
                aria-label=format!("Entropy of each head from the start to the end of the text; the bound ends at {top:.1} nats")>
                <polyline class="bound" points=bound />
                {lines.into_iter().map(|points| view! { <polyline points=points /> }).collect_view()}
            </svg>
            <figcaption class="hint">
                {format!("Entropy of every head from the start of the text to its end; dashed, the bound ln i, {top:.1} nats at the end.")}
            </figcaption>
        </figure>
    }
}
