use super::portable::Portable;
use super::{ByteProducts, LARGEST, ROWS, STEP, STEPS, Weights, WithByteProducts, unpack_nibbles};

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

/// Sums with weights of four bits, and with the same ones as bytes.
struct NibbleProducts<'a>(&'a [i16]);

impl WithByteProducts for NibbleProducts<'_> {
    type Output = [[f32; ROWS]; 2];

    #[inline(always)]
    fn run<P: ByteProducts>(self, products: P) -> [[f32; ROWS]; 2] {
        let packed = std::array::from_fn(|step| std::array::from_fn(|at| (step * 89 + at * 37 + 11) as u8));
        let numbers = P::pack(self.0.first_chunk().expect("numbers of a part"));
        let mut steps = [[0; ROWS * STEP]; STEPS];
        unpack_nibbles(&packed, &mut steps);
        let mut sums = [[products.zero()]; 2];
        products.add_nibbles(&mut sums[0], &packed, [&numbers]);
        products.add(&mut sums[1], &steps, [&numbers], 0..STEPS);
        sums.map(|[sums]| products.store(products.floats(sums)))
    }
}

/// Each set of instructions by its name, with what it makes of some work; `None` where the processor lacks it.
fn by_all_instructions<W: WithByteProducts>(work: impl Fn() -> W) -> Vec<(&'static str, Option<W::Output>)> {
    #[allow(unused_mut, reason = "other processors have but one")]
    let mut found = vec![("portable", Some(work().run(Portable)))];
    #[cfg(target_arch = "x86_64")]
    found.extend([
        ("AVX512-VNNI", super::x86::Avx512Vnni::new().map(|instructions| instructions.run(work()))),
        ("AVX-VNNI", super::x86::AvxVnni::new().map(|instructions| instructions.run(work()))),
        ("AVX2", super::x86::Avx2::new().map(|instructions| instructions.run(work()))),
    ]);
    #[cfg(target_arch = "aarch64")]
    found.push(("SDOT", super::aarch64::DotProd::new().map(|instructions| instructions.run(work()))));
    #[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
    found.push(("SIMD128", Some(work().run(super::wasm::Simd128))));
    for (name, _) in found.iter().filter(|(_, found)| found.is_none()) {
        eprintln!("skipped: the processor has no {name}");
    }
    found
}

#[test]
fn weights_of_four_bits_give_the_sums_of_their_bytes() {
    let numbers: Vec<i16> =
        (0..STEPS * STEP).map(|at| [LARGEST, -LARGEST, (at * 2999) as i16 / 2, 128][at % 4]).collect();
    for (name, found) in by_all_instructions(|| NibbleProducts(&numbers)) {
        let Some([nibbles, bytes]) = found else { continue };
        assert!(nibbles == bytes && nibbles.iter().all(|&sum| sum != 0.0), "{name}: {nibbles:?}, not {bytes:?}");
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
    for (name, found) in by_all_instructions(|| Products { weights: &weights, numbers: &numbers, halves: &halves }) {
        let Some([sums, scaled]) = found else { continue };
        for row in 0..ROWS {
            assert_eq!(sums[row], exact[row] as f32, "{name}, row {row}");
            let expected = 0.5 * (0.25 + row as f32) * exact[row] as f32 + 3.0;
            assert!((scaled[row] - expected).abs() <= 1e-6 * expected.abs(), "{name}, row {row}: {}", scaled[row]);
        }
    }
}
