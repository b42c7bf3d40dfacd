//! Values and gradients of attention in chunks and of products in bf16.

use burn::tensor::{Device, Tensor, TensorData};
use drope_core::kernels::{AttentionBias, attend_in_chunks, gradients_in_chunks, linear};
use drope_core::model::ComputeType;
use drope_core::positions::{Encoding, LayerPositions};

use crate::device::OpenDevice;
use crate::parity::largest_difference;
use crate::{TOLERANCE, gpu};

/// Largest difference, of the largest number, where factors are rounded to bf16.
const BF16_TOLERANCE: f32 = 2e-2;

/// Over more keys than a workgroup has units: two texts of two documents each, whose keys count several times, with a window or slopes.
#[test]
fn attention_in_chunks_has_the_values_and_gradients_of_the_cpu() {
    const SEQ: usize = 600;
    let Some(OpenDevice { device, .. }) = gpu("attention in chunks") else { return };
    let computed = |layer: &LayerPositions, device: &Device, compute: ComputeType| {
        let numbers = |shape: [usize; 4], seed: usize| {
            let values =
                (0..shape.iter().product()).map(|i: usize| ((i * i + seed * i + seed) % 251) as f32 / 125.0 - 1.0);
            Tensor::<4>::from_data(TensorData::new(values.collect::<Vec<f32>>(), shape), device)
        };
        let inputs = [(4, 1), (2, 2), (2, 3)].map(|(heads, seed)| numbers([2, heads, SEQ, 32], seed));
        let logs = Tensor::from_inner(numbers([2, 1, 1, SEQ], 5));
        let starts: Vec<usize> = (0..2 * SEQ).map(|i| if i % SEQ < 350 { 0 } else { 350 }).collect();
        let bias = AttentionBias::new(layer, 0..SEQ, Some(&logs)).with_documents(Some(starts.into()));
        let output = attend_in_chunks(inputs.clone(), &bias, 256, compute);
        let [of_q, of_k, of_v] = gradients_in_chunks(inputs, &bias, 256, compute, &numbers([2, 4, SEQ, 32], 7));
        [output, of_q, of_k, of_v].map(|tensor| tensor.into_data().iter::<f32>().collect::<Vec<f32>>())
    };
    let slopes = Encoding::Alibi { slopes: vec![0.5, 0.25, 0.125, 0.0625] };
    for layer in [
        LayerPositions { encoding: Encoding::None, window: Some(300) },
        LayerPositions { encoding: slopes, window: None },
    ] {
        let expected = computed(&layer, &Device::flex(), ComputeType::F32);
        for (compute, tolerance) in [(ComputeType::F32, TOLERANCE), (ComputeType::Bf16, BF16_TOLERANCE)] {
            if !compute.is_native_to(&device) {
                println!("NOT RUN: attention in {}, which this device does not multiply", compute.name());
                continue;
            }
            for (found, expected) in computed(&layer, &device, compute).iter().zip(&expected) {
                let largest = expected.iter().fold(0f32, |most, number| most.max(number.abs()));
                let difference = largest_difference(found, expected) / largest;
                println!("{layer:?} in {}: largest difference {difference:.1e} of the largest number", compute.name());
                assert!(difference < tolerance, "{layer:?} in {}: {difference}", compute.name());
            }
        }
    }
}

/// Of so many tokens that the sum of a gradient of weights is cut into parts, which do not divide them; with a matrix and its transpose.
#[test]
fn products_in_bf16_have_the_values_and_gradients_of_the_cpu() {
    let Some(OpenDevice { device, .. }) = gpu("products in bf16") else { return };
    if !ComputeType::Bf16.is_native_to(&device) {
        println!("NOT RUN: products in bf16, which this device does not multiply");
        return;
    }
    let computed = |is_transposed: bool, device: &Device, compute: ComputeType| {
        let device = device.clone().autodiff();
        let numbers = |count: usize, seed: usize| -> Vec<f32> {
            (0..count).map(|i| ((i * i + seed * i + seed) % 251) as f32 / 125.0 - 1.0).collect()
        };
        let x = Tensor::<3>::from_data(TensorData::new(numbers(2 * 701 * 40, 1), [2, 701, 40]), &device).require_grad();
        let shape = if is_transposed { [72, 40] } else { [40, 72] };
        let weights = Tensor::<2>::from_data(TensorData::new(numbers(40 * 72, 2), shape), &device).require_grad();
        let matrix = if is_transposed { weights.clone().transpose() } else { weights.clone() };
        let output = linear(x.clone(), matrix, compute);
        let factors = Tensor::from_data(TensorData::new(numbers(2 * 701 * 72, 3), [2, 701, 72]), &device);
        let mut gradients = (output.clone() * factors).sum().backward();
        let values = |data: TensorData| data.iter::<f32>().collect::<Vec<f32>>();
        [
            values(output.inner().into_data()),
            values(x.grad_remove(&mut gradients).unwrap().into_data()),
            values(weights.grad_remove(&mut gradients).unwrap().into_data()),
        ]
    };
    for is_transposed in [false, true] {
        let expected = computed(is_transposed, &Device::flex(), ComputeType::F32);
        let found = computed(is_transposed, &device, ComputeType::Bf16);
        for (what, (found, expected)) in ["output", "of x", "of the weights"].iter().zip(found.iter().zip(&expected)) {
            let largest = expected.iter().fold(0f32, |most, number| most.max(number.abs()));
            let difference = largest_difference(found, expected) / largest;
            println!("{what}, transposed {is_transposed}: largest difference {difference:.1e} of the largest number");
            assert!(difference < BF16_TOLERANCE, "{what}, transposed {is_transposed}: {difference}");
        }
    }
}
