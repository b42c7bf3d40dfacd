use super::portable::Portable;
use super::{ByteProducts, LARGEST, ROWS, STEP, STEPS, Weights, WithByteProducts};

/// Columns of the test's weights.
const COLUMNS: usize = 64;

/// Sums of all rows, and what is computed from them with some scales.
struct Products<'a> {
    weights: &'a [Weights],
    numbers: &'a [i16],
    halves: &'a [u16; ROWS],
}

impl WithByteProducts for Products<'_> {
    type Output = [[f32; ROWS]; 2];

    #[inline(always)]
    fn run<P: ByteProducts>(self, products: P) -> [[f32; ROWS]; 2] {
        let mut sums = [products.zero()];
        for (weights, numbers) in self.weights.as_chunks::<STEPS>().0.iter().zip(self.numbers.as_chunks().0) {
            let numbers = P::pack(numbers);
            products.add(&mut sums, weights, [&numbers], 0..STEPS / 2);
            products.add_loaded(&mut sums, &products.load_weights(weights), [&numbers], STEPS / 2..STEPS);
        }
        let floats = products.floats(sums[0]);
        let scales = products.load_halves(self.halves);
        let scaled =
            products.multiply_add(floats, products.multiply(scales, products.splat(0.5)), products.load(&[3.0; ROWS]));
        [products.store(floats), products.store(scaled)]
    }
}

#[test]
fn all_instructions_give_exact_sums() {
    // The largest numbers of both signs are among them.
    let bytes: Vec<u8> = (0..ROWS * COLUMNS).map(|at| if at % 7 == 0 { 255 } else { (at * 37 + 11) as u8 }).collect();
    let numbers: Vec<i16> = (0..COLUMNS).map(|at| [LARGEST, -LARGEST, (at * 2999) as i16 / 2, 128][at % 4]).collect();
    // Weights are [columns / STEP, ROWS, STEP].
    let mut weights = vec![[0; ROWS * STEP]; COLUMNS / STEP];
    for row in 0..ROWS {
        for column in 0..COLUMNS {
            weights[column / STEP][row * STEP + column % STEP] = bytes[row * COLUMNS + column];
        }
    }
    let halves: [u16; ROWS] = std::array::from_fn(|row| half::f16::from_f32(0.25 + row as f32).to_bits());
    let exact: Vec<i32> = bytes
        .chunks(COLUMNS)
        .map(|row| row.iter().zip(&numbers).map(|(&weight, &number)| i32::from(weight) * i32::from(number)).sum())
        .collect();
    let products = || Products { weights: &weights, numbers: &numbers, halves: &halves };
    #[allow(unused_mut, reason = "other processors have but one")]
    let mut found = vec![("portable", Some(products().run(Portable)))];
    #[cfg(target_arch = "x86_64")]
    found.extend([
        ("AVX512-VNNI", super::x86::Avx512Vnni::new().map(|instructions| instructions.run(products()))),
        ("AVX-VNNI", super::x86::AvxVnni::new().map(|instructions| instructions.run(products()))),
        ("AVX2", super::x86::Avx2::new().map(|instructions| instructions.run(products()))),
    ]);
    #[cfg(target_arch = "aarch64")]
    found.push(("SDOT", super::aarch64::DotProd::new().map(|instructions| instructions.run(products()))));
    #[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
    found.push(("SIMD128", Some(products().run(super::wasm::Simd128))));
    for (name, found) in found {
        let Some([sums, scaled]) = found else {
            eprintln!("skipped: the processor has no {name}");
            continue;
        };
        for row in 0..ROWS {
            assert_eq!(sums[row], exact[row] as f32, "{name}, row {row}");
            let expected = 0.5 * (0.25 + row as f32) * exact[row] as f32 + 3.0;
            assert!((scaled[row] - expected).abs() <= 1e-6 * expected.abs(), "{name}, row {row}: {}", scaled[row]);
        }
    }
}
