//! Attention of a prompt, in tiles: softmax(q·kᵀ + bias)·v without a matrix of all weights, the softmax kept as a running maximum
//! and sum (FlashAttention, Dao et al. 2022, arXiv 2205.14135).
//!
//! A workgroup has 32 rows of one key head; a row is a query of a token and of one of the heads that share the key head, so that keys and
//! values are read once for all of them. Each of its 64 units computes a square of four rows and four keys, then four rows of some
//! coordinates of the output: numbers of four rows are one vector. Shared memory stays below the 16 KiB that every WebGPU has.

use burn::tensor::Tensor;

use super::{CachedKeys, Strided};
use crate::kernels::gpu::softmax::LOWEST;
use crate::kernels::gpu::{cubecl, output_like, rows, tensor};
use cubecl::prelude::*;

/// Rows, and keys, of a tile.
const TILE: usize = 32;
/// Rows, and keys, of a unit: the numbers of a vector.
const SIDE: usize = 4;
/// Units along each side of a tile.
const UNITS: usize = TILE / SIDE;
/// Coordinates of a tile's queries and keys that are in shared memory at once.
const SLICE: usize = 32;
/// Vectors from one coordinate, or key, to the next; one more than there are, so that units which write several use several banks.
const STRIDE: usize = UNITS + 1;
/// Vectors in shared memory: of queries and keys, then of values.
const STAGED: usize = 2 * SLICE * STRIDE;

type Four = Vector<f32, Const<SIDE>>;

/// As [`attend_to_cache`](super::attend_to_cache), of any number of queries.
pub fn attend_in_tiles(
    queries: Tensor<4>,
    keys: &Strided,
    values: &Strided,
    slopes: &Tensor<1>,
    seen: &CachedKeys,
) -> Tensor<3> {
    let [batch, seq, heads, head_dim] = queries.dims();
    let group = heads / keys.heads;
    let queries = rows(queries);
    let output = output_like(&queries, [batch, seq, heads * head_dim]);
    attend::launch(
        &queries.client.clone(),
        CubeCount::Static((group * seq).div_ceil(TILE) as u32, keys.heads as u32, batch as u32),
        CubeDim::new_2d(UNITS as u32, UNITS as u32),
        queries.into_buffer_arg(),
        keys.buffer.clone().into_buffer_arg(),
        values.buffer.clone().into_buffer_arg(),
        rows(slopes.clone()).into_buffer_arg(),
        output.clone().into_buffer_arg(),
        seq,
        seen.at,
        seen.window.unwrap_or(seen.at + seq),
        keys.capacity,
        values.capacity,
        group,
        head_dim,
        keys.number_type(),
    );
    tensor(output)
}

/// Values of a tile that are in shared memory at once, a power of two; each has some vectors.
fn values_at_once(vectors: usize) -> usize {
    TILE.min(1 << (STAGED / vectors).ilog2())
}

