//! Whether a GPU's subgroups may be used: units that exchange numbers in registers, without shared memory and without waiting for each
//! other. Not every GPU or browser has them, and WGSL does not say which units of a workgroup form one.

use std::sync::atomic::{AtomicUsize, Ordering};

use burn::tensor::{Device, Tensor};
use burn_cubecl::cubecl;
use cubecl::features::Plane;
use cubecl::prelude::*;

use super::products::{COLUMNS, PARTS};
use super::sum::sum_of_units;
use super::{buffer, output_like, tensor};

/// Neighbouring units whose numbers subgroups join; 1 is to use none.
static LANES: AtomicUsize = AtomicUsize::new(1);
/// Most units that subgroups join: a sum of a product is shared by no more.
const MOST_LANES: usize = PARTS as usize;

/// Neighbouring units whose numbers kernels join by subgroups, a power of two; 1: the kernels do without.
pub fn lanes() -> usize {
    LANES.load(Ordering::Relaxed)
}

/// Has kernels use subgroups from now on if the device has them and they were seen to join the right numbers. Returns how many units they
/// join; 1 if none. To be called when the first device is open; others are taken to be like it.
pub async fn detect_subgroups(device: &Device) -> usize {
    let client = buffer(Tensor::<1>::zeros([1], device)).client;
    let has_them = client.properties().features.plane.contains(Plane::Ops);
    let smallest = client.properties().hardware.plane_size_min as usize;
    use_subgroups(device, if has_them { smallest } else { 1 }).await
}

/// The same for subgroups of at least so many units, whether or not CubeCL says that the device has them: it conceals those of
/// devices in software. A device without them is lost.
pub async fn use_subgroups(device: &Device, smallest: usize) -> usize {
    let lanes = 1 << smallest.clamp(1, MOST_LANES).ilog2();
    let are_right = lanes == 1 || sums_are_right(device, lanes).await;
    let lanes = if are_right { lanes } else { 1 };
    LANES.store(lanes, Ordering::Relaxed);
    lanes
}

/// Whether sums over neighbouring units are those that they should be, in workgroups of the shapes that kernels have.
async fn sums_are_right(device: &Device, lanes: usize) -> bool {
    for dim in [CubeDim::new_2d(PARTS, COLUMNS), CubeDim::new_1d(64), CubeDim::new_1d(128), CubeDim::new_1d(256)] {
        let units = dim.num_elems() as usize;
        let like = buffer(Tensor::<1>::zeros([1], device));
        let output = output_like(&like, [units]);
        sums::launch(&like.client, CubeCount::Static(1, 1, 1), dim, output.clone().into_buffer_arg(), lanes);
        let found: Tensor<1> = tensor(output);
        let Ok(found) = found.into_data_async().await else { return false };
        let sum = |unit: usize| -> usize {
            let first = unit / MOST_LANES * MOST_LANES;
            (first..first + MOST_LANES).map(|unit| unit * unit).sum()
        };
        if !found.iter::<f32>().eq((0..units).map(|unit| sum(unit) as f32)) {
            return false;
        }
    }
    true
}

/// The sum of the squares of neighbouring units' numbers; all are integers that f32 holds.
#[cube(launch)]
fn sums(output: &mut [f32], #[comptime] lanes: usize) {
    let mut shared = Shared::new_slice(256usize);
    let own = (UNIT_POS * UNIT_POS) as f32;
    output[UNIT_POS as usize] = sum_of_units(&mut shared, own, MOST_LANES, lanes);
}
