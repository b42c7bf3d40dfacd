//! The median of several runs.

/// Median, least and largest of numbers; `None` where there are none. The median of an even count is the mean of the two in
/// the middle.
pub fn median_and_range(numbers: &[f64]) -> Option<[f64; 3]> {
    let mut sorted = numbers.to_vec();
    sorted.sort_by(f64::total_cmp);
    let [least, largest] = [*sorted.first()?, *sorted.last()?];
    Some([(sorted[(sorted.len() - 1) / 2] + sorted[sorted.len() / 2]) / 2.0, least, largest])
}

#[cfg(test)]
mod tests {
    use super::median_and_range;

    #[test]
    fn the_middle_is_found_in_any_order() {
        assert_eq!(median_and_range(&[]), None);
        assert_eq!(median_and_range(&[2.0]), Some([2.0; 3]));
        assert_eq!(median_and_range(&[9.0, 1.0, 4.0]), Some([4.0, 1.0, 9.0]));
        assert_eq!(median_and_range(&[9.0, 1.0, 4.0, 6.0]), Some([5.0, 1.0, 9.0]));
    }
}
