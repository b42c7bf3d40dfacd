//! Functions of numbers and rows that compilers turn into vector instructions when they are inlined.

/// a·b + c.
#[inline(always)]
pub(super) fn mul_add(a: f32, b: f32, c: f32) -> f32 {
    // Wasm has no such instruction, and would call a function.
    if cfg!(target_arch = "wasm32") { a * b + c } else { a.mul_add(b, c) }
}

/// eˣ to 2e-7 of its value, 0 below −87 and at most e^88; NaN stays NaN.
///
/// Cephes' polynomial (Moshier 1989) on x − n·ln 2, whose n goes into the exponent.
#[inline(always)]
pub(super) fn exp(x: f32) -> f32 {
    // Adding 1.5·2²³ rounds to an integer, which is then in the low bits.
    const ROUND: f32 = 12_582_912.0;
    const LN_2_HIGH: f32 = 0.693_359_4;
    const LN_2_LOW: f32 = -2.121_944_4e-4;
    let bounded = if x > 88.0 { 88.0 } else { x };
    let shifted = mul_add(bounded, std::f32::consts::LOG2_E, ROUND);
    let n = shifted - ROUND;
    let rest = mul_add(-n, LN_2_LOW, mul_add(-n, LN_2_HIGH, bounded));
    let mut p = mul_add(1.987_569_1e-4, rest, 1.398_199_9e-3);
    p = mul_add(p, rest, 8.333_452e-3);
    p = mul_add(p, rest, 4.166_579_6e-2);
    p = mul_add(p, rest, 1.666_666_5e-1);
    p = mul_add(p, rest, 0.5);
    p = mul_add(p * rest, rest, rest) + 1.0;
    let scaled = f32::from_bits(p.to_bits().wrapping_add(shifted.to_bits() << 23));
    if x < -87.0 { 0.0 } else { scaled }
}

/// Partial sums of a row that are computed beside each other.
pub(super) const LANES: usize = 16;

/// What `f` makes of all lanes, half of them at a time: one after the other, each step would wait for the step before.
#[inline(always)]
fn reduced(mut lanes: [f32; LANES], f: impl Fn(f32, f32) -> f32) -> f32 {
    for half in [8, 4, 2, 1] {
        for lane in 0..half {
            lanes[lane] = f(lanes[lane], lanes[lane + half]);
        }
    }
    lanes[0]
}

/// The sum of all lanes.
#[inline(always)]
pub(super) fn sum(lanes: [f32; LANES]) -> f32 {
    reduced(lanes, |a, b| a + b)
}

/// Σ x·y.
#[inline(always)]
pub(super) fn dot(x: &[f32], y: &[f32]) -> f32 {
    let mut lanes = [0.0f32; LANES];
    let (xs, x_rest) = x.as_chunks::<LANES>();
    let (ys, y_rest) = y.as_chunks::<LANES>();
    for (x, y) in xs.iter().zip(ys) {
        for lane in 0..LANES {
            lanes[lane] = mul_add(x[lane], y[lane], lanes[lane]);
        }
    }
    let rest: f32 = x_rest.iter().zip(y_rest).map(|(&x, &y)| x * y).sum();
    sum(lanes) + rest
}

/// The largest number of a row; −∞ of an empty one.
#[inline(always)]
pub(super) fn max(x: &[f32]) -> f32 {
    let mut lanes = [f32::NEG_INFINITY; LANES];
    let (xs, rest) = x.as_chunks::<LANES>();
    let larger = |a: f32, b: f32| if b > a { b } else { a };
    for x in xs {
        for lane in 0..LANES {
            lanes[lane] = larger(lanes[lane], x[lane]);
        }
    }
    rest.iter().fold(reduced(lanes, larger), |a, &b| larger(a, b))
}

/// Replaces each x by e^(x − shift) and returns their sum in lanes.
#[inline(always)]
pub(super) fn exp_all(x: &mut [f32], shift: f32) -> [f32; LANES] {
    for value in x.iter_mut() {
        *value = exp(*value - shift);
    }
    let mut lanes = [0.0; LANES];
    let (xs, rest) = x.as_chunks::<LANES>();
    for x in xs {
        for lane in 0..LANES {
            lanes[lane] += x[lane];
        }
    }
    for (lane, x) in lanes.iter_mut().zip(rest) {
        *lane += x;
    }
    lanes
}

#[cfg(test)]
mod tests {
    use super::{dot, exp, exp_all, max, sum};

    #[test]
    fn the_exponential_is_right_over_its_whole_range() {
        for step in -8700..=8800 {
            let x = step as f32 / 100.0;
            let right = f64::from(x).exp();
            let error = (f64::from(exp(x)) - right).abs() / right;
            assert!(error < 2e-7, "e^{x}: {error:e}");
        }
        assert_eq!((exp(f32::NEG_INFINITY), exp(0.0)), (0.0, 1.0));
        assert!(exp(f32::NAN).is_nan());
        assert!(exp(1e9).is_finite());
    }

    #[test]
    fn rows_of_any_length_are_summed_to_the_end() {
        for length in [0, 1, 15, 16, 17, 100] {
            let x: Vec<f32> = (0..length).map(|i| i as f32 - 7.0).collect();
            let squares: f32 = x.iter().map(|x| x * x).sum();
            assert_eq!(dot(&x, &x), squares);
            assert_eq!(max(&x), x.iter().copied().fold(f32::NEG_INFINITY, f32::max));
            let mut powers = x.clone();
            let sum = sum(exp_all(&mut powers, 60.0));
            let right: f64 = x.iter().map(|&x| f64::from(x - 60.0).exp()).sum();
            assert!((f64::from(sum) - right).abs() <= 1e-6 * right);
        }
    }
}
