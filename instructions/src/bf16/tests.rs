//! Products against sums in f64 of the rounded numbers.

use half::bf16;

use super::processor::Instructions;
use super::product::multiply_by;
use super::{Left, PANEL, Right};
use crate::Matrix;

/// Numbers that differ from their rounding.
fn numbers(count: usize, phase: f32) -> Vec<f32> {
    (0..count).map(|i| (i as f32 * 0.7311 + phase).sin() * 3.0).collect()
}

fn transposed(values: &[f32], columns: usize) -> Vec<f32> {
    (0..columns).flat_map(|column| values.iter().skip(column).step_by(columns).copied()).collect()
}

fn rounded(number: f32) -> f64 {
    bf16::from_f32(number).to_f64()
}

/// The available instructions; a test of none says so.
fn instructions() -> &'static [Instructions] {
    let available = Instructions::available();
    for instructions in [Instructions::Tiles, Instructions::Vectors] {
        if !available.contains(&instructions) {
            println!("NOT RUN: this processor multiplies no bf16 by {instructions:?}");
        }
    }
    available
}

/// Sizes that fill tiles and panels, and such that do not, in all four orders of storage.
#[test]
fn products_are_those_of_the_rounded_numbers() {
    for &instructions in instructions() {
        for [m, k, n] in [[64, 64, 64], [1, 1, 1], [33, 31, 47], [16, 576, 100], [300, 45, 2], [5, 4097, 33]] {
            let (a, b) = (numbers(m * k, 0.1), numbers(k * n, 0.5));
            let (a_turned, b_turned) = (transposed(&a, k), transposed(&b, n));
            let lefts = [Matrix::new(&a, m, k), Matrix::new(&a_turned, k, m).transpose()];
            let rights = [Matrix::new(&b, k, n), Matrix::new(&b_turned, n, k).transpose()];
            let sum = |row: usize, column: usize| {
                (0..k).map(|at| rounded(a[row * k + at]) * rounded(b[at * n + column])).sum::<f64>()
            };
            for (left, right) in lefts.into_iter().flat_map(|left| rights.map(|right| (left, right))) {
                let (left, right) = (Left::pack(left), Right::pack(right));
                let mut found = vec![f32::NAN; m * n];
                // In parts, as threads take them.
                for (part, output) in found.chunks_mut(2 * PANEL * n).enumerate() {
                    multiply_by(instructions, &left, &right, 2 * part, output);
                }
                for (at, &found) in found.iter().enumerate() {
                    let expected = sum(at / n, at % n);
                    assert!(
                        (f64::from(found) - expected).abs() < 1e-4 * (k as f64).sqrt(),
                        "{instructions:?} {m} {k} {n}: {found} {expected}"
                    );
                }
            }
        }
    }
}

/// A loss that is not finite has to show.
#[test]
fn what_is_not_finite_stays_so() {
    for &instructions in instructions() {
        for number in [f32::NAN, f32::from_bits(0x7f80_0001), f32::from_bits(0xffff_ffff), f32::INFINITY] {
            let (left, right) = ([1.0, number], [2.0, 1.0]);
            let mut found = [0.0];
            let (left, right) = (Left::pack(Matrix::new(&left, 1, 2)), Right::pack(Matrix::new(&right, 2, 1)));
            multiply_by(instructions, &left, &right, 0, &mut found);
            assert!(!found[0].is_finite(), "{instructions:?}: {number} becomes {}", found[0]);
        }
    }
}
