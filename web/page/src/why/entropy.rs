//! How attention spreads along a text.

use drope_core::probe::HeadProbe;
use leptos::prelude::*;

use crate::parts::axes::{Axes, line, view_box};

/// Size of the chart, in its own units.
const SIZE: [f64; 2] = [300.0, 120.0];

/// Mean entropy of each head along the text, below its bound.
#[component]
pub fn Entropy(heads: Vec<HeadProbe>) -> impl IntoView {
    let top = heads.iter().flat_map(|head| &head.entropy_bounds).fold(1.0f64, |top, &bound| top.max(bound));
    let line = move |nats: &[f64]| line(nats.iter().copied(), SIZE, top);
    // Heads with a sliding window have a lower bound of their own.
    let widest = heads.iter().max_by(|a, b| a.entropy_bound.total_cmp(&b.entropy_bound));
    let bound = widest.map(|head| line(&head.entropy_bounds)).unwrap_or_default();
    let lines: Vec<String> = heads.into_iter().map(|head| line(&head.entropies)).collect();
    view! {
        <figure>
            <svg viewBox=view_box(SIZE) role="img"
                aria-label=format!("Entropy of each head from the start to the end of the text; the bound ends at {top:.1} nats")>
                <polyline class="bound" points=bound />
                {lines.into_iter().map(|points| view! { <polyline points=points /> }).collect_view()}
                <Axes size=SIZE heights=vec![(SIZE[1], "0".to_owned()), (0.0, format!("{top:.1}"))]
                    ends=["start".to_owned(), "end of the text".to_owned()] />
            </svg>
            <figcaption class="hint">
                {format!("Entropy in nats of every head from the start of the text to its end; dashed, the bound ln i, {top:.1} at the end.")}
            </figcaption>
        </figure>
    }
}
