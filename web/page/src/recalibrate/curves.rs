//! The curves of a recalibration: the loss, and exact answers by length.

use drope_protocol::{LENGTHS, RecalibrationScore, RecalibrationState};
use leptos::prelude::*;

use super::heatmap::{BeforeAndAfter, by_length};
use crate::parts::axes::{Axes, view_box};
use crate::parts::estimate::duration;
use crate::state::training::DropCost;

/// Size of a chart, in its own units.
const SIZE: [f64; 2] = [300.0, 120.0];
/// Points that a curve has at most.
const POINTS: usize = 150;

/// The loss, and exact answers by length.
#[component]
pub fn Curves(progress: RecalibrationState, cost: Option<DropCost>, seconds: f64) -> impl IntoView {
    let RecalibrationState { settings, step, losses, scores } = progress;
    let left = seconds * settings.steps.saturating_sub(step) as f64;
    // After a reload nobody knows yet how fast it is.
    let left = if left > 0.0 { format!("; {} left while it runs", duration(left)) } else { String::new() };
    let last = losses.last().map(|loss| format!(", loss {loss:.2}")).unwrap_or_default();
    let said = if step < settings.steps {
        format!("Update {step} of {}{last}{left}.", settings.steps)
    } else {
        format!("Done: {step} updates{last}.")
    };
    let (cells, scores) = (scores.clone(), by_length(&scores));
    let latest = latest_scores(&scores);
    let ends = ["update 0".to_owned(), settings.steps.to_string()];
    let top = losses.iter().copied().chain(cost.map(|cost| cost.after)).fold(1.0f32, f32::max);
    view! {
        <p id="recalibration">{said}</p>
        <progress max=settings.steps value=step aria-label="Updates"></progress>
        <div class="answers">
            <figure>
                <svg viewBox=view_box(SIZE) role="img" aria-label="Loss against updates">
                    {cost.map(|cost| view! { <polyline class="bound" points=level(cost.before, top) /> })}
                    <polyline class="strong" points=loss_line(&losses, settings.steps, top) />
                    <Axes size=SIZE heights=vec![(SIZE[1], "0".to_owned()), (0.0, format!("{top:.1}"))] ends=ends.clone() />
                </svg>
                <figcaption class="hint">
                    {loss_caption(window(losses.len()), top, cost.is_some())}
                </figcaption>
            </figure>
            <figure hidden=latest.is_empty()>
                <svg viewBox=view_box(SIZE) role="img" aria-label="Exact answers against updates, a line a length">
                    <Axes size=SIZE heights=vec![(SIZE[1], "0 %".to_owned()), (0.0, "100 %".to_owned())] ends />
                    {(0..).zip(LENGTHS).map(|(style, extension): (usize, usize)| view! {
                        <polyline class=format!("line style-{style}") points=score_line(&scores, extension, settings.steps) />
                        {score_points(&scores, extension, settings.steps).into_iter().map(|[x, y]| view! {
                            <circle class=format!("point style-{style}") cx=x cy=y r="3"><title>{format!("{extension}×")}</title></circle>
                        }).collect_view()}
                    }).collect_view()}
                </svg>
                <figcaption class="hint">
                    {format!("Exact answers of {} questions on one of four keys, a line and a point a length: {latest}.",
                        scores.first().map_or(0, |score| score.trials))}
                </figcaption>
            </figure>
        </div>
        <BeforeAndAfter cells />
    }
}

/// `1× 95 %, 2× 90 %`, of the last time.
fn latest_scores(scores: &[RecalibrationScore]) -> String {
    let step = scores.last().map(|score| score.step);
    let latest = scores.iter().filter(|score| Some(score.step) == step);
    let said = latest.map(|score| format!("{}× {:.0} %", score.extension, 100.0 * share(score)));
    said.collect::<Vec<_>>().join(", ")
}

fn share(score: &RecalibrationScore) -> f64 {
    score.correct as f64 / score.trials.max(1) as f64
}

/// Updates that a point of the curve is a mean of.
fn window(losses: usize) -> usize {
    losses.div_ceil(POINTS).max(1)
}

fn loss_line(losses: &[f32], steps: usize, top: f32) -> String {
    let window = window(losses.len());
    let means = losses.chunks(window).map(|part| part.iter().sum::<f32>() / part.len() as f32);
    let point = |(part, loss): (usize, f32)| {
        let x = SIZE[0] * ((part + 1) * window).min(losses.len()) as f64 / steps as f64;
        format!("{x:.1},{:.1} ", SIZE[1] * (1.0 - f64::from(loss / top)))
    };
    means.enumerate().map(point).collect()
}

fn level(loss: f32, top: f32) -> String {
    let y = SIZE[1] * (1.0 - f64::from(loss / top));
    format!("0,{y:.1} {},{y:.1}", SIZE[0])
}

fn score_line(scores: &[RecalibrationScore], extension: usize, steps: usize) -> String {
    score_points(scores, extension, steps).into_iter().map(|[x, y]| format!("{x:.1},{y:.1} ")).collect()
}

fn score_points(scores: &[RecalibrationScore], extension: usize, steps: usize) -> Vec<[f64; 2]> {
    let points = scores.iter().filter(|score| score.extension == extension);
    points.map(|score| [SIZE[0] * score.step as f64 / steps as f64, SIZE[1] * (1.0 - share(score))]).collect()
}

/// What a point of the loss curve is.
fn loss_caption(window: usize, top: f32, has_cost: bool) -> String {
    let mean = if window == 1 {
        "Loss of every update".to_owned()
    } else {
        format!("Mean loss of {window} updates at a time")
    };
    let dashed = if has_cost { "; dashed: with positions" } else { "" };
    format!("{mean}, 0 to {top:.1} nats{dashed}.")
}

#[cfg(test)]
mod tests {
    use drope_protocol::RecalibrationScore;

    use super::{latest_scores, loss_line, score_line};

    #[test]
    fn curves_end_where_the_run_is() {
        assert_eq!(loss_line(&[2.0, 1.0], 4, 2.0), "75.0,0.0 150.0,60.0 ");
        let scores = [(250, 1, 10), (250, 2, 5), (500, 1, 20), (500, 2, 15)]
            .map(|(step, extension, correct)| RecalibrationScore { step, extension, depth: None, correct, trials: 20 });
        assert_eq!(score_line(&scores, 2, 1000), "75.0,90.0 150.0,30.0 ");
        assert_eq!(latest_scores(&scores), "1× 100 %, 2× 75 %");
    }
}
