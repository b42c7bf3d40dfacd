//! Updates that would harm a model are left out.

use serde::{Deserialize, Serialize};

/// Gradient norms that a spike is measured by.
const REMEMBERED: usize = 50;
/// Updates before which no norm is called a spike.
const FEWEST: usize = 10;

/// Which updates are left out, and when a run ends over them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GuardSettings {
    /// An update whose gradient norm is above so many times the median of the last 50 is left out, as is one that is not finite.
    pub spike: f64,
    /// Updates left out in a row that end the run.
    pub stop_after: usize,
}

/// What the guard knows of a run so far.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GuardState {
    /// Gradient norms of the last updates that were made.
    norms: Vec<f64>,
    /// Updates left out since the last that was made.
    in_a_row: usize,
}

/// What becomes of an update.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Made,
    LeftOut,
    /// One too many was left out: so many in a row.
    End(usize),
}

impl GuardState {
    /// Judges an update by its gradient norm. Without settings, one that is not finite ends the run.
    pub(super) fn judge(&mut self, settings: Option<GuardSettings>, norm: f64) -> Verdict {
        let Some(GuardSettings { spike, stop_after }) = settings else {
            return if norm.is_finite() { Verdict::Made } else { Verdict::End(1) };
        };
        let is_spike = self.norms.len() >= FEWEST && norm > spike * self.median();
        if norm.is_finite() && !is_spike {
            self.in_a_row = 0;
            self.norms.push(norm);
            if self.norms.len() > REMEMBERED {
                self.norms.remove(0);
            }
            return Verdict::Made;
        }
        self.in_a_row += 1;
        if self.in_a_row >= stop_after { Verdict::End(self.in_a_row) } else { Verdict::LeftOut }
    }

    fn median(&self) -> f64 {
        let mut sorted = self.norms.clone();
        sorted.sort_by(f64::total_cmp);
        sorted[sorted.len() / 2]
    }
}

#[cfg(test)]
mod tests {
    use super::{GuardSettings, GuardState, Verdict};

    #[test]
    fn spikes_are_left_out_until_there_are_too_many_in_a_row() {
        let settings = Some(GuardSettings { spike: 10.0, stop_after: 3 });
        let mut guard = GuardState::default();
        // The first norms may be anything.
        for norm in [500.0, 2.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0] {
            assert_eq!(guard.judge(settings, norm), Verdict::Made);
        }
        assert_eq!(guard.judge(settings, 9.9), Verdict::Made);
        assert_eq!(guard.judge(settings, 10.1), Verdict::LeftOut);
        assert_eq!(guard.judge(settings, f64::NAN), Verdict::LeftOut);
        assert_eq!(guard.judge(settings, 1.0), Verdict::Made, "the count begins anew");
        let resumed: GuardState = serde_json::from_str(&serde_json::to_string(&guard).unwrap()).unwrap();
        assert_eq!(resumed, guard);
        assert_eq!(guard.judge(settings, f64::INFINITY), Verdict::LeftOut);
        assert_eq!(guard.judge(settings, 11.0), Verdict::LeftOut);
        assert_eq!(guard.judge(settings, 11.0), Verdict::End(3));
        assert_eq!(GuardState::default().judge(None, f64::NAN), Verdict::End(1));
    }
}
