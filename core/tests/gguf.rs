//! GGUF against PyPI's `gguf` (tests/gguf_fixture.py).

use drope_core::burn::tensor::{Device, Tensor, TensorData};
use drope_core::gguf::{GgmlType, Gguf};
use drope_core::kernels::{ComputeType, QuantizedFormat, QuantizedMatrix};
use drope_core::model::{SafetensorsFiles, WeightSource, token_ids};

fn fixture(name: &str) -> Vec<u8> {
    std::fs::read(format!("{}/tests/fixtures/gguf/{name}", env!("DROPE_ROOT"))).unwrap()
}

#[test]
fn every_type_is_widened_bit_for_bit() {
    let (file, expected) = (fixture("types.gguf"), fixture("types.safetensors"));
    let (file, expected) = (Gguf::open(&file[..]).unwrap(), SafetensorsFiles::from_bytes(&expected).unwrap());
    let types: Vec<&str> = file.types().into_iter().map(GgmlType::name).collect();
    assert_eq!(types, ["F32", "F16", "BF16", "Q4_0", "Q4_1", "Q8_0", "Q4_K", "Q6_K"]);
    for (layer, kind) in types.iter().enumerate() {
        let name = format!("model.layers.{layer}.self_attn.v_proj.weight");
        let bits = |source: &dyn WeightSource| -> Vec<u32> {
            source.tensor(&name, &[3, 512]).unwrap().iter::<f32>().map(f32::to_bits).collect()
        };
        assert_eq!(bits(&file), bits(&expected), "{kind}");
    }
}

/// What a product rounds its numbers to: 16 bits, with a scale for each 32.
fn rounded(x: &[f32]) -> Vec<f64> {
    let part = |part: &[f32]| -> Vec<f64> {
        let most = part.iter().fold(0.0, |most: f32, number| most.max(number.abs()));
        part.iter().map(|number| f64::from((number * (32512.0 / most)).round_ties_even() * (most / 32512.0))).collect()
    };
    x.chunks(32).flat_map(part).collect()
}

#[test]
fn quantized_matrices_hold_the_numbers_of_the_file_and_multiply_them() {
    const ROWS: usize = 3;
    const COLUMNS: usize = 512;
    let (file, expected) = (fixture("types.gguf"), fixture("types.safetensors"));
    let (file, expected) = (Gguf::open(&file[..]).unwrap(), SafetensorsFiles::from_bytes(&expected).unwrap());
    let device = Device::flex();
    let mut formats = Vec::new();
    for layer in 0..file.types().len() {
        let name = format!("model.layers.{layer}.self_attn.v_proj.weight");
        let Some(found) = file.quantized_rows(&name, &[ROWS, COLUMNS], 0..ROWS).unwrap() else { continue };
        formats.push(found.format.name());
        // More rows than a panel, the last group of which is not full.
        let copies = 27;
        let mut matrix = QuantizedMatrix::new(found.format, copies * ROWS, COLUMNS);
        (0..copies).for_each(|_| matrix.push_blocks(&found.bytes));
        let numbers: Vec<f32> = expected.tensor(&name, &[ROWS, COLUMNS]).unwrap().iter::<f32>().collect();
        let ids: Vec<u32> = (0..(copies * ROWS) as u32).collect();
        let rows: Vec<f32> = matrix.rows(&token_ids(&ids, [1, ids.len()], &device)).into_data().iter().collect();
        assert_eq!(rows, numbers.repeat(copies), "{}", found.format);
        // One token; a tile of them and what is left over; so many that they may be multiplied in bf16, which has eight binary digits.
        for (count, compute, tolerance) in
            [(1, ComputeType::F32, 1e-6), (21, ComputeType::F32, 1e-6), (70, ComputeType::Bf16, 4e-3)]
        {
            let x: Vec<f32> =
                (0..count * COLUMNS).map(|at| (at as f32 * 0.37).sin() * (1.0 + at as f32 * 1e-3)).collect();
            let tensor = Tensor::<3>::from_data(TensorData::new(x.clone(), [1, count, COLUMNS]), &device);
            let products: Vec<f32> = matrix.product(&tensor, compute).into_data().iter().collect();
            for (x, products) in rounded(&x).chunks(COLUMNS).zip(products.chunks(copies * ROWS)) {
                for (row, &product) in numbers.chunks(COLUMNS).cycle().zip(products) {
                    let terms = || x.iter().zip(row).map(|(x, weight)| x * f64::from(*weight));
                    let (sum, size) = (terms().sum::<f64>(), terms().map(f64::abs).sum::<f64>());
                    let difference = (f64::from(product) - sum).abs();
                    assert!(difference < tolerance * size, "{}, {count} tokens: {product}, not {sum}", found.format);
                }
            }
        }
    }
    assert_eq!(formats, QuantizedFormat::ALL.map(QuantizedFormat::name));
}
