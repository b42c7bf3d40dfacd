//! The product of tokens with quantized weights: integers are multiplied and summed exactly within a part, and scaled from part to part.

use burn::tensor::{Device, Tensor, TensorData};
use drope_instructions::bytes::{ByteProducts, Packed, ROWS, STEPS, WithByteProducts, with_byte_products};

use super::activations::{Activations, Token};
use super::format::QuantizedFormat;
use super::{QuantizedMatrix, STEP_BYTES};
use crate::kernels::constant;
use crate::kernels::linear::ComputeType;
use crate::kernels::parts::{in_parts, join_panels, products_of};
use crate::kernels::views::numbers;

/// Groups of rows that one thread takes at once.
const GROUPS: usize = 4;
const PANEL: usize = GROUPS * ROWS;

impl QuantizedMatrix {
    /// x · matrixᵀ: `[batch, seq, columns]` to `[batch, seq, rows]`. The tensor is on the CPU.
    ///
    /// Rounded to bf16 only where the processor multiplies bf16, and in two pieces of bf16 where it has tiles; both for so many tokens that it
    /// is faster than products of integers.
    pub fn product(&self, x: &Tensor<3>, compute: ComputeType) -> Tensor<3> {
        let [batch, seq, _] = x.dims();
        let x = constant(x).to_contiguous();
        #[cfg(target_arch = "x86_64")]
        if let Some(output) = self.product_in_bf16(numbers(&x), compute) {
            return Tensor::from_data(TensorData::new(output, [batch, seq, self.rows]), &Device::flex());
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = compute;
        let x = Activations::new(numbers(&x), self.columns);
        let sums = in_parts(products_of(&[x.count, self.rows, self.columns]), 0..self.rows.div_ceil(PANEL), |panel| {
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
        let (mut loaded, mut scales) = (Vec::new(), Vec::new());
        for (at, group) in (panel * GROUPS..matrix.rows.div_ceil(ROWS)).take(GROUPS).enumerate() {
            // Several tiles of tokens read the integers and the scales of a group: they are unpacked and loaded once.
            loaded.clear();
            scales.clear();
            if x.count > P::TILE {
                for part in 0..x.parts {
                    let mut room = [[0; STEP_BYTES]; STEPS];
                    loaded.push(products.load_weights(matrix.steps(group, part, &mut room)));
                    scales.push(matrix.scales_and_offsets(products, group, part));
                }
            }
            let group = Group { products, matrix, group, loaded: &loaded, scales: &scales };
            let mut first = 0;
            while first < x.count {
                let output = &mut output[first * PANEL + at * ROWS..];
                first += if loaded.is_empty() {
                    group.next_tile::<false>(x, first, output)
                } else {
                    group.next_tile::<true>(x, first, output)
                };
            }
        }
        output
    }
}

/// Sixteen rows of a matrix, and what is loaded of its parts already: the integers, and the scales.
struct Group<'a, P: ByteProducts> {
    products: P,
    matrix: &'a QuantizedMatrix,
    group: usize,
    loaded: &'a [P::Loaded],
    scales: &'a [ScalesAndOffsets<P>],
}

/// For each half of a part, the scales of integers, and what is added for each number of the tokens: a number of the weights is
/// scale · integer + offset.
pub(super) type ScalesAndOffsets<P> = [(<P as ByteProducts>::Floats, <P as ByteProducts>::Floats); 2];

impl<P: ByteProducts> Group<'_, P> {
    /// The product with as many tokens from `first` on as a tile takes, into rows of the output that are PANEL apart; returns their number.
    /// LOADED says whether the group's parts are loaded.
    #[inline(always)]
    fn next_tile<const LOADED: bool>(&self, x: &Activations, first: usize, output: &mut [f32]) -> usize {
        match x.count - first {
            8.. if P::TILE >= 8 => self.tile::<8, LOADED>(x, first, output),
            4.. if P::TILE >= 4 => self.tile::<4, LOADED>(x, first, output),
            2.. if P::TILE >= 2 => self.tile::<2, LOADED>(x, first, output),
            _ => self.tile::<1, LOADED>(x, first, output),
        }
    }

    /// The same with M tokens.
    #[inline(always)]
    fn tile<const M: usize, const LOADED: bool>(&self, x: &Activations, first: usize, output: &mut [f32]) -> usize {
        let sums = match self.matrix.format {
            QuantizedFormat::Q6K => self.sums::<M, 2, LOADED>(x, first),
            _ => self.sums::<M, 1, LOADED>(x, first),
        };
        for (output, sums) in output.chunks_mut(PANEL).zip(sums) {
            output[..ROWS].copy_from_slice(&self.products.store(sums));
        }
        M
    }

    /// The sums of each row with M tokens, where a part has H scales. Compilers of browsers keep values in registers only where a function
    /// is small.
    #[cfg_attr(target_arch = "wasm32", inline(never))]
    #[cfg_attr(not(target_arch = "wasm32"), inline(always))]
    fn sums<const M: usize, const H: usize, const LOADED: bool>(
        &self,
        x: &Activations,
        first: usize,
    ) -> [P::Floats; M] {
        let products = self.products;
        let tokens: [Token; M] = std::array::from_fn(|token| x.token(first + token));
        let mut totals = [products.splat(0.0); M];
        let mut room = [[0; STEP_BYTES]; STEPS];
        for part in 0..x.parts {
            let numbers: [&Packed; M] = std::array::from_fn(|token| &tokens[token].numbers[part]);
            if !LOADED {
                self.matrix.prefetch_after(self.group, part);
            }
            let nibbles = if LOADED { None } else { self.matrix.nibbles(self.group, part) };
            let steps =
                if LOADED || nibbles.is_some() { &room } else { self.matrix.steps(self.group, part, &mut room) };
            let scales =
                if LOADED { self.scales[part] } else { self.matrix.scales_and_offsets(products, self.group, part) };
            for (half, &(scale, offset)) in scales.iter().enumerate().take(H) {
                let mut sums = [products.zero(); M];
                let of_half = half * STEPS / H..(half + 1) * STEPS / H;
                if LOADED {
                    products.add_loaded(&mut sums, &self.loaded[part], numbers, of_half);
                } else if let Some(nibbles) = nibbles {
                    products.add_nibbles(&mut sums, nibbles, numbers);
                } else {
                    products.add(&mut sums, steps, numbers, of_half);
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
    pub(super) fn scales_and_offsets<P: ByteProducts>(
        &self,
        products: P,
        group: usize,
        part: usize,
    ) -> ScalesAndOffsets<P> {
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
