//! Matrices of weights in few bits, as a file has them: 16 rows side by side, so that one instruction multiplies all of them.

mod activations;
#[cfg(target_arch = "x86_64")]
mod bf16;
mod format;
mod product;
#[cfg(all(test, not(target_arch = "wasm32")))]
mod tests;

use std::fmt;

use burn::tensor::{Device, Int, Shape, Tensor, TensorData};
use drope_instructions::bytes::{Nibbles, PART, ROWS, STEP, STEPS, Weights, unpack_nibbles};
use drope_instructions::prefetch;

use self::format::Part;
pub use self::format::QuantizedFormat;
pub(super) use self::format::{inverse, scale_of_8_bits};
use super::views::indices;

/// Bytes of a step of all rows.
const STEP_BYTES: usize = ROWS * STEP;

/// A matrix `[rows, columns]` of weights in few bits.
///
/// Rows are stored in groups of 16, of which the last is filled up with rows of zeros. In a group, 32 columns form eight steps of four
/// columns, in the order `[step, row, column]`. With four bits, block s (below 4)
/// has step s in the low halves of its bytes and step s + 4 in the high halves.
/// With six bits, two more blocks follow; block j has the upper two bits of steps 4j to 4j + 3.
pub struct QuantizedMatrix {
    rows: usize,
    columns: usize,
    format: QuantizedFormat,
    /// Rows that are there already.
    filled: usize,
    integers: Vec<u8>,
    /// Bits of f16: for each group and block, the scales of 16 rows, then their minima, if the format has any.
    scales: Vec<u16>,
    /// For each group and part, two times 16 factors, if the format has any.
    factors: Vec<u8>,
}

impl fmt::Debug for QuantizedMatrix {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "QuantizedMatrix [{}, {}] {}", self.rows, self.columns, self.format)
    }
}

impl QuantizedMatrix {
    /// Room for a matrix `[rows, columns]`. `columns` is a multiple of the format's block, except in Q8_0.
    pub fn new(format: QuantizedFormat, rows: usize, columns: usize) -> Self {
        let groups = rows.div_ceil(ROWS);
        let parts = groups * columns.div_ceil(PART);
        let kinds = format.scales_per_block();
        let blocks = groups * columns.div_ceil(format.block());
        Self {
            rows,
            columns,
            format,
            filled: 0,
            integers: vec![0; parts * format.bits() * ROWS * PART / 8],
            scales: vec![0; blocks * kinds * ROWS],
            factors: vec![0; if format.has_factors() { parts * 2 * ROWS } else { 0 }],
        }
    }

    /// Takes the next rows, as a file has them: block after block.
    pub fn push_blocks(&mut self, bytes: &[u8]) {
        let format = self.format;
        let row = self.columns / format.block() * format.block_bytes();
        for row in bytes.chunks_exact(row) {
            for (block, bytes) in row.chunks_exact(format.block_bytes()).enumerate() {
                for (at, part) in format.parts(bytes).enumerate() {
                    self.put(block * format.block() / PART + at, &part);
                }
            }
            self.filled += 1;
        }
    }

    /// Takes the next rows, rounded to the 8 bits of a Q8_0.
    pub fn push_rounded(&mut self, rows: &[f32]) {
        debug_assert_eq!(self.format, QuantizedFormat::Q8_0);
        for row in rows.chunks_exact(self.columns) {
            for (at, numbers) in row.chunks(PART).enumerate() {
                self.put(at, &Part::rounded(numbers));
            }
            self.filled += 1;
        }
    }

    /// Puts a part of the next row where products read it.
    fn put(&mut self, at: usize, part: &Part) {
        let (group, row) = (self.filled / ROWS, self.filled % ROWS);
        let place = group * self.columns.div_ceil(PART) + at;
        let bytes = self.format.bits() * STEP_BYTES;
        let held = self.integers[place * bytes..][..bytes].as_chunks_mut::<STEP_BYTES>().0;
        for (step, integers) in part.integers.as_chunks::<STEP>().0.iter().enumerate() {
            if self.format.bits() == 8 {
                held[step][row * STEP..][..STEP].copy_from_slice(integers);
                continue;
            }
            let both = &mut held[step % 4][row * STEP..][..STEP];
            both.iter_mut().zip(integers).for_each(|(byte, integer)| *byte |= (integer & 0x0f) << (step / 4 * 4));
            if self.format.bits() == 6 {
                let upper = &mut held[4 + step / 4][row * STEP..][..STEP];
                upper.iter_mut().zip(integers).for_each(|(byte, integer)| *byte |= (integer >> 4) << (step % 4 * 2));
            }
        }
        let (block, kinds) = (at * PART / self.format.block(), self.format.scales_per_block());
        let place_of_block = group * self.columns.div_ceil(self.format.block()) + block;
        let scales = &mut self.scales[place_of_block * kinds * ROWS..][..kinds * ROWS];
        scales[row] = part.scale;
        if self.format.has_minima() {
            scales[ROWS + row] = part.minimum;
        }
        if self.format.has_factors() {
            for (kind, factor) in part.factors.into_iter().enumerate() {
                self.factors[(2 * place + kind) * ROWS + row] = factor;
            }
        }
    }

