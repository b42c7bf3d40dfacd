use burn::tensor::{Device, Tensor, TensorData};

use super::{QuantizedFormat, QuantizedMatrix};
use crate::kernels::ComputeType;
use crate::model::token_ids;

fn rounded(rows: &[f32], columns: usize) -> QuantizedMatrix {
    let mut matrix = QuantizedMatrix::new(QuantizedFormat::Q8_0, rows.len() / columns, columns);
    rows.chunks(7 * columns).for_each(|rows| matrix.push_rounded(rows));
    matrix
}

fn wave(count: usize) -> Vec<f32> {
    (0..count).map(|i| (i as f32 * 0.37).sin() * (1.0 + i as f32 * 1e-3)).collect()
}

#[test]
fn numbers_are_rounded_to_8_bits_and_products_come_close() {
    // A row that ends within a part, and more rows than a panel.
    let (rows, columns) = (150, 72);
    let numbers = wave(rows * columns);
    let matrix = rounded(&numbers, columns);
    assert!(matrix.is_finite());
    // Groups of 16 rows, parts of 32 columns, a scale of two bytes each.
    assert_eq!(matrix.bytes(), 160 * (96 + 3 * 2));
    let device = Device::flex();
    let ids: Vec<u32> = (0..rows as u32).collect();
    let held: Vec<f32> = matrix.rows(&token_ids(&ids, [1, rows], &device)).into_data().iter().collect();
    for (held, numbers) in held.chunks(columns).zip(numbers.chunks(columns)) {
        for (held, numbers) in held.chunks(32).zip(numbers.chunks(32)) {
            let most = numbers.iter().fold(0.0, |most: f32, number| most.max(number.abs()));
            for (held, number) in held.iter().zip(numbers) {
                // Half a step, and what rounding the scale adds.
                assert!((held - number).abs() < 0.51 * most / 127.0 + 1e-3 * number.abs(), "{held}, not {number}");
            }
        }
    }
    let x = wave(3 * columns);
    let tensor = Tensor::<3>::from_data(TensorData::new(x.clone(), [1, 3, columns]), &device);
    let products: Vec<f32> = matrix.product(&tensor, ComputeType::F32).into_data().iter().collect();
    for (x, products) in x.chunks(columns).zip(products.chunks(rows)) {
        for (row, product) in numbers.chunks(columns).zip(products) {
            let terms = || x.iter().zip(row).map(|(x, weight)| x * weight);
            let (sum, size) = (terms().sum::<f32>(), terms().map(f32::abs).sum::<f32>());
            assert!((product - sum).abs() < 1e-2 * size, "{product}, not {sum}");
        }
    }
}

/// Processors that multiply bf16 split numbers into two pieces for many tokens, or round them where that is asked for.
#[test]
fn products_of_many_tokens_are_those_of_single_ones() {
    let (rows, columns, count) = (150, 256, 130);
    for format in QuantizedFormat::ALL {
        // Bytes that are no scale with the exponent of NaN.
        let bytes = |at: usize| (at.wrapping_mul(2_654_435_761) >> 13) as u8 & 0x3f;
        let row_bytes = columns / format.block() * format.block_bytes();
        let mut matrix = QuantizedMatrix::new(format, rows, columns);
        matrix.push_blocks(&(0..rows * row_bytes).map(bytes).collect::<Vec<u8>>());
        let x = wave(count * columns);
        let product = |x: &[f32], compute| -> Vec<f32> {
            let shape = [1, x.len() / columns, columns];
            let x = Tensor::<3>::from_data(TensorData::new(x.to_vec(), shape), &Device::flex());
            matrix.product(&x, compute).into_data().iter().collect()
        };
        let single: Vec<f32> = x.chunks(columns).flat_map(|x| product(x, ComputeType::F32)).collect();
        let largest = single.iter().fold(0.0, |most: f32, number| most.max(number.abs()));
        for (compute, bound) in [(ComputeType::F32, 1e-4), (ComputeType::Bf16, 2e-2)] {
            let apart = product(&x, compute).iter().zip(&single).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
            assert!(apart < bound * largest, "{format}, {}: {apart} of {largest}", compute.name());
        }
    }
}

/// Generation ends with an error message where numbers are lost.
#[test]
fn what_is_not_finite_stays_so() {
    for number in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        assert!(!rounded(&[1.0, number, 2.0], 3).is_finite(), "{number}");
        let x = Tensor::<3>::from_data(TensorData::new(vec![1.0, number, 2.0], [1, 1, 3]), &Device::flex());
        let product: f32 = rounded(&[1.0; 3], 3).product(&x, ComputeType::F32).into_scalar();
        assert!(!product.is_finite(), "{number}");
    }
}
