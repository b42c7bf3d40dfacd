//! Answers at 4× where one head attends as it does in a short text.

use std::collections::BTreeMap;

use drope_core::niah::Filler;
use drope_core::probe::PatchCell;

use super::super::models::{MECHANISM_MODELS, ModelName, TRUNKS, plain, title_with_budget};
use crate::markdown::{joined, line, or_dash, table};
use crate::study::OverTrunks;

/// The length of the long texts.
const EXTENSION: usize = 4;

/// What patching does to a model of one trunk, in one filler.
struct OfTrunk {
    short: f64,
    long: f64,
    /// Layer and head that help most on one half of the questions, and what is right on the other half with it and without.
    best: [usize; 2],
    patched: f64,
    unpatched: f64,
}

/// The part; `None` before heads are patched.
pub fn text(cells: &[PatchCell]) -> Option<String> {
    let row = |((run, budget), filler): ((&str, &str), Option<Filler>)| {
        let trunks = of_trunks(cells, (run, budget), filler);
        let mean = |number| or_dash(mean(&trunks, number).map(|percent| format!("{percent:.0}")));
        let mut layers: BTreeMap<usize, usize> = BTreeMap::new();
        trunks.iter().for_each(|trunk| *layers.entry(trunk.best[0]).or_default() += 1);
        let layers = joined(layers.iter().map(|(layer, count)| format!("{layer} ({count})")), ", ");
        let haystack = if filler.is_some() { "decoys" } else { "prose" };
        let numbers = [
            mean(|trunk| trunk.short),
            mean(|trunk| trunk.long),
            mean(|trunk| trunk.unpatched),
            mean(|trunk| trunk.patched),
        ];
        (!trunks.is_empty()).then(|| {
            let numbers = [haystack.to_owned()].into_iter().chain(numbers).chain([layers, trunks.len().to_string()]);
            line(title_with_budget(run, budget), numbers)
        })
    };
    let pairs = MECHANISM_MODELS.iter().flat_map(|model| [(*model, None), (*model, Some(Filler::Decoys))]);
    let rows: Vec<Vec<String>> = pairs.filter_map(row).collect();
    let header = [
        "model",
        "haystack",
        "1×",
        "4×",
        "4×, other half",
        "with the head, other half",
        "its layer (trunks)",
        "trunks",
    ];
    (!rows.is_empty()).then(|| {
        format!(
            "Each head in turn attends, at all tokens of a text of C that has the question's needles, as it does in that text, while the \
             long text is read (`core patch`, read plainly). The head that brings most answers back is chosen on every second question and judged on the \
             others. Exact answers in percent; layers count from 0.\n\n{}",
            table(header, rows)
        )
    })
}

/// Percent of right answers of the questions that did not choose the head, without it and with it, over trunks.
pub fn on_the_other_half(cells: &[PatchCell], model: (&str, &str), filler: Option<Filler>) -> Option<[f64; 2]> {
    let trunks = of_trunks(cells, model, filler);
    Some([mean(&trunks, |trunk| trunk.unpatched)?, mean(&trunks, |trunk| trunk.patched)?])
}

fn of_trunks(cells: &[PatchCell], (run, budget): (&str, &str), filler: Option<Filler>) -> Vec<OfTrunk> {
    TRUNKS.filter_map(|trunk| of_trunk(cells, ModelName { run, budget, trunk }, filler)).collect()
}

/// In percent.
fn mean(trunks: &[OfTrunk], number: fn(&OfTrunk) -> f64) -> Option<f64> {
    Some(100.0 * OverTrunks::of(&trunks.iter().map(number).collect::<Vec<f64>>())?.mean)
}

fn of_trunk(cells: &[PatchCell], name: ModelName, filler: Option<Filler>) -> Option<OfTrunk> {
    let is_of = |cell: &&PatchCell| {
        let is_of_reading = (cell.extension, cell.method) == (EXTENSION, plain(name.run).method);
        ModelName::of(&cell.model) == Some(name) && cell.questions.filler == filler && is_of_reading
    };
    let cells: Vec<&PatchCell> = cells.iter().filter(is_of).collect();
    let unpatched = cells.iter().find(|cell| cell.patched.is_none())?;
    // Of the questions that choose, and of those that judge.
    let share = |cell: &PatchCell, half: usize| {
        let of_half: Vec<bool> = cell.outcomes.iter().skip(half).step_by(2).collect();
        of_half.iter().filter(|is_right| **is_right).count() as f64 / of_half.len() as f64
    };
    let heads = cells.iter().filter_map(|cell| Some((cell.patched?, cell)));
    let (best, cell) = heads.max_by(|(a, one), (b, other)| share(one, 0).total_cmp(&share(other, 0)).then(b.cmp(a)))?;
    let of_all = |correct: usize| correct as f64 / unpatched.questions.trials as f64;
    Some(OfTrunk {
        short: of_all(unpatched.correct_in_short),
        long: of_all(unpatched.correct),
        best,
        patched: share(cell, 1),
        unpatched: share(unpatched, 1),
    })
}

#[cfg(test)]
mod tests {
    use drope_core::probe::PatchCell;
    use serde_json::json;

    use super::text;

    #[test]
    fn the_head_is_chosen_on_one_half_and_judged_on_the_other() {
        let cell = |patched: Option<[usize; 2]>, outcomes: &str, correct: usize| -> PatchCell {
            let cell = json!({
                "model": "all-8m-7", "method": "drope", "extension": 4, "beta": 1.0, "trials": 8, "seed": 33_000, "patched": patched,
                "correct": correct, "correct_in_short": 8, "outcomes": outcomes,
            });
            serde_json::from_value(cell).unwrap()
        };
        // Bits of questions 0 to 7: those with even numbers choose.
        let cells = [
            cell(None, "8:00", 0),
            cell(Some([1, 0]), "8:55", 4),
            cell(Some([2, 3]), "8:ab", 5),
            cell(Some([2, 1]), "8:80", 1),
        ];
        let text = text(&cells).unwrap();
        assert!(text.contains("| DroPE after 8 M tokens | prose | 100 | 0 | 0 | 25 | 2 (1) | 1 |"), "{text}");
        assert!(super::text(&[]).is_none());
    }
}
