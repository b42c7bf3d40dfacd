//! Products by the instructions of browsers. The tests of drope-instructions run natively only, so that these are tested here.
#![cfg(target_arch = "wasm32")]

use burn::tensor::{Device, Int, Tensor, TensorData};
use drope_core::kernels::{ComputeType, QuantizedFormat, QuantizedMatrix};
use drope_instructions::small::{Factor, product};
use wasm_bindgen_test::{wasm_bindgen_test, wasm_bindgen_test_configure};

wasm_bindgen_test_configure!(run_in_browser);

#[wasm_bindgen_test]
fn small_products_are_the_sums() {
    // Small integers, whose sums are exact; every number of rows of a block, rows that lie apart, and both orders of the left factor.
    for [m, k, n] in [[1, 1, 8], [7, 5, 16], [7, 0, 16], [9, 33, 24]] {
        let left = |i: usize, at: usize| ((i * 5 + at * 3) % 9) as f32 - 4.0;
        let right = |at: usize, j: usize| ((at * 7 + j) % 5) as f32;
        let stride = n + 3;
        let right_values: Vec<f32> = (0..k * stride).map(|place| right(place / stride, place % stride)).collect();
        let rows: Vec<f32> = (0..m * k).map(|place| left(place / k, place % k)).collect();
        let turned: Vec<f32> = (0..m * k).map(|place| left(place % m, place / m)).collect();
        let sum = |i: usize, j: usize| (0..k).map(|at| left(i, at) * right(at, j)).sum::<f32>();
        let expected: Vec<f32> = (0..m * n).map(|place| sum(place / n, place % n)).collect();
        let right = Factor { values: &right_values, steps: [stride, 1] };
        for left in [Factor { values: &rows, steps: [k, 1] }, Factor { values: &turned, steps: [1, m] }] {
            let mut output = vec![1.0; m * n];
            product::<true>([m, k, n], left, right, &mut output);
            let more: Vec<f32> = expected.iter().map(|sum| sum + 1.0).collect();
            assert_eq!(output, more, "[{m}, {k}] · [{k}, {n}]");
            product::<false>([m, k, n], left, right, &mut output);
            assert_eq!(output, expected, "[{m}, {k}] · [{k}, {n}]");
        }
    }
}

/// One token and a full tile, for which weights are not loaded, and more tokens, for which they are.
#[wasm_bindgen_test]
fn quantized_products_are_the_sums() {
    let device = Device::flex();
    for format in [QuantizedFormat::Q8_0, QuantizedFormat::Q4_1, QuantizedFormat::Q6K] {
        let (rows, columns) = (19, format.block() * 3);
        let mut matrix = QuantizedMatrix::new(format, rows, columns);
        let blocks = rows * columns / format.block();
        let mut bytes: Vec<u8> = (0..blocks * format.block_bytes()).map(|at| (at * 37 + at / 7) as u8).collect();
        // Scales and minima are finite: their highest bits are those of numbers from 2⁻⁷ on.
        for block in bytes.chunks_exact_mut(format.block_bytes()) {
            match format {
                QuantizedFormat::Q6K => block[209] = 0x20,
                QuantizedFormat::Q4_1 => [block[1], block[3]] = [0x20, 0x22],
                _ => block[1] = 0x20,
            }
        }
        matrix.push_blocks(&bytes);
        let ids: Vec<i32> = (0..rows as i32).collect();
        let ids = Tensor::<2, Int>::from_data(TensorData::new(ids, [1, rows]), &device);
        let numbers: Vec<f32> = matrix.rows(&ids).into_data().iter().collect();
        for tokens in [1, 2, 5] {
            let x: Vec<f32> = (0..tokens * columns).map(|at| (at as f32 * 0.37).sin()).collect();
            let tensor = Tensor::<3>::from_data(TensorData::new(x.clone(), [1, tokens, columns]), &device);
            let products: Vec<f32> = matrix.product(&tensor, ComputeType::F32).into_data().iter().collect();
            for (x, products) in x.chunks(columns).zip(products.chunks(rows)) {
                for (row, product) in numbers.chunks(columns).zip(products) {
                    let terms = || x.iter().zip(row).map(|(&x, &weight)| f64::from(x) * f64::from(weight));
                    let (sum, size) = (terms().sum::<f64>(), terms().map(f64::abs).sum::<f64>());
                    assert!(
                        (f64::from(*product) - sum).abs() < 1e-4 * size,
                        "{format}, {tokens}: {product}, not {sum}"
                    );
                }
            }
        }
    }
}
