use drope_core::language::Values;
use drope_core::niah::Task;
use drope_core::positions::Method;
use drope_core::probe::{HeadCell, HeadProbe, HeadQuestions, PARTS};
use drope_core::results::{CellHeader, RetrievalCell};

use super::super::questions::{LATEST_VALUE, MULTI_KEY, MULTI_QUERY, QUESTION_SEED};
use super::super::rows::StudyResults;
use super::super::test_cells::cell;
use super::attention::{entropy, needle};
use super::cuts::cuts;
use super::order::order;
use super::two_keys::two_keys;
use super::{Explanation, StudyAccount};

/// A trunk's answers with a cut.
fn cut_cell(trunk: usize, cut: f64, values: Values, share: f64) -> RetrievalCell {
    let asked = cell(&format!("rope-{trunk}"), &MULTI_KEY, 1, share);
    RetrievalCell {
        header: CellHeader { method: Method::PDrope, cut: Some(cut), ..asked.header },
        task: Task::Single,
        values,
        ..asked
    }
}

/// A head that gives the needle a share of its attention, and whose queries have the same entropy everywhere.
fn head_cell(model: &str, head: usize, extension: usize, needle: f64, entropy: f64) -> HeadCell {
    let bound = (256.0 * extension as f64).ln();
    HeadCell {
        header: CellHeader {
            model: model.to_owned(),
            method: if model.starts_with("all") { Method::Drope } else { Method::Rope },
            extension,
            beta: 1.0,
            beta_given: false,
            cut: None,
            parameters: Default::default(),
            fingerprint: model.to_owned(),
        },
        tokens: None,
        questions: HeadQuestions { trials: 50, seed: QUESTION_SEED, filler: None, difficulty: Default::default() },
        runs: 0,
        probe: HeadProbe {
            head,
            needle_of_question: needle,
            entropies: vec![entropy; PARTS],
            entropy_bounds: vec![bound; PARTS],
            ..HeadProbe::default()
        },
        gradients: None,
    }
}

fn has(explanation: &Explanation, text: &str) {
    assert!(explanation.paragraph.contains(text), "{}", explanation.paragraph);
}

#[test]
fn the_longest_wavelength_that_is_needed_is_that_of_the_last_working_cut() {
    let mut cells = Vec::new();
    for trunk in 1..=2 {
        // Words are found with wavelengths of 6.28 / 0.3 = 21 tokens, numbers need 6.28 / 0.1 = 63.
        for (cut, words, numbers) in [(0.1, 1.0, 1.0), (0.3, 0.9, 0.8), (1.1, 0.5, 0.95)] {
            cells.push(cut_cell(trunk, cut, Values::Words, words));
            cells.push(cut_cell(trunk, cut, Values::Numbers, numbers));
        }
    }
    let found = cuts(&cells).unwrap();
    has(&found, "lowest cut: single, words 21; single, numbers 63.");
    assert!(found.table.contains("| 0.3 | 21 | 90.0 (2) | – | – | – | 80.0 (2) |"), "{}", found.table);
    let selection: Vec<RetrievalCell> = cells.into_iter().map(|cell| RetrievalCell { seed: 32_000, ..cell }).collect();
    assert!(cuts(&selection).is_none(), "other questions");
}

#[test]
fn the_head_with_most_attention_at_1x_is_followed() {
    let mut cells = Vec::new();
    for s in [1, 2, 4, 8] {
        let length = s as f64;
        cells.push(head_cell("all-copies-1", 0, s, 0.8 - 0.01 * length, 2.0));
        cells.push(head_cell("all-copies-1", 1, s, 0.1 * length, 2.0));
        cells.push(head_cell("all-1", 0, s, 0.8 / length, 2.0 + length.ln()));
    }
    has(&needle(&cells).unwrap(), "DroPE with copies 91 %; DroPE 12 %.");
    let spread = entropy(&cells).unwrap();
    has(&spread, "DroPE with copies +0.00; DroPE +2.08.");
    let bound = spread.figure.1.lines.last().unwrap();
    assert!(bound.name == "bound, ln i" && (bound.points[3].y - 2048f64.ln()).abs() < 1e-9);
    assert!(needle(&[]).is_none());
}

#[test]
fn pilots_stand_beside_the_run_that_they_change() {
    let results = StudyResults::new(vec![cell("all-1", &MULTI_QUERY, 1, 0.3), cell("all-2", &MULTI_QUERY, 1, 0.9)]);
    let pilots =
        StudyResults::new(vec![cell("all-heads-1", &MULTI_QUERY, 1, 0.5), cell("all-heads-1", &MULTI_KEY, 4, 0.6)]);
    assert!(two_keys(&results, &StudyResults::new(Vec::new())).is_none());
    let found = two_keys(&results, &pilots).unwrap();
    has(&found, "at 1×: DroPE 30.0 %; DroPE, heads of half the size 50.0 %.");
    assert!(found.table.contains("| DroPE, heads of half the size | – | 60.0 ["), "{}", found.table);
}

#[test]
fn order_stands_beside_a_guess() {
    let shares = [("all-1", 0.25), ("all-2", 0.35), ("keep-1", 0.95)];
    let results = StudyResults::new(shares.map(|(model, share)| cell(model, &LATEST_VALUE, 1, share)).to_vec());
    let found = order(&results).unwrap();
    has(&found, "right in 25.0 %. At 1×: DroPE 30.0 %; RoPE 95.0 %.");
    assert!(found.table.contains("| DroPE | 30.0 (2) |"), "{}", found.table);
}

#[test]
fn the_document_has_a_part_for_what_is_measured_and_its_figures() {
    let folder = tempfile::tempdir().unwrap();
    let docs = &folder.path().join("docs");
    let nothing = StudyResults::new(Vec::new());
    let account =
        |results, cuts| StudyAccount { results, cuts, heads: Vec::new(), pilots: StudyResults::new(Vec::new()) };
    assert!(!account(&nothing, Vec::new()).write(docs).unwrap() && !docs.exists());
    let results = StudyResults::new(vec![cell("all-1", &LATEST_VALUE, 1, 0.25)]);
    assert!(account(&results, vec![cut_cell(1, 0.1, Values::Words, 1.0)]).write(docs).unwrap());
    let text = crate::files::read_text(&docs.join("study-why.md")).unwrap();
    let parts: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("## ")).collect();
    assert_eq!(parts, ["Which frequencies copying and finding need", "Order without positions"]);
    assert!(
        text.contains("(study-cuts.svg)")
            && docs.join("study-cuts.svg").exists()
            && docs.join("study-order.svg").exists()
    );
}
