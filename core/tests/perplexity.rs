//! Losses of a text that is read in chunks through the cache.
#![cfg(not(target_arch = "wasm32"))]

mod parity;

use burn::tensor::Device;
use drope_core::error::Error;
use drope_core::generate::Flow;
use drope_core::perplexity::{Continuation, continuation_losses, token_losses};
use parity::{case, ids_tensor};
use pollster::block_on;

/// −ln softmax(logits)[target], in f64.
fn cross_entropy(logits: &[f32], target: u32) -> f64 {
    let highest = f64::from(logits.iter().copied().fold(f32::NEG_INFINITY, f32::max));
    let sum: f64 = logits.iter().map(|&logit| (f64::from(logit) - highest).exp()).sum();
    highest + sum.ln() - f64::from(logits[target as usize])
}

#[test]
fn chunks_give_the_losses_of_one_pass() {
    let device = Device::flex();
    for name in ["rope", "yarn", "drope", "alibi", "rnope-swa", "dynamic-ntk", "longrope", "dope-parts"] {
        let case = case(name);
        let (model, config, positions) = (case.model(&device), case.config(), case.positions());
        // More than two chunks, the last of them a short one.
        let ids: Vec<u32> = case.ids().into_iter().cycle().take(600).collect();
        let found = block_on(token_losses(&model, &config, &positions, &ids, async |_| Flow::Continue)).unwrap();
        // The last token is predicted, not read: frequencies that depend on the length are those of the whole text.
        let read = ids_tensor(&ids, &device);
        let logits: Vec<f32> = model.forward(read, &positions, None).into_data().iter::<f32>().collect();
        let expected = logits.chunks(config.vocab_size).zip(&ids[1..]).map(|(row, &id)| cross_entropy(row, id));
        assert_eq!(found.len(), 599);
        for (at, (found, expected)) in found.iter().zip(expected).enumerate() {
            assert!((f64::from(*found) - expected).abs() < 1e-4, "{name}, token {at}: {found} and {expected}");
        }
    }
}

#[test]
fn continuations_have_the_losses_of_whole_texts_and_share_what_they_follow() {
    let device = Device::flex();
    let go_on = async |_: usize| Flow::Continue;
    // Two of one length, whose frequencies are the same, and windows, which forget the beginning.
    for (name, is_shared) in [("rope", true), ("drope", true), ("dynamic-ntk", true), ("rnope-swa", false)] {
        let case = case(name);
        let (model, config, positions) = (case.model(&device), case.config(), case.positions());
        let beginning: Vec<u32> = case.ids().into_iter().cycle().take(300).collect();
        let texts = [[5, 6, 7, 8], [5, 9, 1, 2]].map(|end| [&beginning[..], &end].concat());
        // More tokens of the second are predicted than its own: they are read again.
        let asked = [(&texts[0], 4), (&texts[1], 280)].map(|(ids, count)| Continuation { ids, count });
        let mut read = 0;
        let observe = async |tokens: usize| {
            read = tokens;
            Flow::Continue
        };
        let found = block_on(continuation_losses(&model, &config, &positions, &asked, observe)).unwrap();
        assert_eq!(read, if is_shared { 303 + 303 - 23 } else { 2 * 303 }, "{name}");
        for (text, found) in asked.iter().zip(found) {
            let whole = block_on(token_losses(&model, &config, &positions, text.ids, go_on)).unwrap();
            assert_eq!(found.len(), text.count);
            for (found, whole) in found.iter().zip(&whole[303 - text.count..]) {
                assert!((found - whole).abs() < 1e-4, "{name}: {found} and {whole}");
            }
        }
    }
}

#[test]
fn texts_without_a_prediction_are_refused() {
    let case = case("rope");
    let (model, config, positions) = (case.model(&Device::flex()), case.config(), case.positions());
    let losses = |ids: &[u32]| block_on(token_losses(&model, &config, &positions, ids, async |_| Flow::Continue));
    assert!(matches!(losses(&[1]), Err(Error::Zero(_))));
    assert!(matches!(losses(&[1, 48]), Err(Error::TokenId { id: 48, .. })));
}
