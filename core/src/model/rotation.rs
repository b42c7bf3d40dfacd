//! Applying rotary positions to queries and keys, in Hugging Face's half-split layout.

use burn::tensor::{Device, Tensor, TensorData};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;

use super::pass::Pass;
use crate::kernels::{KeysOrValues, RotaryTable};
use crate::positions::{Encoding, HeadNoise, HeadRotation};

/// What one kind of layer does to the queries and keys of a forward pass.
pub(super) struct Rotation {
    /// For the tokens of the pass; `None` where nothing is rotated.
    new_tokens: Option<Tables>,
    /// For every token so far, where frequencies depend on the length or the query head: keys are then cached as projected and
    /// rotated when read.
    all_tokens: Option<Tables>,
    /// `[batch or 1, 1, seq, 1]`: a factor of each query's logits.
    query_scales: Option<Tensor<4>>,
}

struct Tables {
    table: RotaryTable,
    /// `[1, heads, seq, head_dim]`, added to what is rotated.
    noise: Option<Tensor<4>>,
}

impl Rotation {
    /// Tables for a pass, and a factor `[batch or 1, 1, seq, 1]` of each query's logits where there is one.
    pub(super) fn new(encoding: &Encoding, pass: &Pass, query_scales: Option<Tensor<4>>, device: &Device) -> Self {
        let at = &pass.position_ids;
        // With keys in the cache, all positions follow each other.
        let all = if pass.tokens.start == 0 { at.clone() } else { vec![(0..pass.tokens.end).collect()] };
        let tables = |inv_freq: &[f64], factor, at: &[Vec<usize>]| Some(Tables::new(inv_freq, factor, at, device));
        let (new_tokens, all_tokens) = match encoding {
            Encoding::None | Encoding::Alibi { .. } => (None, None),
            Encoding::Rotary { inv_freq, attention_factor } => (tables(inv_freq, *attention_factor, at), None),
            Encoding::PerHead(heads) => {
                let queries = Tables::per_head(heads, &at[0], |noise| (noise.query_std, 0), device);
                (Some(queries), Some(Tables::per_head(heads, &all[0], |noise| (noise.key_std, 1), device)))
            }
            Encoding::LengthDependent(frequencies) => {
                let (inv_freq, factor) = frequencies.rotary(pass.text_len);
                (tables(&inv_freq, factor, at), tables(&inv_freq, factor, &all))
            }
        };
        Self { new_tokens, all_tokens, query_scales }
    }

    /// Rotates queries `[batch, heads, seq, head_dim]`, of all tokens of the pass or the last ones, by position and folds every factor
    /// of the logits into them, where it is cheapest.
    pub(super) fn queries(&self, q: Tensor<4>, logit_scale: f64) -> Tensor<4> {
        let seq = q.dims()[2];
        let q = rotate(&self.new_tokens, q) * logit_scale;
        match &self.query_scales {
            None => q,
            Some(scales) => {
                let of_all = scales.dims()[2];
                q * scales.clone().slice_dim(2, of_all - seq..of_all)
            }
        }
    }

    /// New keys `[batch, kv_heads, seq, head_dim]` as they go into the cache.
    pub(super) fn written_keys(&self, k: Tensor<4>) -> Tensor<4> {
        if self.all_tokens.is_some() { k } else { rotate(&self.new_tokens, k) }
    }

    /// All keys `[batch, kv_heads, past + seq, head_dim]` as attention needs them; if each query head rotates keys in
    /// its own way, one copy for each query head.
    pub(super) fn read_keys<'a>(&self, k: KeysOrValues<'a>) -> KeysOrValues<'a> {
        let Some(tables) = &self.all_tokens else { return k };
        // A layer with a window keeps only the last keys.
        rotated(tables, k.tensor()).into()
    }
}

impl Tables {
    fn new(inv_freq: &[f64], attention_factor: f64, at: &[Vec<usize>], device: &Device) -> Self {
        let rows = at.iter().flatten();
        let values = |function: fn(f64) -> f64| {
            let of_row =
                |&position: &usize| both_halves(inv_freq, position, |angle, _| function(angle) * attention_factor);
            rows.clone().flat_map(of_row).collect()
        };
        let shape = [at.len(), 1, at[0].len(), 2 * inv_freq.len()];
        Self::of_values(values(f64::cos), values(f64::sin), None, shape, device)
    }

    /// `deviation` gives the standard deviation of a head's noise, for queries (0) or keys (1).
    fn per_head(
        heads: &[HeadRotation],
        at: &[usize],
        deviation: impl Fn(&HeadNoise) -> (f64, u64),
        device: &Device,
    ) -> Self {
        let width = 2 * heads.first().map_or(0, |head| head.inv_freq.len());
        let values = |function: fn(f64) -> f64| {
            let of_head = |head: &HeadRotation| -> Vec<f32> {
                let of_row = |&position: &usize| {
                    both_halves(&head.inv_freq, position, |angle, pair| function(angle) * head.gain[pair])
                };
                at.iter().flat_map(of_row).collect()
            };
            heads.iter().flat_map(of_head).collect()
        };
        let noise = |head: &HeadRotation| match &head.noise {
            None => vec![0.0; at.len() * width],
            Some(noise) => {
                let (deviation, which) = deviation(noise);
                at.iter().flat_map(|&position| gaussian(noise, which, position, width, deviation)).collect()
            }
        };
        let has_noise = heads.iter().any(|head| head.noise.is_some());
        let noise = has_noise.then(|| heads.iter().flat_map(noise).collect());
        Self::of_values(values(f64::cos), values(f64::sin), noise, [1, heads.len(), at.len(), width], device)
    }

