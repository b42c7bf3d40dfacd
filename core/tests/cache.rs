//! Compares the key-value cache with reading the whole text at once.
#![cfg(not(target_arch = "wasm32"))]

mod parity;

use burn::tensor::Device;
use drope_core::model::{Cache, NumberType, NumberTypes};
use drope_core::positions::Positions;
use parity::{CASES, Case, case, ids_tensor, largest_difference};
use pollster::block_on;

/// Weights in 32 bits beside a cache of `cache`.
fn types(cache: NumberType) -> NumberTypes {
    NumberTypes { cache, ..NumberTypes::default() }
}

#[test]
fn cached_equals_uncached() {
    for case in CASES.iter() {
        for first in [1, 7, case.ids().len() - 1] {
            let difference = block_on(case.cache_difference(&Device::flex(), first));
            assert!(difference < 1e-4, "{} after {first}: {difference}", case.name);
        }
    }
}

#[test]
fn a_cache_grows_past_its_first_block_without_changing_the_answer() {
    let case = case("rope");
    let device = Device::flex();
    let ids = case.ids().repeat(10); // 400 tokens, in blocks of 128
    let (model, positions) = (case.model(&device), case.positions());
    let read = |ids: &[u32], cache: Option<&mut Cache>| -> Vec<f32> {
        model.forward(ids_tensor(ids, &device), &positions, cache).into_data().iter::<f32>().collect()
    };
    let whole = read(&ids, None);
    for parts in [vec![100, 100, 1, 199], vec![1; 400]] {
        let mut cache = model.cache(&case.config(), &positions, 1);
        let (mut found, mut at) = (Vec::new(), 0);
        for part in parts {
            found.extend(read(&ids[at..at + part], Some(&mut cache)));
            at += part;
        }
        let difference = largest_difference(&found, &whole);
        assert!(difference < 1e-4, "{difference}");
    }
}

#[test]
fn a_sliding_window_bounds_the_cache() {
    let device = Device::flex();
    let case = case("rnope-swa");
    let (model, positions) = (case.model(&device), case.positions());
    let ids = case.ids().repeat(30); // 1200 tokens; the window is 4
    let read = |ids: &[u32]| ids_tensor(ids, &device);
    let mut cache = model.cache(&case.config(), &positions, ids.len());
    let room = cache.capacity();
    let mut last = Vec::new();
    for &id in &ids {
        last = model.forward(read(&[id]), &positions, Some(&mut cache)).into_data().iter::<f32>().collect();
    }
    assert_eq!((cache.len(), cache.capacity()), (ids.len(), room));
    // One layer of five sees everything.
    let full = ids.len().next_multiple_of(128);
    assert!(room < 2 * full, "{room}");
    // In chunks a window keeps a chunk besides, however many come.
    let mut chunked = model.cache(&case.config(), &positions, ids.len());
    for chunk in ids.chunks(256) {
        model.forward(read(chunk), &positions, Some(&mut chunked));
    }
    assert!(chunked.capacity() <= full + 4 * (256 + 128), "{}", chunked.capacity());
    let whole = model.forward(read(&ids), &positions, None).slice_dim(1, -1).into_data();
    let difference = largest_difference(&last, &whole.iter::<f32>().collect::<Vec<_>>());
    assert!(difference < 1e-4, "{difference}");
}

#[cfg(feature = "train")]
#[test]
fn gradients_flow_through_a_cache() {
    let (case, device) = (case("rope"), Device::flex().autodiff());
    let (model, ids) = (case.model(&device), ids_tensor(&case.ids(), &device));
    let parameters_with_gradients = |cache: Option<&mut Cache>| {
        let gradients = model.forward(ids.clone(), &case.positions(), cache).sum().backward();
        burn::optim::GradientsParams::from_grads(gradients, &model).len()
    };
    let mut cache = model.cache(&case.config(), &case.positions(), 1);
    assert_eq!(parameters_with_gradients(Some(&mut cache)), parameters_with_gradients(None));
}

/// Logits of a text, read in parts through a cache.
fn logits(case: &Case, positions: &Positions, kind: NumberType, ids: &[u32], parts: &[usize]) -> Vec<f32> {
    let device = Device::flex();
    let model = case.model_as(types(kind), &device);
    let mut cache = model.cache(&case.config(), positions, 1);
    cache.expect_prompt(ids.len());
    let (mut found, mut at) = (Vec::new(), 0);
    for part in parts {
        let part = ids_tensor(&ids[at..at + part], &device);
        at += part.dims()[1];
        found.extend(model.forward(part, positions, Some(&mut cache)).into_data().iter::<f32>());
    }
    found
}

/// Norm of the difference of two lists, divided by the norm of the second.
fn distance(found: &[f32], expected: &[f32]) -> f32 {
    let length = |values: &mut dyn Iterator<Item = f32>| values.map(|value| value * value).sum::<f32>().sqrt();
    length(&mut found.iter().zip(expected).map(|(a, b)| a - b)) / length(&mut expected.iter().copied())
}

/// The last layer of a prompt is computed for its last token alone: for every method, behind a prompt that a window does and does not
/// reach, and for a cache in few bits.
#[test]
fn the_next_token_has_the_logits_of_a_whole_pass() {
    let device = Device::flex();
    for case in CASES.iter() {
        let (config, positions) = (case.config(), case.positions());
        let ids: Vec<u32> = case.ids().into_iter().cycle().take(150).collect();
        for kind in [NumberType::F32, NumberType::Q8] {
            let model = case.model_as(types(kind), &device);
            for parts in [&[150][..], &[60, 1, 89]] {
                let whole = logits(case, &positions, kind, &ids, parts);
                let mut cache = model.cache(&config, &positions, 1);
                cache.expect_prompt(ids.len());
                let (mut found, mut at) = (Vec::new(), 0);
                for part in parts {
                    let part = ids_tensor(&ids[at..at + part], &device);
                    at += part.dims()[1];
                    found = model.next_logits(part, &positions, &mut cache).into_data().iter::<f32>().collect();
                }
                let apart = distance(&found, &whole[whole.len() - found.len()..]);
                assert!(apart < 1e-5, "{} in {} in {} parts: {apart}", case.name, kind.name(), parts.len());
            }
        }
    }
}

/// For every method: in chunks and token by token, past the first block, and with a window that has dropped the
/// beginning.
#[test]
fn a_smaller_cache_gives_nearly_the_same_logits() {
    for case in CASES.iter() {
        let positions = case.positions();
        let ids: Vec<u32> = case.ids().into_iter().cycle().take(150).collect();
        let parts = [&[70, 60][..], &[1; 20]].concat();
        let full = logits(case, &positions, NumberType::F32, &ids, &parts);
        for (kind, bound) in [(NumberType::F16, 2e-3), (NumberType::Bf16, 2e-2), (NumberType::Q8, 5e-2)] {
            let apart = distance(&logits(case, &positions, kind, &ids, &parts), &full);
            assert!(apart > 0.0 && apart < bound, "{} in {}: {apart}", case.name, kind.name());
        }
    }
}
