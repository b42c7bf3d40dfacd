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
