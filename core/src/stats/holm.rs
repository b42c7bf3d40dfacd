//! Holm's correction for several tests.

/// Adjusted p-values, in the order of `p_values`: a test whose adjusted value is at most α is significant at a familywise
/// error rate of α. The i-th smallest of m values, counted from 0, becomes the largest of (m − j)·p₍ⱼ₎ over j ≤ i, at most 1
/// (Holm 1979, Scandinavian Journal of Statistics 6, pp. 65–70). The tests may depend on each other.
pub fn holm(p_values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|&a, &b| p_values[a].total_cmp(&p_values[b]));
    let mut adjusted = vec![0.0; p_values.len()];
    let mut largest: f64 = 0.0;
    for (rank, &index) in order.iter().enumerate() {
        largest = largest.max((p_values.len() - rank) as f64 * p_values[index]);
        adjusted[index] = largest.min(1.0);
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::holm;

    #[test]
    fn agrees_with_statsmodels() {
        // From tests/statistics_reference.py.
        let adjusted = holm(&[0.01, 0.04, 0.03, 0.005, 0.7, 0.03]);
        let expected = [0.05, 0.12, 0.12, 0.03, 0.7, 0.12];
        for (ours, theirs) in adjusted.iter().zip(expected) {
            assert!((ours - theirs).abs() < 1e-12, "{adjusted:?}");
        }
        assert_eq!(holm(&[0.6, 0.9]), [1.0, 1.0]);
        assert!(holm(&[]).is_empty());
    }
}
