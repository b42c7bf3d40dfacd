//! Products of a few queries with keys that lie row after row.

use pulp::Simd;

/// Keys that are multiplied beside each other, so that a sum does not wait for the one before.
const KEYS_AT_ONCE: usize = 4;

/// The product of each query `[head_dim]` with each of `count` keys, whose rows `[head_dim]` are `stride` apart:
/// `products[query · row_len + key]`.
#[inline(always)]
pub(super) fn queries_times_keys<S: Simd>(
    simd: S,
    queries: &[&[f32]],
    (keys, stride): (&[f32], usize),
    count: usize,
    (products, row_len): (&mut [f32], usize),
) {
    let mut query = 0;
    while query + 2 <= queries.len() {
        let rows = &mut products[query * row_len..];
        rows_of::<S, 2>(simd, [queries[query], queries[query + 1]], (keys, stride), count, (rows, row_len));
        query += 2;
    }
    if let Some(&last) = queries.get(query) {
        rows_of::<S, 1>(simd, [last], (keys, stride), count, (&mut products[query * row_len..], row_len));
    }
}

/// The same for Q queries.
#[inline(always)]
fn rows_of<S: Simd, const Q: usize>(
    simd: S,
    queries: [&[f32]; Q],
    (keys, stride): (&[f32], usize),
    count: usize,
    (products, row_len): (&mut [f32], usize),
) {
    let head_dim = queries[0].len();
    let key = |at: usize| &keys[at * stride..][..head_dim];
    let mut first = 0;
    while first + KEYS_AT_ONCE <= count {
        let keys = [key(first), key(first + 1), key(first + 2), key(first + 3)];
        for (query, products_of_query) in dots(simd, queries, keys).into_iter().enumerate() {
            products[query * row_len + first..][..KEYS_AT_ONCE].copy_from_slice(&products_of_query);
        }
        first += KEYS_AT_ONCE;
    }
    for at in first..count {
        for (query, [product]) in dots(simd, queries, [key(at)]).into_iter().enumerate() {
            products[query * row_len + at] = product;
        }
    }
}

/// Q queries times K keys, summed in registers.
#[inline(always)]
fn dots<S: Simd, const Q: usize, const K: usize>(simd: S, queries: [&[f32]; Q], keys: [&[f32]; K]) -> [[f32; K]; Q] {
    let (queries, keys) = (queries.map(S::as_simd_f32s), keys.map(S::as_simd_f32s));
    let vectors = queries[0].0.len();
    let (query_vectors, key_vectors) = (queries.map(|query| &query.0[..vectors]), keys.map(|key| &key.0[..vectors]));
    let mut sums = [[simd.splat_f32s(0.0); K]; Q];
    for at in 0..vectors {
        for (sums, query) in sums.iter_mut().zip(query_vectors) {
            for (sum, key) in sums.iter_mut().zip(key_vectors) {
                *sum = simd.mul_add_e_f32s(query[at], key[at], *sum);
            }
        }
    }
    let mut products = [[0.0; K]; Q];
    for query in 0..Q {
        for key in 0..K {
            let mut rest = 0.0;
            for (a, b) in queries[query].1.iter().zip(keys[key].1) {
                rest += a * b;
            }
            products[query][key] = simd.reduce_sum_f32s(sums[query][key]) + rest;
        }
    }
    products
}