#[cube(launch)]
#[allow(clippy::too_many_arguments, reason = "a kernel has no structures")]
fn attend<N: Float>(
    queries: &[f32],
    keys: &[N],
    values: &[N],
    slopes: &[f32],
    output: &mut [f32],
    seq: usize,
    at: usize,
    window: usize,
    key_capacity: usize,
    value_capacity: usize,
    #[comptime] group: usize,
    #[comptime] head_dim: usize,
    #[define(N)] _type: ElemType,
) {
    // Queries [SLICE, STRIDE], then keys, likewise; later values [values_at_once, vectors].
    let mut staged = Shared::<[Four]>::new_slice(STAGED);
    let mut weights = Shared::<[Four]>::new_slice(comptime!(TILE * STRIDE)); // [keys, rows]
    let mut parts = Shared::<[Four]>::new_slice(comptime!(UNITS * UNITS)); // [units along X, rows]
    let vectors = comptime!(head_dim.div_ceil(SIDE));
    let values_at_once = comptime!(values_at_once(vectors));
    // Vectors of coordinates of a unit.
    let own_vectors = comptime!(vectors.div_ceil(UNITS));
    let unit = UNIT_POS as usize;
    let column = UNIT_POS_X as usize;
    let rows = UNIT_POS_Y as usize;
    let kv_heads = CUBE_COUNT_Y as usize;
    let first_head = CUBE_POS_Y as usize * group;
    let heads = kv_heads * group;
    let batch = CUBE_POS_Z as usize;
    let of_keys = (batch * kv_heads + CUBE_POS_Y as usize) * key_capacity;
    let of_values = (batch * kv_heads + CUBE_POS_Y as usize) * value_capacity;
    // Rows are ordered by token, so that a tile sees few keys more than its first row.
    let tile = CUBE_POS_X as usize * TILE;
    let end = at + usize::min((tile + TILE - 1) / group, seq - 1) + 1;
    let mut from = 0usize;
    if at + tile / group + 1 > window {
        from = at + tile / group + 1 - window;
    }
    let mut row_slopes = Array::new(SIDE);
    #[unroll]
    for r in 0..SIDE {
        row_slopes[r] = slopes[first_head + (tile + rows * SIDE + r) % group];
    }
    let mut largest = Four::new(LOWEST);
    let mut sum = Four::new(0.0);
    let mut mixed = Array::<Four>::new(comptime!(own_vectors * SIDE)); // a coordinate each
    #[unroll]
    for i in 0..comptime!(own_vectors * SIDE) {
        mixed[i] = Four::new(0.0);
    }
    let mut key_tile = from;
    while key_tile < end {
        let mut logits = Array::<Four>::new(SIDE); // a key each
        #[unroll]
        for k in 0..SIDE {
            logits[k] = Four::new(0.0);
        }
        let mut slice = 0usize;
        while slice < head_dim {
            sync_cube();
            let mut place = unit;
            while place < comptime!(SLICE * UNITS) {
                let i = slice + place % SLICE;
                let four = place / SLICE;
                let mut of_rows = Four::new(0.0);
                let mut of_tile = Four::new(0.0);
                if i < head_dim {
                    #[unroll]
                    for r in 0..SIDE {
                        let row = tile + four * SIDE + r;
                        if row < seq * group {
                            let query = (batch * seq + row / group) * heads + first_head + row % group;
                            of_rows.insert(r, queries[query * head_dim + i]);
                        }
                        let key = key_tile + four * SIDE + r;
                        if key < end {
                            of_tile.insert(r, f32::cast_from(keys[(of_keys + key) * head_dim + i]));
                        }
                    }
                }
                let at = place % SLICE * STRIDE + four;
                staged[at] = of_rows;
                staged[at + comptime!(SLICE * STRIDE)] = of_tile;
                place += comptime!(UNITS * UNITS);
            }
            sync_cube();
            for i in 0..SLICE {
                let of_rows = staged[i * STRIDE + rows];
                let of_tile = staged[(SLICE + i) * STRIDE + column];
                #[unroll]
                for k in 0..SIDE {
                    logits[k] += of_rows * Four::new(of_tile.extract(k));
                }
            }
            slice += SLICE;
        }
        let mut highest = largest;
        #[unroll]
        for k in 0..SIDE {
            let key = key_tile + column * SIDE + k;
            let mut logit = logits[k];
            #[unroll]
            for r in 0..SIDE {
                let own = at + (tile + rows * SIDE + r) / group;
                let mut biased = LOWEST.runtime();
                if key <= own && own < key + window {
                    biased = logit.extract(r) - row_slopes[r] * (own - key) as f32;
                }
                logit.insert(r, biased);
            }
            logits[k] = logit;
            highest = highest.max(logit);
        }
        parts[column * UNITS + rows] = highest;
        sync_cube();
        #[unroll]
        for other in 0..UNITS {
            highest = highest.max(parts[other * UNITS + rows]);
        }
        // A row that has seen no key yet gets weights of 1, which its first key multiplies by 0.
        let kept = (largest - highest).exp();
        largest = highest;
        sum *= kept;
        #[unroll]
        for k in 0..SIDE {
            let weight = (logits[k] - highest).exp();
            sum += weight;
            weights[(column * SIDE + k) * STRIDE + rows] = weight;
        }
        #[unroll]
        for i in 0..comptime!(own_vectors * SIDE) {
            mixed[i] *= kept;
        }
        let mut value = 0usize;
        while value < TILE {
            sync_cube();
            let mut place = unit;
            while place < comptime!(values_at_once * vectors) {
                let key = key_tile + value + place / vectors;
                let coordinate = place % vectors * SIDE;
                let mut numbers = Four::new(0.0);
                if key < end {
                    #[unroll]
                    for i in 0..SIDE {
                        if coordinate + i < head_dim {
                            numbers.insert(i, f32::cast_from(values[(of_values + key) * head_dim + coordinate + i]));
                        }
                    }
                }
                staged[place] = numbers;
                place += comptime!(UNITS * UNITS);
            }
            sync_cube();
            for key in 0..values_at_once {
                let weight = weights[(value + key) * STRIDE + rows];
                #[unroll]
                for v in 0..own_vectors {
                    // Some units have a vector too many in shapes that do not divide evenly; it is not written.
                    let numbers = staged[usize::min(key * vectors + column + v * UNITS, STAGED - 1)];
                    #[unroll]
                    for i in 0..SIDE {
                        mixed[v * SIDE + i] += weight * Four::new(numbers.extract(i));
                    }
                }
            }
            value += values_at_once;
        }
        key_tile += TILE;
    }
    sync_cube();
    parts[column * UNITS + rows] = sum;
    sync_cube();
    let mut total = Four::new(0.0);
    #[unroll]
    for other in 0..UNITS {
        total += parts[other * UNITS + rows];
    }
    #[unroll]
    for r in 0..SIDE {
        let row = tile + rows * SIDE + r;
        if row < seq * group {
            let start = ((batch * seq + row / group) * heads + first_head + row % group) * head_dim;
            #[unroll]
            for v in 0..own_vectors {
                #[unroll]
                for i in 0..SIDE {
                    let coordinate = (column + v * UNITS) * SIDE + i;
                    if coordinate < head_dim {
                        output[start + coordinate] = mixed[v * SIDE + i].extract(r) / total.extract(r);
                    }
                }
            }
        }
    }
}
