//! The most likely token, so that no logits leave the device.

use burn::tensor::Tensor;

use super::{cubecl, output_like, rows, tensor};
use cubecl::prelude::*;

const UNITS: usize = 256;
/// The exponent bits, all of which are set in infinities and NaN alone.
const NOT_FINITE: u32 = 0x7f80_0000;

/// Index of the largest of the logits `[1, 1, vocab]` (of equal ones the last), and the number of logits that are not
/// finite: `[2]`. f32 holds such numbers exactly up to 2²⁴.
pub fn largest_logit(logits: Tensor<3>) -> Tensor<1> {
    let vocab = logits.dims()[2];
    let logits = rows(logits);
    let output = output_like(&logits, [2]);
    choose::launch(
        &logits.client.clone(),
        CubeCount::Static(1, 1, 1),
        CubeDim::new_1d(UNITS as u32),
        logits.into_buffer_arg(),
        output.clone().into_buffer_arg(),
        vocab,
    );
    tensor(output)
}

#[cube(launch)]
fn choose(logits: &[f32], output: &mut [f32], vocab: usize) {
    let mut highest = Shared::new_slice(UNITS);
    let mut places = Shared::new_slice(UNITS);
    let mut broken = Shared::new_slice(UNITS);
    let unit = UNIT_POS as usize;
    let mut best = f32::min_value();
    let mut place = 0f32;
    let mut not_finite = 0f32;
    let mut i = unit;
    while i < vocab {
        let logit = logits[i];
        // As bits: shaders may assume that no number is infinite or NaN.
        if u32::reinterpret(logit) & NOT_FINITE == NOT_FINITE {
            not_finite += 1f32;
        }
        if logit >= best {
            best = logit;
            place = i as f32;
        }
        i += UNITS;
    }
    highest[unit] = best;
    places[unit] = place;
    broken[unit] = not_finite;
    sync_cube();
    let mut active = CUBE_DIM as usize / 2;
    while active > 0 {
        if unit < active {
            let other = unit + active;
            let is_higher = highest[other] > highest[unit];
            let is_later = highest[other] == highest[unit] && places[other] > places[unit];
            if is_higher || is_later {
                highest[unit] = highest[other];
                places[unit] = places[other];
            }
            broken[unit] += broken[other];
        }
        sync_cube();
        active /= 2;
    }
    if unit == 0 {
        output[0] = places[0];
        output[1] = broken[0];
    }
}
