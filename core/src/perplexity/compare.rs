//! Two models on the same texts.

use super::{PerplexityCell, TextLoss};
use crate::stats::student_half_width;

/// How far the perplexity of `ours` lies above that of `other` on the same texts, as a share (0.02 is 2 %), and the 95 %
/// interval of that: Student's, over the texts' differences. It is far narrower than the two cells' own intervals tell,
/// because texts differ more than models do.
///
/// `None` where they did not read the same texts, or fewer than two.
pub fn excess(ours: &PerplexityCell, other: &PerplexityCell) -> Option<(f64, [f64; 2])> {
    let texts = |cell: &PerplexityCell| cell.texts.iter().map(|text| (text.index, text.tokens)).collect::<Vec<_>>();
    if (&ours.source, ours.length, texts(ours)) != (&other.source, other.length, texts(other)) {
        return None;
    }
    let mean = |text: &TextLoss| text.loss / text.tokens as f64;
    let differences: Vec<f64> = ours.texts.iter().zip(&other.texts).map(|(a, b)| mean(a) - mean(b)).collect();
    let half = student_half_width(&differences)?;
    let middle = differences.iter().sum::<f64>() / differences.len() as f64;
    Some((middle.exp_m1(), [middle - half, middle + half].map(f64::exp_m1)))
}

#[cfg(test)]
mod tests {
    use super::excess;
    use crate::perplexity::{PerplexityCell, TextLoss};

    #[test]
    fn texts_are_compared_one_by_one() {
        let cell = |losses: [f64; 3]| {
            let text = |(index, loss)| TextLoss { index, tokens: 100, loss, ..TextLoss::default() };
            PerplexityCell { texts: losses.into_iter().enumerate().map(text).collect(), ..PerplexityCell::example() }
        };
        // The texts are far apart, the models are not: 0.01 nats a token more, in one text 0.02.
        let (share, [low, high]) = excess(&cell([101.0, 202.0, 301.0]), &cell([100.0, 200.0, 300.0])).unwrap();
        assert!((share - (0.04f64 / 3.0).exp_m1()).abs() < 1e-12);
        // t for 97.5 % at 2 degrees of freedom is 4.302653; the standard error is 1/300.
        assert!((low.ln_1p() - (0.04 - 0.04302653) / 3.0).abs() < 1e-7 && low < share && share < high);
        let other = PerplexityCell { source: "another".into(), ..cell([1.0; 3]) };
        assert_eq!(excess(&other, &cell([1.0; 3])), None);
    }
}
