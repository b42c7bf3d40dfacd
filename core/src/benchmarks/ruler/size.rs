//! How much haystack fits.

/// The largest multiple of `step` for which `fits` holds, found by doubling and halving; `None` if not even `step`
/// fits. Each check draws a new question, so the result is only approximately the largest.
pub(super) fn largest(step: usize, mut fits: impl FnMut(usize) -> bool) -> Option<usize> {
    if !fits(step) {
        return None;
    }
    let (mut fitting, mut beyond) = (1, 2);
    while fits(beyond * step) {
        (fitting, beyond) = (beyond, beyond * 2);
    }
    while beyond - fitting > 1 {
        let middle = usize::midpoint(fitting, beyond);
        if fits(middle * step) {
            fitting = middle;
        } else {
            beyond = middle;
        }
    }
    Some(fitting * step)
}
