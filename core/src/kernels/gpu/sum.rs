//! Sums and maxima over neighbouring units of a workgroup: by subgroups as far as these reach, and in its shared memory.

use super::cubecl;
use cubecl::prelude::*;

/// The sum of the numbers of `units` neighbouring units, as [`over_units`].
#[cube]
pub fn sum_of_units(shared: &mut Shared<[f32]>, own: f32, #[comptime] units: usize, #[comptime] lanes: usize) -> f32 {
    let mut numbers = Array::new(1usize);
    numbers[0] = own;
    over_units(shared, &mut numbers, units, 1usize, true, lanes);
    numbers[0]
}

/// Puts the sum, or the largest, of the `numbers` of `units` neighbouring units in place of them, each of `count` by itself.
///
/// `units`, and the number of units of the workgroup, which is a multiple of it, are powers of two. `lanes` is
/// [`lanes`](super::subgroups::lanes), at most `units`. `shared` has room for `count` numbers of every unit of the workgroup.
#[cube]
pub fn over_units(
    shared: &mut Shared<[f32]>,
    numbers: &mut Array<f32>,
    #[comptime] units: usize,
    #[comptime] count: usize,
    #[comptime] is_sum: bool,
    #[comptime] lanes: usize,
) {
    #[unroll]
    for step in 0..comptime!(lanes.ilog2()) {
        #[unroll]
        for i in 0..count {
            numbers[i] = joined(numbers[i], plane_shuffle_xor(numbers[i], 1u32 << step), is_sum);
        }
    }
    if comptime!(lanes < units) {
        // Every subgroup's own number, `[count, subgroups]`.
        let subgroups = CUBE_DIM as usize / lanes;
        let subgroup = UNIT_POS as usize / lanes;
        if subgroup * lanes == UNIT_POS as usize {
            #[unroll]
            for i in 0..count {
                shared[i * subgroups + subgroup] = numbers[i];
            }
        }
        sync_cube();
        let together = comptime!(units / lanes);
        let first = subgroup / together * together;
        if comptime!(lanes == 1) {
            let mut active = together.runtime() / 2;
            while active > 0 {
                if subgroup - first < active {
                    #[unroll]
                    for i in 0..count {
                        let at = i * subgroups + subgroup;
                        shared[at] = joined(shared[at], shared[at + active], is_sum);
                    }
                }
                sync_cube();
                active /= 2;
            }
            #[unroll]
            for i in 0..count {
                numbers[i] = shared[i * subgroups + first];
            }
        } else {
            // Few enough that to read them all takes less time than to wait for each other once more.
            #[unroll]
            for i in 0..count {
                let mut number = shared[i * subgroups + first];
                for other in 1..together {
                    number = joined(number, shared[i * subgroups + first + other], is_sum);
                }
                numbers[i] = number;
            }
        }
        sync_cube();
    }
}

#[cube]
fn joined(a: f32, b: f32, #[comptime] is_sum: bool) -> f32 {
    let mut joined = f32::max(a, b);
    if is_sum {
        joined = a + b;
    }
    joined
}
