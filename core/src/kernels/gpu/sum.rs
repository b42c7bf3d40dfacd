//! Sums and maxima over the units of a workgroup, in its shared memory, without subgroups, which not every browser has.

use super::cubecl;
use cubecl::prelude::*;

/// The sum of every unit's number; the number of units is a power of two.
#[cube]
pub fn sum_of_units(shared: &mut Shared<[f32]>, own: f32) -> f32 {
    over_units(shared, own, true)
}

/// The largest of every unit's number, likewise.
#[cube]
pub fn largest_of_units(shared: &mut Shared<[f32]>, own: f32) -> f32 {
    over_units(shared, own, false)
}

#[cube]
fn over_units(shared: &mut Shared<[f32]>, own: f32, #[comptime] is_sum: bool) -> f32 {
    let unit = UNIT_POS as usize;
    shared[unit] = own;
    sync_cube();
    let mut active = CUBE_DIM as usize / 2;
    while active > 0 {
        if unit < active {
            let other = shared[unit + active];
            if is_sum {
                shared[unit] += other;
            } else {
                shared[unit] = f32::max(shared[unit], other);
            }
        }
        sync_cube();
        active /= 2;
    }
    let result = shared[0];
    sync_cube();
    result
}
