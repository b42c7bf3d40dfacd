//! The comparisons with transformers, in a browser: on its CPU and on WebGPU.
#![cfg(target_arch = "wasm32")]

#[path = "../../../core/tests/parity/mod.rs"]
mod parity;

use burn::tensor::Device;
use drope_core::Error;
use drope_core::model::{LAUNCHES_AT_ONCE, NumberTypes, WeightType};
use parity::{CASES, case};
use wasm_bindgen_test::{wasm_bindgen_test, wasm_bindgen_test_configure};

wasm_bindgen_test_configure!(run_in_browser);

#[wasm_bindgen_test]
async fn the_cpu_matches_transformers() {
    for case in CASES.iter() {
        let difference = case.difference(&Device::flex()).await;
        assert!(difference < 1e-4, "{}: {difference}", case.name);
    }
}

#[wasm_bindgen_test]
async fn webgpu_matches_transformers() {
    // One device for all: a second one cannot be opened.
    let device = Device::wgpu_options().tasks_max(LAUNCHES_AT_ONCE).init_async().await.expect("this test needs WebGPU");
    for case in CASES.iter() {
        let difference = case.difference(&device).await;
        assert!(difference < 1e-3, "{}: {difference}", case.name);
    }
    for name in ["yarn", "drope", "alibi", "rnope-swa", "qwen2"] {
        let case = case(name);
        let difference = case.cache_difference(&device, 36).await;
        assert!(difference < 1e-3, "{name} through the cache: {difference}");
        assert_eq!(case.greedy(&device, 4).await, case.greedy(&Device::flex(), 4).await, "{name}");
    }
    // The CPU multiplies weights of 8 bits with numbers that it rounds to 16.
    for (kind, tolerance) in [(WeightType::F16, 1e-3), (WeightType::Q8, 5e-3)] {
        let difference =
            case("qwen2").packed_difference(NumberTypes { weights: kind, ..NumberTypes::default() }, &device).await;
        assert!(difference < tolerance, "{}: {difference}", kind.name());
    }
    let absurd = case("rope").absurd(&device).await;
    assert!(matches!(absurd, Err(Error::ComputedNotFinite("logits"))), "{absurd:?}");
}
