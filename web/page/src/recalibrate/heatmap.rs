//! Where needles are found before a recalibration and after it, by depth and length.

use drope_protocol::{DEPTHS, LENGTHS, RecalibrationScore};
use leptos::prelude::*;

/// The scores of a length over all depths, each time that was asked, in the same order.
pub fn by_length(cells: &[RecalibrationScore]) -> Vec<RecalibrationScore> {
    let mut sums: Vec<RecalibrationScore> = Vec::new();
    for cell in cells {
        match sums.last_mut().filter(|sum| (sum.step, sum.extension) == (cell.step, cell.extension)) {
            Some(sum) => {
                sum.correct += cell.correct;
                sum.trials += cell.trials;
            }
            None => sums.push(*cell),
        }
    }
    sums
}

/// Two tables, which fill while the model is asked.
#[component]
pub fn BeforeAndAfter(mut cells: Vec<RecalibrationScore>) -> impl IntoView {
    cells.retain(|cell| cell.depth.is_some());
    let [first, last] = [cells.first(), cells.last()].map(|cell| cell.map(|cell| cell.step));
    let is_empty = cells.is_empty();
    let trials = cells.first().map_or(0, |cell| cell.trials);
    let of_after = match last.filter(|_| last != first) {
        Some(step) => format!("After update {step}"),
        None => "After: not asked yet".to_owned(),
    };
    let (before, later): (Vec<_>, Vec<_>) = cells.into_iter().partition(|cell| Some(cell.step) == first);
    let after = later.into_iter().filter(|cell| Some(cell.step) == last).collect();
    view! {
        <div class="answers" id="before-after" hidden=is_empty>
            <Depths title="Before, positions just dropped".to_owned() cells=before />
            <Depths title=of_after cells=after />
        </div>
        <p class="hint" hidden=is_empty>
            {format!("Percent of {trials} questions a cell, one of four keys: where in the text the number stands, against how long the text is.")}
        </p>
    }
}

#[component]
fn Depths(title: String, cells: Vec<RecalibrationScore>) -> impl IntoView {
    let share = |extension, depth| {
        let cell = cells.iter().find(|cell| (cell.extension, cell.depth) == (extension, Some(depth)))?;
        Some(cell.correct as f64 / cell.trials.max(1) as f64)
    };
    let cell = |extension, depth| {
        let share = share(extension, depth);
        let text = share.map_or_else(|| "–".to_owned(), |share| format!("{:.0}", 100.0 * share));
        view! { <td style=format!("--share:{:.2}", share.unwrap_or(0.0))>{text}</td> }
    };
    view! {
        <table class="depths plain">
            <caption>{title}</caption>
            <thead><tr>
                <th scope="col">"Depth"</th>
                {LENGTHS.map(|extension| view! { <th scope="col">{format!("{extension}×")}</th> }).collect_view()}
            </tr></thead>
            <tbody>
                {DEPTHS.map(|depth| view! {
                    <tr>
                        <th scope="row">{format!("{depth} %")}</th>
                        {LENGTHS.map(|extension| cell(extension, depth)).collect_view()}
                    </tr>
                }).collect_view()}
            </tbody>
        </table>
    }
}

#[cfg(test)]
mod tests {
    use drope_protocol::RecalibrationScore;

    use super::by_length;

    #[test]
    fn scores_that_an_earlier_build_kept_have_no_depth() {
        let kept = r#"{"step":60,"extension":2,"correct":9,"trials":20}"#;
        let score: RecalibrationScore = serde_json::from_str(kept).unwrap();
        assert_eq!(score.depth, None);
        assert_eq!(by_length(&[score])[0].correct, 9);
    }

    #[test]
    fn depths_of_a_length_are_added_each_time_anew() {
        let cell = |step, extension, depth, correct| RecalibrationScore {
            step,
            extension,
            depth: Some(depth),
            correct,
            trials: 4,
        };
        let sums = by_length(&[cell(0, 1, 0, 4), cell(0, 1, 25, 3), cell(0, 2, 0, 1), cell(60, 1, 0, 2)]);
        let sums: Vec<_> = sums.iter().map(|sum| (sum.step, sum.extension, sum.correct, sum.trials)).collect();
        assert_eq!(sums, [(0, 1, 7, 8), (0, 2, 1, 4), (60, 1, 2, 4)]);
    }
}
