//! Shards of a perplexity's texts, joined into one cell.

use super::PerplexityCell;
use crate::error::{Error, Result};
use crate::results::{ResultCell, check_all, joined};

/// Joins the shards of each cell; the numbers equal those of a run without shards.
///
/// # Errors
/// If a text of a cell is missing or occurs twice.
pub fn merge(cells: Vec<PerplexityCell>) -> Result<Vec<PerplexityCell>> {
    let is_same = |a: &PerplexityCell, b: &PerplexityCell| a.same_measurement(b) && a.of_texts == b.of_texts;
    let merged = joined(cells, is_same, |first, cell| first.texts.extend(cell.texts));
    let whole = |cell: PerplexityCell| {
        let cell = cell.recomputed();
        let name = || format!("{} {} {}x", cell.model, cell.method.name(), cell.extension);
        check_all(name, cell.texts.iter().map(|text| text.index), cell.of_texts)?;
        let losses = cell.curve.iter().copied().chain([Some(cell.loss), cell.answer_perplexity]).flatten();
        if !losses.into_iter().all(f64::is_finite) {
            return Err(Error::DamagedResults("a loss is too large to be real".into()));
        }
        Ok(cell)
    };
    merged.into_iter().map(whole).collect()
}

#[cfg(test)]
mod tests {
    use super::merge;
    use crate::perplexity::{PerplexityCell, TextLoss};
    use crate::results::CellHeader;
    use crate::results::ResultCell;

    #[test]
    fn totals_do_not_depend_on_the_shards() {
        let text = |index: usize| TextLoss {
            index,
            tokens: 10 + index,
            loss: 7.1 * index as f64 / 3.0,
            answers: 2,
            answer_loss: 0.1 * index as f64,
            curve: vec![(1, 0.3); 16],
        };
        let cell = |texts: &[usize]| PerplexityCell {
            texts: texts.iter().map(|&index| text(index)).collect(),
            ..PerplexityCell::example()
        };
        let whole = merge(vec![cell(&[0, 1, 2, 3, 4])]).unwrap();
        assert_eq!(merge(vec![cell(&[4, 1]), cell(&[0, 3]), cell(&[2])]).unwrap(), whole);
        assert!((whole[0].perplexity - (7.1f64 * 10.0 / 3.0 / 60.0).exp()).abs() < 1e-8);
        let [low, high] = whole[0].ci95.unwrap();
        assert!(low < whole[0].perplexity && whole[0].perplexity < high);
        // A gap, a text twice, the last one missing.
        assert!(merge(vec![cell(&[0, 2, 3, 4])]).is_err() && merge(vec![cell(&[0, 1, 2, 3, 4]), cell(&[1])]).is_err());
        assert!(merge(vec![cell(&[0, 1, 2, 3])]).is_err());
        // Two texts that differ so much that the end of their interval has to be limited; and a loss that cannot be
        // real.
        let absurd = |loss: f64| {
            let texts = vec![text(0), TextLoss { loss, ..text(1) }];
            merge(vec![PerplexityCell { texts, of_texts: 2, ..PerplexityCell::example() }])
        };
        let upper = absurd(1e4).unwrap()[0].ci95.unwrap()[1];
        assert!(upper.is_finite() && upper > 1e100, "{upper}");
        assert!(absurd(f64::MAX).is_err());
        assert_eq!(cell(&[3]).recomputed().ci95, None);
        // Other texts are another cell, and so is another model.
        let other = [
            PerplexityCell { length: 512, ..cell(&[0]) },
            PerplexityCell { header: CellHeader { fingerprint: "b".into(), ..cell(&[0]).header }, ..cell(&[0]) },
        ];
        assert!(other.iter().all(|other| !other.same_measurement(&cell(&[0]))));
        assert!(cell(&[1]).same_measurement(&cell(&[0])));
    }
}
