//! Sums and maxima over the units of a workgroup, in its shared memory, without subgroups, which not every browser has.

use super::cubecl;
use cubecl::prelude::*;

/// The sum of every unit's number; the number of units is a power of two.
#[cube]
pub fn sum_of_units(shared: &mut Shared<[f32]>, own: f32) -> f32 {
    let mut numbers = Array::new(1usize);
    numbers[0] = own;
    over_units(shared, &mut numbers, 1usize, true);
    numbers[0]
}

/// Puts the sum, or the largest, of every unit's `numbers` in place of them, each of `count` by itself. `shared` has room for `count`
/// numbers of every unit.
#[cube]
pub fn over_units(
    shared: &mut Shared<[f32]>,
    numbers: &mut Array<f32>,
    #[comptime] count: usize,
    #[comptime] is_sum: bool,
) {
    let unit = UNIT_POS as usize;
    let units = CUBE_DIM as usize;
    #[unroll]
    for i in 0..count {
        shared[i * units + unit] = numbers[i];
    }
    sync_cube();
    let mut active = units / 2;
    while active > 0 {
        if unit < active {
            #[unroll]
            for i in 0..count {
                let at = i * units + unit;
                let other = shared[at + active];
                if is_sum {
                    shared[at] += other;
                } else {
                    shared[at] = f32::max(shared[at], other);
                }
            }
        }
        sync_cube();
        active /= 2;
    }
    #[unroll]
    for i in 0..count {
        numbers[i] = shared[i * units];
    }
    sync_cube();
}
