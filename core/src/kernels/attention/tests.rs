//! Compares the fused form with the reference form, and packed keys and values with tensors.

use std::sync::Arc;

use burn::tensor::Tensor;

use super::{AttentionBias, KeysOrValues, PackedRows, attend, attend_in_chunks, gradients_in_chunks};
use crate::kernels::check::{check, random};
use crate::kernels::{ComputeType, NumberType, PackedMatrix, with_reference_kernels};
use crate::positions::{Encoding, LayerPositions};

/// Values and gradients of `[1, heads, queries, head_dim]` behind `past` keys that are held.
fn compare(layer: &LayerPositions, heads: [usize; 2], queries: usize, past: usize, multiplicity: bool) {
    for head_dim in [16, 20, 32, 64] {
        let [heads, kv_heads] = heads;
        let logs = multiplicity.then(|| (random([2, 1, 1, past + queries], 5) + 1.0) * 2.0);
        let all = random([2, heads + 2 * kv_heads, past + queries, head_dim], 1);
        check(&[all], |[x]: [Tensor<4>; 1]| {
            let logs = logs.clone().map(|logs| if x.device().is_autodiff() { logs.autodiff() } else { logs });
            let bias = AttentionBias::new(layer, past..past + queries, logs.as_ref());
            let seen = past - bias.past()..past + queries;
            let part = |from: usize, to: usize| x.clone().narrow(1, from, to - from);
            let q = part(0, heads).narrow(2, past, queries) / (head_dim as f64).sqrt();
            let keys = |x: Tensor<4>| x.narrow(2, seen.start, seen.len());
            let (k, v) = (part(heads, heads + kv_heads), part(heads + kv_heads, heads + 2 * kv_heads));
            attend(q, keys(k).into(), keys(v).into(), &bias, ComputeType::F32, None)
        });
    }
}

#[test]
fn the_fused_form_equals_the_plain_one() {
    let all = LayerPositions { encoding: Encoding::None, window: None };
    let alibi = LayerPositions { encoding: Encoding::Alibi { slopes: vec![0.5, 0.25, 0.125, 0.0625] }, window: None };
    let window = LayerPositions { encoding: Encoding::None, window: Some(70) };
    for layer in [&all, &alibi, &window] {
        // Shorter than a tile, one more than a tile, several; one token and a chunk behind a cache.
        for (queries, past) in [(2, 0), (5, 0), (49, 0), (200, 0), (1, 130), (3, 200), (60, 131)] {
            compare(layer, [4, 2], queries, past, false);
        }
        compare(layer, [4, 4], 150, 0, true);
    }
    // Few queries behind several parts of keys, of which a window leaves out the first; more of them than a tile has.
    for layer in [&all, &alibi, &LayerPositions { encoding: Encoding::None, window: Some(600) }] {
        compare(layer, [4, 2], 3, 1200, false);
    }
    compare(&all, [8, 1], 7, 700, false);
    // An odd number of query heads that share keys.
    compare(&all, [6, 2], 1, 130, false);
}

/// Values and gradients of attention in chunks, against those of attention at once.
fn compare_chunks(layer: &LayerPositions, logs: Option<&Tensor<4>>, starts: Option<&Arc<[usize]>>) {
    let x = random([2, 8, 90, 16], 1);
    let inputs = [(0, 4), (4, 2), (6, 2)].map(|(from, heads)| x.clone().narrow(1, from, heads));
    let of_output = random([2, 4, 90, 16], 2);
    let logs = logs.map(|logs| Tensor::from_inner(logs.clone()));
    let bias = AttentionBias::new(layer, 0..90, logs.as_ref()).with_documents(starts.cloned());
    let leaves = inputs.clone().map(|input| Tensor::from_inner(input).require_grad());
    let [q, k, v] = leaves.clone();
    let whole = attend(q, k.into(), v.into(), &bias, ComputeType::F32, None);
    let mut gradients = (whole.clone() * Tensor::from_inner(of_output.clone())).sum().backward();
    let whole = whole.inner();
    let of_whole = leaves.map(|leaf| leaf.grad_remove(&mut gradients).unwrap());
    for queries in [1, 7, 64, 200] {
        let apart = |one: &Tensor<4>, other: Tensor<4>| (one.clone() - other).abs().max().into_scalar::<f32>();
        let chunked = attend_in_chunks(inputs.clone(), &bias, queries, ComputeType::F32);
        assert!(apart(&whole, chunked) < 1e-5, "{queries} at a time");
        let of_chunked = gradients_in_chunks(inputs.clone(), &bias, queries, ComputeType::F32, &of_output);
        for (one, other) in of_whole.iter().zip(of_chunked) {
            assert!(apart(one, other) < 1e-4, "gradients, {queries} at a time");
        }
    }
}

#[test]
fn attention_in_chunks_is_attention() {
    let all = LayerPositions { encoding: Encoding::None, window: None };
    let alibi = LayerPositions { encoding: Encoding::Alibi { slopes: vec![0.5, 0.25, 0.125, 0.0625] }, window: None };
    let window = LayerPositions { encoding: Encoding::None, window: Some(70) };
    let logs = (random([2, 1, 1, 90], 5) + 1.0) * 2.0;
    // Documents of 20 and 70 tokens; of 89 and 1.
    let starts = [vec![0; 20], vec![20; 70], vec![0; 89], vec![89; 1]].concat().into();
    for layer in [&all, &alibi, &window] {
        for (logs, starts) in [(None, None), (Some(&logs), None), (None, Some(&starts)), (Some(&logs), Some(&starts))] {
            compare_chunks(layer, logs, starts);
            with_reference_kernels(|| compare_chunks(layer, logs, starts));
        }
    }
}

