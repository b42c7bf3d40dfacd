//! `core bench --roofline`: what this machine computes and reads at most, and how much of it a prompt, a generated token and an update
//! use (Williams, Waterman and Patterson 2009).

use std::hint::black_box;
use std::time::Instant;

use anyhow::{Context, Result};
use drope_core::config::Config;
use drope_core::model::{Model, NumberType};
use drope_core::train::cost::{self, MicroBatch};
use pulp::{Arch, Simd, WithSimd};
use serde::Serialize;

use super::speed::{NEW_TOKENS, Speed, cache_bytes};
use crate::machine;

/// Sums that are added to in turn, so that an addition does not wait for the one before.
const SUMS: usize = 12;
/// Rounds of the loop: some tenths of a second.
const ROUNDS: usize = 1_000_000_000;
/// Numbers that are read, far more than caches hold: 512 MiB.
const NUMBERS: usize = 1 << 27;
/// Measurements, of which the best counts.
const REPEATS: usize = 3;

/// What is printed.
#[derive(Serialize)]
pub struct Roofline {
    processor: String,
    threads: usize,
    /// Multiplications and additions of f32 a second, in billions: fused ones whose numbers stay in registers.
    gigaflops: f64,
    /// Billions of bytes read from memory a second.
    gigabytes: f64,
    prompt: Share,
    generation: Share,
    /// Not of weights in fewer bits.
    training: Option<Share>,
}

/// A speed, and the share of the machine's that it takes: of products for a prompt and an update, of reading for generation.
#[derive(Serialize)]
struct Share {
    tokens_per_second: f64,
    share: f64,
    /// The share of the time that more threads would not share; of one thread alone.
    serial: Option<f64>,
}

/// The speeds of a model.
pub struct Measured {
    pub prefill: Speed,
    pub decode: Speed,
    pub train: Option<Speed>,
}

/// Measures the machine, and what the speeds take of it. Threads are those of the caller's pool.
pub fn measure(
    model: &Model,
    (config, cache): (&Config, NumberType),
    [prompt, context]: [usize; 2],
    speeds: &Measured,
) -> Result<Roofline> {
    let gigaflops = best(|| rayon::broadcast(|_| Arch::new().dispatch(MultiplyAdds)).iter().sum())?;
    let numbers = vec![1.0f32; NUMBERS];
    let gigabytes = best(|| {
        rayon::broadcast(|thread| {
            let part = numbers.len().div_ceil(thread.num_threads());
            let part = numbers.chunks(part).nth(thread.index()).unwrap_or_default();
            black_box(Arch::new().dispatch(Sum(part)));
            4.0 * part.len() as f64
        })
        .iter()
        .sum()
    })?;
    let threads = rayon::current_num_threads();
    let share = |&Speed { tokens_per_second, serial }: &Speed, of_token: f64, most: f64| Share {
        tokens_per_second,
        share: tokens_per_second * of_token / (1e9 * most),
        serial: (threads == 1).then_some(serial),
    };
    let micro_batch = MicroBatch { context, tokens: context, recompute: false };
    let training =
        speeds.train.as_ref().map(|train| share(train, cost::operations_per_token(config, micro_batch), gigaflops));
    Ok(Roofline {
        processor: machine::processor_and_memory().0,
        threads,
        gigaflops,
        gigabytes,
        prompt: share(&speeds.prefill, cost::operations_of_prompt(config, prompt) / prompt as f64, gigaflops),
        generation: share(&speeds.decode, bytes_of_token(model, config, cache, prompt), gigabytes),
        training,
    })
}

/// Bytes that a token reads which is generated behind a prompt: weights, and keys and values of what comes before.
fn bytes_of_token(model: &Model, config: &Config, cache: NumberType, prompt: usize) -> f64 {
    model.weight_bytes_per_token() as f64 + cache_bytes(config, cache, prompt + NEW_TOKENS / 2) as f64
}

/// Billions a second of what `work` returns the number of.
fn best(work: impl Fn() -> f64) -> Result<f64> {
    let speeds = (0..REPEATS).map(|_| {
        let start = Instant::now();
        let done = work();
        done / start.elapsed().as_secs_f64() / 1e9
    });
    speeds.max_by(f64::total_cmp).context("nothing was measured")
}

/// Multiplies and adds in registers; gives the number of operations.
struct MultiplyAdds;

impl WithSimd for MultiplyAdds {
    type Output = f64;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> f64 {
        let mut sums = [simd.splat_f32s(1.0); SUMS];
        let (factor, summand) = (simd.splat_f32s(black_box(0.999)), simd.splat_f32s(black_box(1e-3)));
        for _ in 0..ROUNDS / S::F32_LANES {
            for sum in &mut sums {
                *sum = simd.mul_add_e_f32s(*sum, factor, summand);
            }
        }
        for sum in sums {
            black_box(simd.reduce_sum_f32s(sum));
        }
        (2 * SUMS * (ROUNDS / S::F32_LANES) * S::F32_LANES) as f64
    }
}

/// Reads numbers.
struct Sum<'a>(&'a [f32]);

impl WithSimd for Sum<'_> {
    type Output = f32;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> f32 {
        let mut sums = [simd.splat_f32s(0.0); SUMS];
        for numbers in S::as_simd_f32s(self.0).0.chunks_exact(SUMS) {
            for (sum, &numbers) in sums.iter_mut().zip(numbers) {
                *sum = simd.add_f32s(*sum, numbers);
            }
        }
        let mut total = 0.0;
        for sum in sums {
            total += simd.reduce_sum_f32s(sum);
        }
        total
    }
}
