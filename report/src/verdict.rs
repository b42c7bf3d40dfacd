//! Whether what a paper claims is so here.

use crate::number::Number;

/// Whether a claim holds, by 95 % intervals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// The intervals are apart, in the order that is claimed.
    Holds,
    /// They touch.
    NotShown,
    /// They are apart in the other order.
    DoesNotHold,
    /// One of the numbers is missing.
    NotMeasured,
}

/// How far above RoPE's a perplexity may lie to count as the same, as a share.
pub const MARGIN: f64 = 0.02;

impl Verdict {
    /// Of a claim that numbers without intervals decide.
    pub fn of(holds: bool) -> Self {
        if holds { Self::Holds } else { Self::DoesNotHold }
    }

    /// That `ours` is the higher one of two numbers.
    pub fn is_higher(ours: Option<&Number>, other: Option<&Number>) -> Self {
        match (ours, other) {
            (Some(ours), Some(other)) if ours.is_above(other) => Self::Holds,
            (Some(ours), Some(other)) if other.is_above(ours) => Self::DoesNotHold,
            (Some(_), Some(_)) => Self::NotShown,
            _ => Self::NotMeasured,
        }
    }

    /// That how far a perplexity lies above another is no more than `most`.
    pub fn is_at_most(most: f64, excess: Option<&Number>) -> Self {
        match excess.map(|excess| excess.ci95) {
            Some(Some([_, high])) if high <= most => Self::Holds,
            Some(Some([low, _])) if low > most => Self::DoesNotHold,
            Some(_) => Self::NotShown,
            None => Self::NotMeasured,
        }
    }

    /// That several claims hold together: the worst of them.
    pub fn all(verdicts: impl IntoIterator<Item = Self>) -> Self {
        verdicts.into_iter().max().unwrap_or(Self::NotMeasured)
    }

    /// What follows `that it is so`.
    pub fn words(self) -> &'static str {
        match self {
            Self::Holds => "holds here",
            Self::DoesNotHold => "does not hold here",
            Self::NotShown => "does not show here",
            Self::NotMeasured => "is not measured",
        }
    }
}

/// What follows a perplexity's distance from RoPE's: whether it lies within [`MARGIN`], or below.
pub fn within_margin(excess: Option<&Number>) -> String {
    let margin = 100.0 * MARGIN;
    match Verdict::is_at_most(MARGIN, excess) {
        Verdict::Holds => format!("within {margin} % of RoPE or better"),
        Verdict::DoesNotHold => format!("not within {margin} % of RoPE"),
        Verdict::NotShown => format!("whether that is within {margin} % does not show"),
        Verdict::NotMeasured => "not measured".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::{MARGIN, Verdict, within_margin};
    use crate::number::Number;
    use crate::number::made_up::number;

    #[test]
    fn numbers_are_apart_only_where_their_intervals_are() {
        let of = |ours, other| Verdict::is_higher(Some(&number(ours, 0.05)), Some(&number(other, 0.05)));
        assert_eq!(
            [of(0.9, 0.7), of(0.7, 0.9), of(0.9, 0.85)],
            [Verdict::Holds, Verdict::DoesNotHold, Verdict::NotShown]
        );
        assert_eq!(Verdict::is_higher(None, Some(&number(0.5, 0.1))), Verdict::NotMeasured);
    }

    #[test]
    fn perplexities_are_judged_by_the_ends_of_their_intervals() {
        let excess = |low, high| Number { value: 0.0, ci95: Some([low, high]), trials: 16 };
        let within = |low, high| Verdict::is_at_most(MARGIN, Some(&excess(low, high)));
        assert_eq!(within(-0.05, 0.02), Verdict::Holds, "to be better is to be within");
        assert_eq!((within(0.021, 0.03), within(0.01, 0.03)), (Verdict::DoesNotHold, Verdict::NotShown));
        let single = Number { ci95: None, ..excess(0.0, 0.0) };
        assert_eq!(within_margin(Some(&single)), "whether that is within 2 % does not show", "one text tells nothing");
    }

    #[test]
    fn together_they_hold_only_if_each_does() {
        assert_eq!(Verdict::all([Verdict::Holds, Verdict::Holds]), Verdict::Holds);
        assert_eq!(Verdict::all([Verdict::NotShown, Verdict::Holds]), Verdict::NotShown);
        assert_eq!(Verdict::all([Verdict::NotShown, Verdict::DoesNotHold]), Verdict::DoesNotHold);
        assert_eq!(Verdict::all([]), Verdict::NotMeasured);
    }
}
