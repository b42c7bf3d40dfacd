//! Accuracy against length in the study: a line a method, with a band from the lowest to the highest trunk.

use std::collections::{BTreeMap, BTreeSet};

use drope_core::results::{MethodLine, StudyFigure};
use leptos::prelude::*;

use crate::parts::percent::percent;

/// Size of the plot and its margins, in units of the drawing.
const PLOT: [f64; 2] = [620.0, 200.0];
const LEFT: f64 = 44.0;
const TOP: f64 = 10.0;
const BOTTOM: f64 = 40.0;

/// The chart, and a list with the same numbers.
#[component]
pub fn Chart(figure: StoredValue<StudyFigure>) -> impl IntoView {
    let StudyFigure { task, floor, lengths, trunks: [_, planned], methods, .. } = figure.get_value();
    let longest = lengths.iter().copied().max().unwrap_or(1);
    let floor_text = format!("Dotted: {}, the score of random guesses among the text's numbers. ", percent(floor));
    let points = methods.iter().flat_map(|line| &line.points);
    let asked = asked(points.map(|point| (point.trunks, point.questions, point.extension)), planned);
    view! {
        <figure class="chart">
            <svg viewBox=format!("0 0 {} {}", LEFT + PLOT[0] + 16.0, TOP + PLOT[1] + BOTTOM) role="img"
                aria-label="Exact answers against the length of the text, a line a method; the list below has the numbers">
                {[0.0, 0.25, 0.5, 0.75, 1.0].map(|share| view! {
                    <line class="rule" x1=LEFT x2={LEFT + PLOT[0]} y1=y(share) y2=y(share) />
                    <text class="tick" x={LEFT - 6.0} y={y(share) + 4.0} text-anchor="end">{format!("{:.0} %", 100.0 * share)}</text>
                }).collect_view()}
                <line class="floor" x1=LEFT x2={LEFT + PLOT[0]} y1=y(floor) y2=y(floor) />
                {lengths.into_iter().map(|extension| view! {
                    <text class="tick" x=x(extension, longest) y={TOP + PLOT[1] + 18.0} text-anchor="middle">{format!("{extension}×")}</text>
                }).collect_view()}
                <text class="tick" x={LEFT + PLOT[0] / 2.0} y={TOP + PLOT[1] + 35.0} text-anchor="middle">
                    "length of the text, in training contexts"
                </text>
                {methods.iter().map(|line| view! { <Line line=line.clone() longest /> }).collect_view()}
            </svg>
            <figcaption>
                <ul class="legend">
                    {methods.iter().map(|line| view! {
                        <li>
                            <svg viewBox="0 0 28 10" width="28" height="10" aria-hidden="true">
                                <polyline class=format!("line style-{}", line.style) points="1,5 27,5" />
                            </svg>
                            {line.name.clone()}
                            <span class="visually-hidden">{format!(": {}", numbers(line))}</span>
                        </li>
                    }).collect_view()}
                </ul>
                <p class="hint">
                    {format!(
                        "Percent of questions answered exactly: {task}. Means over training seeds, with bands from the lowest to the \
                         highest: {asked}. "
                    )}
                    {floor_text}
                    "With copies: in training each sentence of filler counted as several, as in a longer text. At its best: with the scaling of its \
                     frequencies that was best on other questions."
                </p>
            </figcaption>
        </figure>
    }
}

/// `5 of 5 seeds with 300 questions each at 1×, 8×; 1 of 5 seeds with 100 questions each at 16×, 64×`, from the seeds, the questions
/// and the length of each point; of lines that differ at a length the one with fewer counts.
fn asked(points: impl Iterator<Item = (usize, usize, usize)>, planned: usize) -> String {
    let mut fewest: BTreeMap<usize, (usize, usize)> = BTreeMap::new();
    for (seeds, questions, extension) in points {
        let least = fewest.entry(extension).or_insert((seeds, questions));
        *least = (*least).min((seeds, questions));
    }
    let mut lengths: BTreeMap<(usize, usize), BTreeSet<usize>> = BTreeMap::new();
    for (extension, least) in fewest {
        lengths.entry(least).or_default().insert(extension);
    }
    let part = |(&(seeds, questions), lengths): (&(usize, usize), &BTreeSet<usize>)| {
        let at: Vec<String> = lengths.iter().map(|extension| format!("{extension}×")).collect();
        format!("{seeds} of {planned} seeds with {questions} questions each at {}", at.join(", "))
    };
    lengths.iter().rev().map(part).collect::<Vec<_>>().join("; ")
}

/// `92 % at 1×, 90 % at 2×`
fn numbers(line: &MethodLine) -> String {
    let point = |at: &drope_core::results::LinePoint| format!("{} at {}×", percent(at.mean), at.extension);
    line.points.iter().map(point).collect::<Vec<_>>().join(", ")
}

/// A method's band, line and points.
#[component]
fn Line(line: MethodLine, longest: usize) -> impl IntoView {
    let MethodLine { name, style, points, .. } = line;
    let at = |extension: usize, share: f64| format!("{:.1},{:.1} ", x(extension, longest), y(share));
    let mean: String = points.iter().map(|point| at(point.extension, point.mean)).collect();
    let low = points.iter().map(|point| at(point.extension, point.low));
    let high = points.iter().rev().map(|point| at(point.extension, point.high));
    let band: String = low.chain(high).collect();
    view! {
        <polygon class=format!("band style-{style}") points=band />
        <polyline class=format!("line style-{style}") points=mean />
        {points.into_iter().map(|point| view! {
            <circle class=format!("point style-{style}") cx=x(point.extension, longest) cy=y(point.mean) r="3.5">
                <title>{format!(
                    "{name} at {}×: {}, from {} to {} over {} seeds",
                    point.extension, percent(point.mean), percent(point.low), percent(point.high), point.trunks
                )}</title>
            </circle>
        }).collect_view()}
    }
}

/// Doubling the length is one step.
fn x(extension: usize, longest: usize) -> f64 {
    LEFT + 12.0 + (PLOT[0] - 24.0) * (extension as f64).log2() / (longest as f64).log2().max(1.0)
}

fn y(share: f64) -> f64 {
    TOP + PLOT[1] * (1.0 - share)
}

#[cfg(test)]
mod tests {
    use super::asked;

    #[test]
    fn seeds_and_questions_are_said_of_the_lengths_that_they_are_of() {
        let points = [(5, 300, 1), (5, 300, 8), (1, 100, 16), (1, 100, 64)];
        assert_eq!(
            asked(points.into_iter(), 5),
            "5 of 5 seeds with 300 questions each at 1×, 8×; 1 of 5 seeds with 100 questions each at 16×, 64×"
        );
        assert_eq!(asked([(5, 300, 1)].into_iter(), 5), "5 of 5 seeds with 300 questions each at 1×");
    }
}
