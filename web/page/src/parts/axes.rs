//! Numbers at the edges of the small charts.

use leptos::prelude::*;

/// Room for numbers at the left of a drawing and below it, in its units.
pub const LEFT: f64 = 34.0;
pub const BELOW: f64 = 16.0;

/// The part of the drawing that is seen, around a plot of this size.
pub fn view_box([width, height]: [f64; 2]) -> String {
    format!("{} -8 {} {}", -LEFT, width + LEFT + 6.0, height + BELOW + 8.0)
}

/// Points of a line from edge to edge, whose values go from 0 at the lower edge to `top`.
pub fn line(values: impl ExactSizeIterator<Item = f64>, [width, height]: [f64; 2], top: f64) -> String {
    let step = width / values.len().saturating_sub(1).max(1) as f64;
    let points = (0..).map(f64::from).zip(values);
    points.map(|(part, value)| format!("{:.1},{:.1} ", part * step, height * (1.0 - value / top))).collect()
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

#[cfg(test)]
mod tests {
    use super::line;

    #[test]
    fn lines_go_from_edge_to_edge() {
        assert_eq!(line([2.0, 0.0, 1.0].into_iter(), [300.0, 120.0], 2.0), "0.0,0.0 150.0,120.0 300.0,60.0 ");
    }
}