    /// The same for the last tokens alone.
    fn of_last(&self, tokens: usize) -> Self {
        let last = |noise: &Tensor<4>| {
            let rows = noise.dims()[2];
            noise.clone().slice_dim(2, rows - tokens..rows)
        };
        Self { table: self.table.of_last(tokens), noise: self.noise.as_ref().map(last) }
    }

    fn of_values(cos: Vec<f32>, sin: Vec<f32>, noise: Option<Vec<f32>>, shape: [usize; 4], device: &Device) -> Self {
        let tensor = |values: Vec<f32>| Tensor::from_data(TensorData::new(values, shape), device);
        Self { table: RotaryTable::new(tensor(cos), tensor(sin)), noise: noise.map(tensor) }
    }
}

/// A value of each pair's angle at a position, once for each of its two components. Angles are f64: they grow to thousands
/// of radians, where f32 has lost four digits.
pub(super) fn both_halves(inv_freq: &[f64], position: usize, value: impl Fn(f64, usize) -> f64) -> Vec<f32> {
    let half = inv_freq.iter().enumerate().map(|(pair, omega)| value(position as f64 * omega, pair) as f32);
    half.collect::<Vec<_>>().repeat(2)
}

/// Noise of one position of one head; `which` is 0 for queries and 1 for keys.
fn gaussian(noise: &HeadNoise, which: u64, position: usize, width: usize, deviation: f64) -> Vec<f32> {
    let mut rng = ChaCha8Rng::seed_from_u64(noise.seed);
    rng.set_stream((2 * noise.stream + which) << 31 | position as u64);
    (0..width).map(|_| (rng.sample::<f64, _>(StandardNormal) * deviation) as f32).collect()
}

fn rotate(tables: &Option<Tables>, x: Tensor<4>) -> Tensor<4> {
    match tables {
        None => x,
        Some(tables) => rotated(tables, x),
    }
}

/// Rotates all tokens of the tables, or the last ones.
fn rotated(tables: &Tables, x: Tensor<4>) -> Tensor<4> {
    let [.., tokens, head_dim] = x.dims();
    let of_last = (tokens < tables.table.tokens()).then(|| tables.of_last(tokens));
    let Tables { table, noise } = of_last.as_ref().unwrap_or(tables);
    let width = table.width();
    // Where only a part of a head rotates, the rest follows unchanged.
    let rest = (width < head_dim).then(|| x.clone().slice_dim(3, width..head_dim));
    let x = if rest.is_some() { x.slice_dim(3, 0..width) } else { x };
    let rotated = table.rotate(x);
    let rotated = match noise {
        None => rotated,
        Some(noise) => rotated + noise.clone(),
    };
    match rest {
        None => rotated,
        Some(rest) => Tensor::cat(vec![rotated, rest], 3),
    }
}

#[cfg(all(test, not(target_arch = "wasm32")))]
mod tests {
    use burn::tensor::{Device, Distribution, Tensor};

    use super::{Pass, Rotation};
    use crate::config::Config;
    use crate::positions::{Encoding, Method, Positions};

    #[test]
    fn nothing_is_rotated_at_position_zero() {
        let device = Device::flex();
        let mut config = Config::from_json(include_str!("../../../tests/fixtures/longrope/config.json")).unwrap();
        let dope = Config::from_json(include_str!("../../../tests/fixtures/dope-all/config.json")).unwrap();
        config.dope_heads = dope.dope_heads;
        let shape = [1, config.num_attention_heads, 1, config.head_dim];
        let q = Tensor::<4>::random(shape, Distribution::Default, &device);
        // Gaussian noise is added at position 0 too.
        for method in Method::ALL.into_iter().filter(|&method| method != Method::DopeGaussian) {
            let encoding = &method.positions(&config, 4.0).unwrap().layer(0).encoding.clone();
            let factor = match encoding {
                Encoding::Rotary { attention_factor, .. } => *attention_factor,
                Encoding::LengthDependent(frequencies) => frequencies.rotary(1).1,
                _ => 1.0,
            };
            let pass = Pass::new(&Positions::none(), 0..1, 1, &device);
            let rotation = Rotation::new(encoding, &pass, None, &device);
            for (rotated, scale) in [
                (rotation.queries(q.clone(), 1.0), factor),
                (rotation.read_keys(rotation.written_keys(q.clone()).into()).tensor(), factor),
            ] {
                let difference = (rotated - q.clone() * scale).abs().max().into_scalar::<f32>();
                assert!(difference < 1e-6, "{}: {difference}", method.name());
            }
        }
    }
}