#[test]
fn the_last_query_alone_attends_as_it_does_among_all() {
    let x = random([2, 8, 90, 16], 1);
    let [q, k, v] = [(0, 4), (4, 2), (6, 2)].map(|(from, heads)| x.clone().narrow(1, from, heads));
    let logs = (random([2, 1, 1, 90], 5) + 1.0) * 2.0;
    // The last tokens are of documents that begin in the middle and at the last but one.
    let starts: Arc<[usize]> = [vec![0; 40], vec![40; 50], vec![0; 88], vec![88; 2]].concat().into();
    let alibi = Encoding::Alibi { slopes: vec![0.5, 0.25, 0.125, 0.0625] };
    for (encoding, window) in [(Encoding::None, None), (Encoding::None, Some(30)), (alibi, None)] {
        let layer = LayerPositions { encoding, window };
        for starts in [None, Some(starts.clone())] {
            let bias = AttentionBias::new(&layer, 0..90, Some(&logs)).with_documents(starts);
            let all = attend(q.clone(), k.clone().into(), v.clone().into(), &bias, ComputeType::F32, None);
            let bias = bias.of_queries(89..90);
            let keys = |x: &Tensor<4>| KeysOrValues::from(x.clone().narrow(2, 89 - bias.past(), bias.past() + 1));
            let last = attend(q.clone().narrow(2, 89, 1), keys(&k), keys(&v), &bias, ComputeType::F32, None);
            let apart = (all.narrow(2, 89, 1) - last).abs().max().into_scalar::<f32>();
            assert!(apart < 1e-6, "{apart}");
        }
    }
}

#[test]
fn documents_of_a_row_do_not_see_each_other() {
    // Documents of 1, 90, 2 and 57 tokens; of 150; of 70 and 80.
    let rows: [&[usize]; 3] = [&[1, 90, 2, 57], &[150], &[70, 80]];
    let starts = |documents: &[usize]| {
        let mut starts = Vec::new();
        for &length in documents {
            starts.resize(starts.len() + length, starts.len());
        }
        starts
    };
    let all: Arc<[usize]> = rows.iter().flat_map(|documents| starts(documents)).collect();
    let none = LayerPositions { encoding: Encoding::None, window: None };
    let window = LayerPositions { encoding: Encoding::Alibi { slopes: vec![0.5, 0.25, 0.1, 0.02] }, window: Some(60) };
    for layer in [&none, &window] {
        let attended = |[x]: [Tensor<4>; 1], starts: Option<Arc<[usize]>>| {
            let bias = AttentionBias::new(layer, 0..x.dims()[2], None).with_documents(starts);
            let [q, k, v] = [(0, 4), (4, 2), (6, 2)].map(|(from, heads)| x.clone().narrow(1, from, heads));
            attend(q, k.into(), v.into(), &bias, ComputeType::F32, None)
        };
        let inputs = [random([3, 8, 150, 16], 1)];
        check(&inputs, |x| attended(x, Some(Arc::clone(&all))));
        let [x] = inputs;
        // Each document is as it would be alone.
        let packed = attended([x.clone()], Some(Arc::clone(&all)));
        for (row, documents) in rows.iter().enumerate() {
            let mut at = 0;
            for &length in *documents {
                let of_document = |x: &Tensor<4>| x.clone().narrow(0, row, 1).narrow(2, at, length);
                let alone = attended([of_document(&x)], None);
                let difference: f32 = (of_document(&packed) - alone).abs().max().into_scalar();
                assert!(difference < 1e-5, "row {row}, tokens from {at}: {difference}");
                at += length;
            }
        }
    }
}

#[test]
fn packed_keys_and_values_are_read_as_their_tensors() {
    let window = LayerPositions { encoding: Encoding::None, window: Some(600) };
    let all = LayerPositions { encoding: Encoding::None, window: None };
    let (heads, kv_heads, past) = (4, 2, 700);
    // Rows that are filled up for vectors of the machine, and ones that end within a block of 8 bits.
    for (head_dim, kind) in [16, 20, 48, 72].into_iter().flat_map(|size| NumberType::ALL.map(|kind| (size, kind))) {
        for (layer, queries) in [(&all, 1), (&all, 3), (&all, 60), (&window, 1), (&window, 60)] {
            let packed = |seed| {
                let mut matrices: Vec<PackedMatrix> =
                    (0..kv_heads).map(|_| PackedMatrix::new(kind, past, head_dim)).collect();
                PackedMatrix::push_heads(&mut matrices, &random([1, kv_heads, past + queries, head_dim], seed));
                matrices
            };
            let (keys, values) = (packed(1), packed(2));
            let bias = AttentionBias::new(layer, past..past + queries, None);
            let rows = |heads| KeysOrValues::Packed(PackedRows::new(heads, past - bias.past()..past + queries));
            let q = random([1, heads, queries, head_dim], 3);
            let found = attend(q.clone(), rows(&keys), rows(&values), &bias, ComputeType::F32, None);
            let [keys, values] = [&keys, &values].map(|heads| rows(heads).tensor().into());
            let difference =
                (found - attend(q, keys, values, &bias, ComputeType::F32, None)).abs().max().into_scalar::<f32>();
            assert!(difference < 1e-5, "{head_dim} in {}, {queries} queries: {difference}", kind.name());
        }
    }
}