    /// A part of a row again.
    fn part(&self, row: usize, at: usize) -> Part {
        let (group, row) = (row / ROWS, row % ROWS);
        let mut room = [[0; STEP_BYTES]; STEPS];
        let steps = self.steps(group, at, &mut room);
        let integers = std::array::from_fn(|at| steps[at / STEP][row * STEP + at % STEP]);
        let scales = self.scales(group, at);
        let factors = self.factors(group, at).map_or([0; 2], |factors| [factors[0][row], factors[1][row]]);
        Part { integers, scale: scales[0][row], minimum: scales.get(1).map_or(0, |minima| minima[row]), factors }
    }

    /// Scales, and minima if there are any, of the block of a part: `[kinds][ROWS]`.
    #[inline(always)]
    fn scales(&self, group: usize, part: usize) -> &[[u16; ROWS]] {
        let kinds = self.format.scales_per_block();
        let block = group * self.columns.div_ceil(self.format.block()) + part * PART / self.format.block();
        &self.scales.as_chunks().0[block * kinds..][..kinds]
    }

    /// Factors of a part.
    #[inline(always)]
    fn factors(&self, group: usize, part: usize) -> Option<&[[u8; ROWS]; 2]> {
        let factors = &self.factors.as_chunks().0.as_chunks().0;
        factors.get(group * self.columns.div_ceil(PART) + part)
    }

    /// Integers of a part of a group, as they are kept.
    #[inline(always)]
    fn integers(&self, group: usize, part: usize) -> &[u8] {
        let bytes = self.format.bits() * STEP_BYTES;
        &self.integers[(group * self.columns.div_ceil(PART) + part) * bytes..][..bytes]
    }

    /// The same, where these are four bits each.
    #[inline(always)]
    fn nibbles(&self, group: usize, part: usize) -> Option<&Nibbles> {
        if self.format.bits() == 4 { self.integers(group, part).as_chunks().0.first_chunk() } else { None }
    }

    /// Has the integers fetched that are read a few parts after this one.
    #[inline(always)]
    fn prefetch_after(&self, group: usize, part: usize) {
        /// Bytes from what is read to what is fetched.
        const AHEAD: usize = 4096;
        let bytes = self.format.bits() * STEP_BYTES;
        let first = (group * self.columns.div_ceil(PART) + part) * bytes + AHEAD;
        if let Some(next) = self.integers.get(first..first + bytes) {
            prefetch(next);
        }
    }

    /// The same, a byte each: where they lie, or in `room`.
    #[inline(always)]
    fn steps<'a>(&'a self, group: usize, part: usize, room: &'a mut [Weights; STEPS]) -> &'a [Weights; STEPS] {
        let integers = self.integers(group, part);
        if self.format.bits() == 8 {
            return integers.as_chunks().0.first_chunk().expect("a part has eight steps");
        }
        unpack(self.format.bits(), integers, room);
        room
    }

    /// Size in bytes.
    pub fn bytes(&self) -> usize {
        self.integers.len() + 2 * self.scales.len() + self.factors.len()
    }

    /// Whether every scale, and so every number, is finite.
    pub fn is_finite(&self) -> bool {
        self.scales.iter().all(|&bits| half::f16::from_bits(bits).is_finite())
    }

    /// Some numbers of a row.
    fn widen(&self, row: usize, output: &mut [f32]) {
        for (at, output) in output.chunks_mut(PART).enumerate() {
            output.copy_from_slice(&self.part(row, at).numbers(self.format)[..output.len()]);
        }
    }

    /// The rows of ids `[batch, seq]`: `[batch, seq, columns]`. The ids are on the CPU and in the matrix.
    pub fn rows(&self, ids: &Tensor<2, Int>) -> Tensor<3> {
        let [batch, seq] = ids.dims();
        let mut output = vec![0.0; batch * seq * self.columns];
        for (output, id) in output.chunks_exact_mut(self.columns).zip(indices(ids)) {
            self.widen(id, output);
        }
        Tensor::from_data(TensorData::new(output, Shape::from([batch, seq, self.columns])), &Device::flex())
    }
}

/// Integers of four or six bits as bytes.
#[inline(always)]
fn unpack(bits: usize, packed: &[u8], steps: &mut [Weights; STEPS]) {
    let (packed, _) = packed.as_chunks::<STEP_BYTES>();
    unpack_nibbles(packed.first_chunk().expect("a part has eight steps of four bits"), steps);
    if bits == 6 {
        for (at, step) in steps.iter_mut().enumerate() {
            for (integer, byte) in step.iter_mut().zip(&packed[STEPS / 2 + at / 4]) {
                *integer |= ((byte >> (at % 4 * 2)) & 3) << 4;
            }
        }
    }
}
