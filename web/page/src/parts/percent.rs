//! Shares as text.

/// A share in percent, with one decimal from 95 % on, where whole percents would show 99.65 as 100.
pub fn percent(share: f64) -> String {
    format!("{:.*} %", decimals(share), 100.0 * share)
}

/// The interval of a share, with as many decimals.
pub fn interval(share: f64, [low, high]: [f64; 2]) -> String {
    // An end that is not 100 must not be shown as 100.
    let is_rounded_up = [low, high].iter().any(|end| (0.995..1.0).contains(end));
    let decimals = decimals(share).max(usize::from(is_rounded_up));
    format!("{:.decimals$}–{:.decimals$}", 100.0 * low, 100.0 * high)
}

fn decimals(share: f64) -> usize {
    usize::from((0.95..1.0).contains(&share))
}

#[cfg(test)]
mod tests {
    use super::{interval, percent};

    #[test]
    fn near_the_ceiling_percents_have_one_decimal() {
        assert_eq!((percent(0.9965), interval(0.9965, [0.9952, 0.9974])), ("99.7 %".into(), "99.5–99.7".into()));
        assert_eq!((percent(0.996), interval(0.996, [0.9856, 0.9989])), ("99.6 %".into(), "98.6–99.9".into()));
        assert_eq!(interval(0.94, [0.895, 0.9965]), "89.5–99.7");
        // Whole percents would say 98, 98–98.
        assert_eq!((percent(0.981), interval(0.981, [0.976, 0.985])), ("98.1 %".into(), "97.6–98.5".into()));
        assert_eq!((percent(0.742), interval(0.742, [0.702, 0.778])), ("74 %".into(), "70–78".into()));
        assert_eq!((percent(1.0), interval(1.0, [0.963, 1.0])), ("100 %".into(), "96–100".into()));
    }
}
