//! The largest logit of a row and the sum of exponentials beside it, in one pass over the row (Milakov & Gimelshein 2018, arXiv 1805.02867).

use super::cubecl;
use super::sum::{over_units, sum_of_units};
use cubecl::prelude::*;

/// Below every logit. It stands in place of −∞, which WGSL has no literal for, and whose difference from itself is not a number.
pub const LOWEST: f32 = -1e30;

/// Σ e^(logit − largest) over the logits so far.
#[derive(CubeType)]
pub struct ExpSum {
    pub largest: f32,
    pub sum: f32,
}

#[cube]
impl ExpSum {
    /// Of no logits.
    pub fn new() -> Self {
        ExpSum { largest: LOWEST.runtime(), sum: 0f32 }
    }

    pub fn add(&mut self, logit: f32) {
        let highest = f32::max(self.largest, logit);
        self.sum = self.sum * f32::exp(self.largest - highest) + f32::exp(logit - highest);
        self.largest = highest;
    }

    /// The sum over the logits of `units` neighbouring units, as [`over_units`].
    pub fn of_units(self, shared: &mut Shared<[f32]>, #[comptime] units: usize, #[comptime] lanes: usize) -> Self {
        let mut highest = Array::new(1usize);
        highest[0] = self.largest;
        over_units(shared, &mut highest, units, 1usize, false, lanes);
        let sum = sum_of_units(shared, self.sum * f32::exp(self.largest - highest[0]), units, lanes);
        ExpSum { largest: highest[0], sum }
    }
}
