//! The committed results that the grid shows, and what is said of them.

use drope_core::results::{ResultCell, RetrievalCell, current};
use drope_protocol::QuestionKind;

use crate::parts::percent::percent;
use crate::state::EXTENSIONS;
use crate::state::running::CellKey;

/// Written by `core eval niah`; inside the page's wasm, so that the grid is there before any weights.
const FILES: [&str; 2] =
    [include_str!("../../../../docs/results/niah.json"), include_str!("../../../../docs/results/niah-16x.json")];

/// Questions at fixed depths.
const DEPTHS: &str = include_str!("../../../../docs/results/depths.json");

/// Results of DroPE as in the paper. Its model, which was not kept, came from the same model as the others here.
const ABLATION: &str = include_str!("../../../../docs/results/ablation.json");

/// Where the comparison is uneven; a test compares the numbers with the models' `loss.jsonl`.
pub const UNEVEN: &str = "This table is not a fair comparison, unlike the figure above, whose five models can be chosen under Model: DroPE's model was trained on 31.3 million tokens \
     and RoPE's, which the scalings read, on 16.1 million; only DroPE's models have copies and SSMax (logits that grow with the \
     length); and there is one training seed of each.";

/// If the best accuracy at a length is below this, no method is named as the best.
const MEANINGFUL: f64 = 0.05;

/// Cells of the page's models on the standard questions, one for each place of the grid.
pub fn committed() -> Vec<RetrievalCell> {
    shown(FILES.into_iter().flat_map(cells))
}

fn cells(file: &str) -> Vec<RetrievalCell> {
    serde_json::from_str(file).unwrap_or_default()
}

fn shown(cells: impl IntoIterator<Item = RetrievalCell>) -> Vec<RetrievalCell> {
    let is_shown = |cell: &RetrievalCell| cell.is_standard() && cell.method.info().nano_model == cell.model;
    // A test makes sure that the files hold one state of each model.
    current(cells.into_iter().filter(is_shown), |_| None)
}

/// Cells of the heatmap: the standard questions at fixed depths.
pub fn committed_at_depths() -> Vec<RetrievalCell> {
    let is_shown =
        |cell: &RetrievalCell| RetrievalCell { depth: None, ..cell.clone() }.is_standard() && cell.depth.is_some();
    cells(DEPTHS).into_iter().filter(is_shown).collect()
}

/// The result in a place of the tables.
pub fn find<'a>(results: &'a [RetrievalCell], key: &CellKey) -> Option<&'a RetrievalCell> {
    results.iter().find(|cell| {
        let depth = cell.depth.map(|depth| (100.0 * depth).round() as u32);
        (cell.method, kind_of(cell), cell.extension, depth) == (key.reading.method, key.kind, key.extension, key.depth)
            && cell.parameters == key.reading.parameters
            && key.reading.model.is_none()
    })
}

fn kind_of(&RetrievalCell { task, values, filler, difficulty, .. }: &RetrievalCell) -> QuestionKind {
    QuestionKind { task, values, filler, difficulty }
}

/// A sentence with DroPE's scores without our additions, because the table has those with them.
pub fn papers_drope() -> String {
    let cells = cells(ABLATION);
    let plain = cells.iter().filter(|cell| cell.is_standard() && cell.model == "drope-plain" && cell.extension > 1);
    let scores: Vec<String> = plain.map(|cell| format!("{} at {}×", percent(cell.accuracy), cell.extension)).collect();
    format!(
        "DroPE here is recalibrated with two additions of ours: copies, which count each sentence of filler several times as a \
         longer text would, and logits that grow with the length. As in the paper, at the same budget, it answers fewer \
         questions on one of four keys, numbers: {}.",
        scores.join(", ")
    )
}

/// Which methods are best at each length, in a sentence; methods whose intervals overlap the best one's are level with it.
pub fn leaders(results: &[RetrievalCell], kind: QuestionKind) -> String {
    let leaders = EXTENSIONS.map(|extension| {
        let is_here = |cell: &&RetrievalCell| (kind_of(cell), cell.extension) == (kind, extension);
        let here: Vec<&RetrievalCell> = results.iter().filter(is_here).collect();
        let best = here.iter().max_by(|a, b| a.accuracy.total_cmp(&b.accuracy))?;
        let level = here.iter().filter(|cell| cell.ci95[1] >= best.ci95[0]).map(|cell| cell.method.title());
        let level: Vec<&str> = level.collect();
        Some(match level.len() {
            _ if best.accuracy < MEANINGFUL => format!("{extension}×: none"),
            1..=4 => format!("{extension}×: {} ({})", level.join(", "), percent(best.accuracy)),
            others => format!("{extension}×: {others} methods are level ({})", percent(best.accuracy)),
        })
    });
    let leaders: Vec<String> = leaders.into_iter().flatten().collect();
    if leaders.is_empty() {
        "No committed results for this task; press a cell to measure it here.".to_owned()
    } else {
        format!("Best here, with every method whose interval overlaps the best one's. {}.", leaders.join("; "))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use drope_core::results::{CellHeader, ResultCell, RetrievalCell};

    use super::{FILES, UNEVEN, cells, shown};

    #[test]
    fn special_cells_are_not_shown_and_more_questions_count_before_fewer() {
        let old = cells(FILES[0]).into_iter().find(|cell| cell.trials == 500).unwrap();
        let more = RetrievalCell { trials: 2000, ..old.clone() };
        let special = [
            RetrievalCell { trials: 9000, depth: Some(0.5), ..old.clone() },
            RetrievalCell { trials: 9000, sinks: 8, ..old.clone() },
            RetrievalCell { header: CellHeader { cut: Some(0.1), ..old.header.clone() }, trials: 9000, ..old.clone() },
            RetrievalCell {
                header: CellHeader { model: "drope-plain".into(), ..old.header.clone() },
                trials: 9000,
                ..old.clone()
            },
        ];
        for order in [[old.clone(), more.clone()], [more.clone(), old.clone()]] {
            assert_eq!(shown(order.into_iter().chain(special.clone())), std::slice::from_ref(&more));
        }
    }

    /// Otherwise the grid would have to know which state of a model is the present one.
    #[test]
    fn the_files_hold_one_state_of_each_model() {
        let mut states = HashMap::new();
        let is_shown = |cell: &RetrievalCell| cell.is_standard() && cell.method.info().nano_model == cell.model;
        let committed: Vec<RetrievalCell> = FILES.into_iter().flat_map(cells).filter(is_shown).collect();
        assert!(committed.len() > 100, "{}", committed.len());
        for cell in &committed {
            // A fingerprint is of a model and of the method that reads it.
            let state = states.entry((&cell.model, cell.method)).or_insert_with(|| cell.fingerprint.clone());
            assert_eq!(*state, cell.fingerprint, "{cell:?}");
        }
    }

    #[test]
    fn the_numbers_of_tokens_are_those_of_the_logs() {
        let tokens = |model: &str| {
            let path = format!("{}/models/{model}/loss.jsonl", env!("DROPE_ROOT"));
            let log = std::fs::read_to_string(path).unwrap();
            let last: serde_json::Value = serde_json::from_str(log.lines().last().unwrap()).unwrap();
            last["tokens"].as_f64().unwrap() / 1e6
        };
        let (pretraining, recalibration) = (tokens("nano-rope"), tokens("nano-drope"));
        for millions in [format!("{pretraining:.1} million"), format!("{:.1} million", pretraining + recalibration)] {
            assert!(UNEVEN.contains(&millions), "{millions}");
        }
    }
}
