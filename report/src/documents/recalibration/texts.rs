//! Losses along texts of 16,384 tokens, and which model reads beyond the context: docs/protocol-real.md, measure 2.

use drope_core::perplexity::PerplexityCell;
use drope_core::positions::Method;

use super::arms::{Dropped, RANGES, RUNS, Run, UNTRAINED, differences, far, losses, mean, signed, title};
use crate::markdown::{DASH, line, list, or_dash, section, table};

fn reading(cell: &PerplexityCell) -> String {
    title(&cell.model, cell.method)
}

/// A control under the scaling with the lowest loss in the last range.
fn best_scaling<'a>(cells: &'a [PerplexityCell], control: &str) -> Option<&'a PerplexityCell> {
    let scalings = cells.iter().filter(|cell| cell.model == control && cell.method != Method::Rope);
    scalings.min_by(|a, b| mean(&far(a)).0.total_cmp(&mean(&far(b)).0))
}

/// The controls, each once.
fn controls() -> Vec<&'static str> {
    let mut controls: Vec<&str> = RUNS.iter().map(|run| run.control).collect();
    controls.dedup();
    controls
}

/// What a model that lost positions is compared with.
fn rival_of<'a>(cell: &PerplexityCell, cells: &'a [PerplexityCell]) -> Option<&'a PerplexityCell> {
    let run = Run::of(&cell.model).filter(|run| run.dropped != Dropped::None)?;
    best_scaling(cells, run.control)
}

/// How far the losses of the last range lie above a rival's, paired by text, and what that means.
fn beyond(cell: &PerplexityCell, rival: &PerplexityCell) -> ((f64, f64), &'static str) {
    let (mean, half) = mean(&differences(&far(cell), &far(rival)));
    let verdict = if mean + half < 0.0 {
        "reads beyond"
    } else if mean - half > 0.0 {
        "worse"
    } else {
        "undecided"
    };
    ((mean, half), verdict)
}

/// Models without positions that read less far than a scaling which needs no training, a sentence for each control; none where there is none.
pub fn worse_than_scalings(cells: &[PerplexityCell]) -> Vec<String> {
    let of_control = |control: &str| {
        let rival = best_scaling(cells, control)?;
        let is_worse = |cell: &&PerplexityCell| {
            let run = Run::of(&cell.model).filter(|run| run.control == control && run.dropped != Dropped::None);
            run.is_some() && beyond(cell, rival).1 == "worse"
        };
        let worse: Vec<String> = cells.iter().filter(is_worse).map(reading).collect();
        if worse.is_empty() {
            return None;
        }
        let untrained = cells.iter().find(|cell| cell.model == UNTRAINED && cell.method == rival.method);
        let untrained = untrained.map_or(String::new(), |cell| format!("; original {:.3}", mean(&far(cell)).0));
        Some(format!(
            "On tokens 8,193 to 16,384 the loss of {} lies above that of RoPE read with a scaling ({}: {:.3}{untrained}).",
            list(&worse),
            reading(rival),
            mean(&far(rival)).0,
        ))
    };
    controls().into_iter().filter_map(of_control).collect()
}

/// Models that dropped positions and read worse than the untrained one within its own context, in the last range of that; `None` where there is
/// none.
pub fn worse_than_untrained(cells: &[PerplexityCell]) -> Option<String> {
    let range = RANGES.len() - 2;
    let untrained = cells.iter().find(|cell| cell.model == UNTRAINED && cell.method == Method::Rope)?;
    let is_worse = |cell: &&PerplexityCell| {
        let (mean, half) = mean(&differences(&losses(cell, range), &losses(untrained, range)));
        Run::of(&cell.model).is_some_and(|run| run.dropped != Dropped::None) && mean - half > 0.0
    };
    let with_loss = |cell: &PerplexityCell| format!("{} ({:.3})", reading(cell), mean(&losses(cell, range)).0);
    let worse: Vec<String> = cells.iter().filter(is_worse).map(with_loss).collect();
    (!worse.is_empty()).then(|| {
        format!(
            "On tokens {}, which the model could read before, the loss of {} lies above that of the original model ({:.3}).",
            RANGES[range].1.replace('–', " to "),
            list(&worse),
            mean(&losses(untrained, range)).0
        )
    })
}

/// The section; empty where nothing is measured.
pub fn along_the_text(cells: &[PerplexityCell]) -> String {
    if cells.is_empty() {
        return String::new();
    }
    let row = |cell: &PerplexityCell| {
        let losses = (0..RANGES.len()).map(|range| format!("{:.3}", mean(&losses(cell, range)).0));
        let apart = rival_of(cell, cells).map(|rival| {
            let (apart, verdict) = beyond(cell, rival);
            format!("{}: {verdict}", signed(apart))
        });
        line(reading(cell), losses.chain([or_dash(apart)]))
    };
    let mut sorted: Vec<&PerplexityCell> = cells.iter().collect();
    let place = |cell: &PerplexityCell| RUNS.iter().position(|run| run.folder == cell.model).unwrap_or(RUNS.len());
    sorted.sort_by_key(|cell| (place(cell), cell.method.name()));
    let header = line("reading", RANGES.iter().map(|(_, title)| (*title).to_owned()));
    let header = header.into_iter().chain(["last range, against the best scaling".to_owned()]);
    let texts = cells.iter().map(|cell| cell.texts.len()).max().unwrap_or(0);
    let rivals: Vec<String> =
        controls().into_iter().filter_map(|control| best_scaling(cells, control)).map(reading).collect();
    let rivals = if rivals.is_empty() { DASH.to_owned() } else { list(&rivals) };
    section(
        "Loss along texts of 16,384 tokens",
        &format!(
            "{texts} stretches of held-out documents; mean loss in nats of the tokens in each range of places. The model was made for 8,192 tokens; \
             scalings read with s = 2. The best scaling measured beyond it: {rivals}; differences are paired by stretch.\n\n{}",
            table(header, sorted.into_iter().map(row))
        ),
    )
}
