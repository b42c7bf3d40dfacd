//! Numbers at the edges of the small charts.

use leptos::prelude::*;

/// Room for numbers at the left of a drawing and below it, in its units.
pub const LEFT: f64 = 34.0;
pub const BELOW: f64 = 16.0;

/// The part of the drawing that is seen, around a plot of this size.
pub fn view_box([width, height]: [f64; 2]) -> String {
    format!("{} -8 {} {}", -LEFT, width + LEFT + 6.0, height + BELOW + 8.0)
}

/// Numbers beside the left edge, each at its height, and below the two ends of the lower edge.
#[component]
pub fn Axes(size: [f64; 2], heights: Vec<(f64, String)>, ends: [String; 2]) -> impl IntoView {
    let [width, height] = size;
    let [start, end] = ends;
    view! {
        {heights.into_iter().map(|(y, text)| view! {
            <text class="tick" x="-4" y={y + 3.0} text-anchor="end">{text}</text>
        }).collect_view()}
        <text class="tick" x="0" y={height + 12.0}>{start}</text>
        <text class="tick" x=width y={height + 12.0} text-anchor="end">{end}</text>
    }
}
