//! Which of two results for the same cell counts: one rule for reports, README tables and the page.

use super::ResultCell;

/// Of several results for the same place of a table ([`ResultCell::same_place`]), the one that counts. The places are
/// in the order of their first results.
///
/// `fingerprint` gives the fingerprint that the cell's model has now, or `None` where the caller does not know it. The rule:
/// 1. a result of the present model counts before one of an earlier state of it;
/// 2. then the one with more questions;
/// 3. then the later one.
///
/// A result of an earlier state counts if there is no other; compare fingerprints to leave it out.
pub fn current<T: ResultCell>(
    cells: impl IntoIterator<Item = T>,
    fingerprint: impl Fn(&T) -> Option<String>,
) -> Vec<T> {
    let is_present = |cell: &T| fingerprint(cell).is_some_and(|present| present == cell.reading().fingerprint);
    let mut kept: Vec<(T, (bool, usize))> = Vec::new();
    for cell in cells {
        let rank = (is_present(&cell), cell.questions());
        match kept.iter_mut().find(|(known, _)| known.same_place(&cell)) {
            Some((_, known_rank)) if *known_rank > rank => {}
            Some(known) => *known = (cell, rank),
            None => kept.push((cell, rank)),
        }
    }
    kept.into_iter().map(|(cell, _)| cell).collect()
}

#[cfg(test)]
mod tests {
    use super::current;
    use crate::niah::{Difficulty, Distractors, QuestionSplit};
    use crate::positions::{Amount, Method, Parameter, Parameters};
    use crate::results::{CellHeader, ResultCell, RetrievalCell};

    fn cell(trials: usize, correct: usize, fingerprint: &str) -> RetrievalCell {
        RetrievalCell {
            header: CellHeader { fingerprint: fingerprint.into(), ..RetrievalCell::example().header },
            trials,
            correct,
            ..RetrievalCell::example()
        }
    }

    fn counted(cells: Vec<RetrievalCell>, present: Option<&str>) -> Vec<(usize, usize)> {
        let kept = current(cells, |_| present.map(str::to_owned));
        kept.iter().map(|cell| (cell.trials, cell.correct)).collect()
    }

    #[test]
    fn the_present_model_counts_then_more_questions_then_the_later_result() {
        let cells = || vec![cell(500, 1, "old"), cell(100, 2, "new"), cell(100, 3, "new"), cell(50, 4, "new")];
        assert_eq!(counted(cells(), Some("new")), [(100, 3)]);
        assert_eq!(counted(cells(), Some("old")), [(500, 1)]);
        // Nobody knows which model is the present one, or it was never measured.
        assert_eq!(counted(cells(), None), [(500, 1)]);
        assert_eq!(counted(cells(), Some("newest")), [(500, 1)]);
        // The order in the file does not matter but for the last rule.
        let mut reversed = cells();
        reversed.reverse();
        assert_eq!(counted(reversed, Some("new")), [(100, 2)]);
    }

    #[test]
    fn a_fitted_temperature_is_the_same_place_and_a_given_one_is_not() {
        let fitted = |beta| RetrievalCell { header: CellHeader { beta, ..cell(10, 1, "").header }, ..cell(10, 1, "") };
        assert_eq!(current(vec![fitted(1.0), fitted(1.2)], |_| None), [fitted(1.2)]);
        let given = |beta| RetrievalCell {
            header: CellHeader { beta, beta_given: true, ..cell(10, 1, "").header },
            ..cell(10, 1, "")
        };
        assert_eq!(current(vec![fitted(1.0), given(1.0), given(1.2)], |_| None).len(), 3);
    }

    #[test]
    fn special_cells_keep_places_of_their_own() {
        let plain = cell(10, 1, "");
        let standard = Difficulty::default();
        let harder = |difficulty| RetrievalCell { difficulty, ..cell(10, 1, "") };
        let temperature = |c| Parameters::new([(Parameter::TemperatureCoefficient, Amount::Number(c))]).unwrap();
        let special = [
            RetrievalCell { depth: Some(0.5), ..plain.clone() },
            RetrievalCell { sinks: 8, ..plain.clone() },
            RetrievalCell { header: CellHeader { cut: Some(0.1), ..plain.header.clone() }, ..plain.clone() },
            RetrievalCell {
                header: CellHeader { parameters: temperature(0.2), ..plain.header.clone() },
                ..plain.clone()
            },
            RetrievalCell { filler: Some(crate::niah::Filler::Grass), ..plain.clone() },
            RetrievalCell { header: CellHeader { beta_given: true, ..plain.header.clone() }, ..plain.clone() },
            RetrievalCell { seed: 7, ..plain.clone() },
            harder(Difficulty { keys: Some(16), ..standard }),
            harder(Difficulty { digits: 7, ..standard }),
            harder(Difficulty { distractors: Distractors::Sharing, ..standard }),
            harder(Difficulty { hops: 3, ..standard }),
            harder(Difficulty { split: QuestionSplit::Selection, ..standard }),
        ];
        assert!(plain.is_standard());
        for cell in special {
            assert!(!cell.is_standard(), "{cell:?}");
            assert_eq!(current(vec![plain.clone(), cell], |_| None).len(), 2);
        }
        let [one, other] = [0.2, 0.3].map(|c| RetrievalCell {
            header: CellHeader { parameters: temperature(c), ..plain.header.clone() },
            ..plain.clone()
        });
        assert!(!one.same_place(&other) && !one.same_measurement(&other));
        let other_heads = RetrievalCell {
            header: CellHeader { method: Method::DopeAll, ..plain.header.clone() },
            heads: Some("query".into()),
            ..plain.clone()
        };
        assert!(!other_heads.same_place(&RetrievalCell { heads: Some("key".into()), ..other_heads.clone() }));
        assert!(!RetrievalCell { shard: Some("1/3".parse().unwrap()), ..plain }.is_standard());
    }
}
