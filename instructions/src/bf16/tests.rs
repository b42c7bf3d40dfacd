//! Products against sums in f64 of the rounded numbers.

use std::ops::Range;

use half::bf16;

use super::processor::Instructions;
use super::product::{by_columns, by_rows};
use super::{Left, PANEL, Part, Pieces, Right, is_available, multiply_by_columns, multiply_part};
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
        for [m, k, n] in
            [[64, 64, 64], [1, 1, 1], [33, 31, 47], [16, 576, 100], [300, 45, 2], [5, 4097, 33], [150, 40, 290]]
        {
            let (a, b) = (numbers(m * k, 0.1), numbers(k * n, 0.5));
            let (a_turned, b_turned) = (transposed(&a, k), transposed(&b, n));
            let lefts = [Matrix::new(&a, m, k), Matrix::new(&a_turned, k, m).transpose()];
            let rights = [Matrix::new(&b, k, n), Matrix::new(&b_turned, n, k).transpose()];
            let sum = |row: usize, column: usize| {
                (0..k).map(|at| rounded(a[row * k + at]) * rounded(b[at * n + column])).sum::<f64>()
            };
            for (left, right) in lefts.into_iter().flat_map(|left| rights.map(|right| (left, right))) {
                let left_of = |rows| Left::pack(left, rows, Pieces::One);
                let right_of = |columns| Right::pack(right, columns, Pieces::One);
                let found = by_columns(instructions, &left_of(0..m), n, right_of);
                assert_eq!(found, by_rows(instructions, m, left_of, &right_of(0..n)), "in parts of rows");
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

/// Pieces have as many bits as they promise, also where a factor is a part of a matrix.
#[test]
fn products_of_pieces_are_as_precise_as_the_pieces() {
    let (m, k, n) = (70, 1031, 90);
    let (a, b) = (numbers(m * k, 0.1), numbers(k * n, 0.5));
    let (a_turned, b_turned) = (transposed(&a, k), transposed(&b, n));
    let lefts = [Matrix::new(&a, m, k), Matrix::new(&a_turned, k, m).transpose()];
    let rights = [Matrix::new(&b, k, n), Matrix::new(&b_turned, n, k).transpose()];
    let (rows, columns) = (3..68, 17..83);
    // Random roundings of k products of numbers up to 3, each a 2^bits-th of it, and of sums in f32.
    for (pieces, bits) in [(Pieces::One, 8), (Pieces::Two, 16), (Pieces::Three, 22)] {
        if !is_available(pieces) {
            println!("NOT RUN: this processor does not multiply {pieces:?} of bf16");
            continue;
        }
        for (left, right) in lefts.into_iter().flat_map(|left| rights.map(|right| (left, right))) {
            let left = Left::pack(left, rows.clone(), pieces);
            let of_part = |part: Range<usize>| columns.start + part.start..columns.start + part.end;
            let found = multiply_by_columns(&left, columns.len(), |part| Right::pack(right, of_part(part), pieces));
            let mut furthest = 0.0_f64;
            for (at, &found) in found.iter().enumerate() {
                let (row, column) = (rows.start + at / columns.len(), columns.start + at % columns.len());
                let expected: f64 = (0..k).map(|at| f64::from(a[row * k + at]) * f64::from(b[at * n + column])).sum();
                furthest = furthest.max((f64::from(found) - expected).abs());
            }
            let bound = 9.0 * (k as f64).sqrt() / f64::from(1 << bits);
            assert!(furthest < bound, "{pieces:?}: {furthest} of {bound}");
        }
    }
}

/// As attention multiplies: some rows with a part of a matrix, which may end within it, added to other sums.
#[test]
fn parts_of_a_right_factor_are_added() {
    if !is_available(Pieces::Three) {
        println!("NOT RUN: this processor has no tiles");
        return;
    }
    let (rows, depth, columns, stride) = (29, 64, 70, 80);
    let (a, b) = (numbers(rows * depth, 0.1), numbers(100 * columns, 0.5));
    let left = Left::pack(Matrix::new(&a, rows, depth), 0..rows, Pieces::Three);
    let right = Right::pack(Matrix::new(&b, 100, columns), 0..columns, Pieces::Three);
    let mut found = vec![1.0; PANEL * stride];
    multiply_part(&left, &right, &Part { columns: 32..96, first_row: 64, adds: true }, (&mut found, stride));
    for (row, found) in found.chunks(stride).take(rows).enumerate() {
        for (column, &found) in (32..columns).zip(found) {
            let products =
                (0..36).map(|at| f64::from(a[row * depth + at]) * f64::from(b[(64 + at) * columns + column]));
            let expected = 1.0 + products.sum::<f64>();
            assert!((f64::from(found) - expected).abs() < 1e-4, "{row} {column}: {found} {expected}");
        }
        assert_eq!(found[64], 1.0, "nothing is written behind the part");
    }
}

/// A loss that is not finite has to show.
#[test]
fn what_is_not_finite_stays_so() {
    for &instructions in instructions() {
        for number in [f32::NAN, f32::from_bits(0x7f80_0001), f32::from_bits(0xffff_ffff), f32::INFINITY] {
            let (left, right) = ([1.0, number], [2.0, 1.0]);
            let (left, right) = (Matrix::new(&left, 1, 2), Matrix::new(&right, 2, 1));
            for pieces in [Pieces::One, Pieces::Two, Pieces::Three] {
                if instructions == Instructions::Tiles || pieces == Pieces::One {
                    let left = Left::pack(left, 0..1, pieces);
                    let found = by_columns(instructions, &left, 1, |columns| Right::pack(right, columns, pieces));
                    assert!(!found[0].is_finite(), "{instructions:?}, {pieces:?}: {number} becomes {}", found[0]);
                }
            }
        }
    }
}
