//! The comparisons with transformers, in a browser: on its CPU and on WebGPU.
#![cfg(target_arch = "wasm32")]

#[path = "../../../core/tests/parity/mod.rs"]
mod parity;

use burn::tensor::Device;
use drope_core::Error;
use drope_core::model::{NumberType, NumberTypes, WeightType, use_subgroups};
use drope_worker::open_webgpu;
use parity::{CASES, case};
use wasm_bindgen_test::{console_log, wasm_bindgen_test, wasm_bindgen_test_configure};

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
    let (device, subgroups) = open_webgpu(true).await.expect("this test needs WebGPU");
    // As the page opens it; then without subgroups, which some browsers do not have.
    console_log!("subgroups of {subgroups} units");
    let forms = if subgroups == 1 { vec![1] } else { vec![subgroups, 1] };
    for units in forms {
        assert_eq!(use_subgroups(&device, units).await, units);
        for case in CASES.iter() {
            let difference = case.difference(&device).await;
            assert!(difference < 1e-3, "{}, subgroups of {units}: {difference}", case.name);
        }
        for name in ["yarn", "drope", "alibi", "rnope-swa", "qwen2"] {
            let case = case(name);
            let difference = case.cache_difference(&device, 36).await;
            assert!(difference < 1e-3, "{name} through the cache, subgroups of {units}: {difference}");
            assert_eq!(case.greedy(&device, 4).await, case.greedy(&Device::flex(), 4).await, "{name}");
        }
    }
    // Both devices round keys and values where this one has f16; where not, the difference is that of the rounding.
    let types = NumberTypes { cache: NumberType::F16, ..NumberTypes::default() };
    let difference = case("qwen2").packed_difference(types, &device).await;
    console_log!("keys and values in f16: {difference:.1e}");
    assert!(difference < 1e-2, "keys and values in f16: {difference}");
    // The CPU multiplies weights of 8 bits with numbers that it rounds to 16.
    for (kind, tolerance) in [(WeightType::F16, 1e-3), (WeightType::Q8, 5e-3)] {
        let difference =
            case("qwen2").packed_difference(NumberTypes { weights: kind, ..NumberTypes::default() }, &device).await;
        assert!(difference < tolerance, "{}: {difference}", kind.name());
    }
    let absurd = case("rope").absurd(&device).await;
    assert!(matches!(absurd, Err(Error::ComputedNotFinite("logits"))), "{absurd:?}");
}
