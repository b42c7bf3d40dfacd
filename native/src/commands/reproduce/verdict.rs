//! Whether what a paper claims is so here.

use serde::Serialize;

use super::perplexities::Excess;
use super::score::Score;

/// Whether a claim holds, by 95 % intervals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The intervals are apart, in the order that is claimed.
    Holds,
    /// They are apart in the other order.
    DoesNotHold,
    /// They touch.
    NotShown,
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

    /// That `ours` is the higher one of two scores.
    pub fn is_higher(ours: Option<&Score>, other: Option<&Score>) -> Self {
        match (ours, other) {
            (Some(ours), Some(other)) if ours.is_above(other) => Self::Holds,
            (Some(ours), Some(other)) if other.is_above(ours) => Self::DoesNotHold,
            (Some(_), Some(_)) => Self::NotShown,
            _ => Self::NotMeasured,
        }
    }

    /// That a perplexity lies below another, compared text by text.
    pub fn is_lower(excess: Option<&Excess>) -> Self {
        match excess.map(|excess| excess.ci95) {
            Some(Some([_, high])) if high < 0.0 => Self::Holds,
            Some(Some([low, _])) if low > 0.0 => Self::DoesNotHold,
            Some(_) => Self::NotShown,
            None => Self::NotMeasured,
        }
    }

    /// That a perplexity lies within [`MARGIN`] of RoPE's, or below it.
    pub fn is_within_margin(excess: Option<&Excess>) -> Self {
        match excess.map(|excess| excess.ci95) {
            Some(Some([_, high])) if high <= MARGIN => Self::Holds,
            Some(Some([low, _])) if low > MARGIN => Self::DoesNotHold,
            Some(_) => Self::NotShown,
            None => Self::NotMeasured,
        }
    }

    /// That several claims hold together: the worst of them.
    pub fn all(verdicts: impl IntoIterator<Item = Self>) -> Self {
        let order = [Self::Holds, Self::NotShown, Self::DoesNotHold, Self::NotMeasured];
        let rank = |verdict: Self| order.iter().position(|&other| other == verdict).unwrap_or(0);
        verdicts.into_iter().max_by_key(|&verdict| rank(verdict)).unwrap_or(Self::NotMeasured)
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

    /// What follows a perplexity's distance from RoPE's.
    pub fn within_words(self) -> String {
        let margin = 100.0 * MARGIN;
        match self {
            Self::Holds => format!("within {margin} % of RoPE or better"),
            Self::DoesNotHold => format!("not within {margin} % of RoPE"),
            Self::NotShown => format!("whether that is within {margin} % does not show"),
            Self::NotMeasured => "not measured".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::perplexities::Excess;
    use super::super::score::Score;
    use super::Verdict;

    fn score(share: f64) -> Score {
        Score { extension: 1, share, ci95: [share - 0.05, share + 0.05], trials: 100 }
    }

    #[test]
    fn scores_are_apart_only_where_their_intervals_are() {
        let of = |ours, other| Verdict::is_higher(Some(&score(ours)), Some(&score(other)));
        assert_eq!(
            (of(0.9, 0.7), of(0.7, 0.9), of(0.9, 0.85)),
            (Verdict::Holds, Verdict::DoesNotHold, Verdict::NotShown)
        );
        assert_eq!(Verdict::is_higher(None, Some(&score(0.5))), Verdict::NotMeasured);
    }

    #[test]
    fn perplexities_are_judged_by_the_ends_of_their_intervals() {
        let excess = |low, high| Excess { share: (low + high) / 2.0, ci95: Some([low, high]) };
        let within = |low, high| Verdict::is_within_margin(Some(&excess(low, high)));
        assert_eq!(within(-0.05, 0.02), Verdict::Holds, "to be better is to be within");
        assert_eq!((within(0.021, 0.03), within(0.01, 0.03)), (Verdict::DoesNotHold, Verdict::NotShown));
        assert_eq!(Verdict::is_lower(Some(&excess(-0.02, -0.01))), Verdict::Holds);
        assert_eq!(Verdict::is_lower(Some(&excess(-0.02, 0.01))), Verdict::NotShown);
        let single = Excess { share: 0.0, ci95: None };
        assert_eq!(Verdict::is_within_margin(Some(&single)), Verdict::NotShown, "one text tells nothing");
    }

    #[test]
    fn together_they_hold_only_if_each_does() {
        assert_eq!(Verdict::all([Verdict::Holds, Verdict::Holds]), Verdict::Holds);
        assert_eq!(Verdict::all([Verdict::Holds, Verdict::NotShown]), Verdict::NotShown);
        assert_eq!(Verdict::all([Verdict::NotShown, Verdict::DoesNotHold]), Verdict::DoesNotHold);
        assert_eq!(Verdict::all([]), Verdict::NotMeasured);
    }
}
