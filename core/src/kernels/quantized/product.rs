//! The product of tokens with quantized weights: integers are multiplied and summed exactly within a part, and scaled from part to part.

use burn::tensor::{Device, Tensor, TensorData};
use drope_instructions::bytes::{ByteProducts, ROWS, STEPS, Weights, WithByteProducts, with_byte_products};

use super::activations::{Activations, Token};
use super::format::QuantizedFormat;
use super::{QuantizedMatrix, STEP_BYTES, unpack};
use crate::kernels::constant;
use crate::kernels::parts::{in_parts, join_panels};
use crate::kernels::views::numbers;

/// Groups of rows that one thread takes at once.
const GROUPS: usize = 4;
const PANEL: usize = GROUPS * ROWS;

impl QuantizedMatrix {
    /// x · matrixᵀ: `[batch, seq, columns]` to `[batch, seq, rows]`. The tensor is on the CPU.
    pub fn product(&self, x: &Tensor<3>) -> Tensor<3> {
        let [batch, seq, _] = x.dims();
        let x = constant(x).to_contiguous();
        let x = Activations::new(numbers(&x), self.columns);
        let sums = in_parts(x.count * self.rows * self.columns, 0..self.rows.div_ceil(PANEL), |panel| {
            with_byte_products(PanelProduct { matrix: self, panel, x: &x })
        });
        let output = join_panels(&sums, PANEL, [x.count, self.rows]);
        Tensor::from_data(TensorData::new(output, [batch, seq, self.rows]), &Device::flex())
    }
}

/// The product of all tokens with some groups of rows: `[count, PANEL]`.
struct PanelProduct<'a> {
    matrix: &'a QuantizedMatrix,
    panel: usize,
    x: &'a Activations,
}

impl WithByteProducts for PanelProduct<'_> {
    type Output = Vec<f32>;

    #[inline(always)]
    fn run<P: ByteProducts>(self, products: P) -> Vec<f32> {
        let Self { matrix, panel, x } = self;
        let mut output = vec![0.0; x.count * PANEL];
        let (mut unpacked, mut scales) = (Vec::new(), Vec::new());
        for (at, group) in (panel * GROUPS..matrix.rows.div_ceil(ROWS)).take(GROUPS).enumerate() {
            // Several tiles of tokens read the integers and the scales of a group: they are unpacked once.
            unpacked.clear();
            scales.clear();
            if x.count > P::TILE {
                for part in 0..x.parts {
                    scales.push(matrix.scales_and_offsets(products, group, part));
                }
                if matrix.format.bits() < 8 {
                    unpacked.resize(x.parts * STEPS, [0; STEP_BYTES]);
                    for (part, steps) in unpacked.as_chunks_mut().0.iter_mut().enumerate() {
                        unpack(matrix.format.bits(), matrix.integers(group, part), steps);
                    }
                }
            }
            let group = Group { products, matrix, group, unpacked: &unpacked, scales: &scales };
            let mut first = 0;
            while first < x.count {
                let output = &mut output[first * PANEL + at * ROWS..];
                first += match x.count - first {
                    8.. if P::TILE >= 8 => group.tile::<8>(x, first, output),
                    4.. if P::TILE >= 4 => group.tile::<4>(x, first, output),
                    2.. if P::TILE >= 2 => group.tile::<2>(x, first, output),
                    _ => group.tile::<1>(x, first, output),
                };
            }
        }
        output
    }
}

/// Sixteen rows of a matrix, and what is unpacked of them already: the integers as bytes, and the scales.
struct Group<'a, P: ByteProducts> {
    products: P,
    matrix: &'a QuantizedMatrix,
    group: usize,
    unpacked: &'a [Weights],
    scales: &'a [ScalesAndOffsets<P>],
}

/// For each half of a part, the scales of integers, and what is added for each number of the tokens: a number of the weights is
/// scale · integer + offset.
type ScalesAndOffsets<P> = [(<P as ByteProducts>::Floats, <P as ByteProducts>::Floats); 2];

impl<P: ByteProducts> Group<'_, P> {
    /// The product with M tokens from `first` on, into rows of the output that are PANEL apart; returns M.
    #[inline(always)]
    fn tile<const M: usize>(&self, x: &Activations, first: usize, output: &mut [f32]) -> usize {
        let sums = match self.matrix.format {
            QuantizedFormat::Q6K => self.sums::<M, 2>(x, first),
            _ => self.sums::<M, 1>(x, first),
        };
        for (output, sums) in output.chunks_mut(PANEL).zip(sums) {
            output[..ROWS].copy_from_slice(&self.products.store(sums));
        }
        M
    }

    /// The sums of each row with M tokens, where a part has H scales.
    #[inline(always)]
    fn sums<const M: usize, const H: usize>(&self, x: &Activations, first: usize) -> [P::Floats; M] {
        let products = self.products;
        let tokens: [Token; M] = std::array::from_fn(|token| x.token(first + token));
        let mut totals = [products.splat(0.0); M];
        let mut room = [[0; STEP_BYTES]; STEPS];
        for part in 0..x.parts {
            let steps = match self.unpacked.as_chunks().0.get(part) {
                Some(unpacked) => unpacked,
                None => self.matrix.steps(self.group, part, &mut room),
            };
            let scales = match self.scales.get(part) {
                Some(scales) => *scales,
                None => self.matrix.scales_and_offsets(products, self.group, part),
            };
            for (half, &(scale, offset)) in scales.iter().enumerate().take(H) {
                let mut sums = [products.zero(); M];
                for (step, weights) in steps.iter().enumerate().skip(half * STEPS / H).take(STEPS / H) {
                    for (sum, token) in sums.iter_mut().zip(&tokens) {
                        *sum = products.add(*sum, weights, &token.numbers[part], step);
                    }
                }
                for ((total, sum), token) in totals.iter_mut().zip(sums).zip(&tokens) {
                    let scale = products.multiply(scale, products.splat(token.scales[part]));
                    *total = products.multiply_add(products.floats(sum), scale, *total);
                    let [first, second] = token.sums[part];
                    let sum = if H == 1 { first + second } else { token.sums[part][half] };
                    *total = products.multiply_add(offset, products.splat(sum), *total);
                }
            }
        }
        totals
    }
}

impl QuantizedMatrix {
    #[inline(always)]
    fn scales_and_offsets<P: ByteProducts>(&self, products: P, group: usize, part: usize) -> ScalesAndOffsets<P> {
        let held = self.scales(group, part);
        let scale = products.load_halves(&held[0]);
        let below_zero = |scale| products.multiply(scale, products.splat(-f32::from(self.format.zero())));
        match (self.format, self.factors(group, part)) {
            (QuantizedFormat::Q4K, Some([factors, minima])) => {
                let factor = |bytes: &[u8; ROWS]| products.load(&bytes.map(f32::from));
                let least = products.multiply(products.load_halves(&held[1]), products.splat(-1.0));
                [(products.multiply(scale, factor(factors)), products.multiply(least, factor(minima))); 2]
            }
            (QuantizedFormat::Q6K, Some(factors)) => [0, 1].map(|half| {
                let factors = factors[half].map(|byte| f32::from(byte.cast_signed()));
                let scale = products.multiply(scale, products.load(&factors));
                (scale, below_zero(scale))
            }),
            (QuantizedFormat::Q4_1, _) => [(scale, products.load_halves(&held[1])); 2],
            _ => [(scale, below_zero(scale)); 2],
        }
    }
}
