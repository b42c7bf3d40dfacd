//! A shuffled order that needs no list: every place of it is a function of the seed.

/// The numbers from 0 to `len` in another order: a Feistel network of four rounds permutes the numbers of an even number of bits,
/// and is applied again to what lies beyond `len`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shuffled {
    len: u64,
    /// Bits of a half.
    half: u32,
    keys: [u64; 4],
}

impl Shuffled {
    /// The order of a seed, for each round through all numbers another.
    pub fn new(len: u64, seed: u64, round: u64) -> Self {
        let bits = u64::BITS - len.saturating_sub(1).leading_zeros();
        let key =
            |index: u64| mixed(mixed(seed).wrapping_add(mixed(round ^ 0x5851_F42D_4C95_7F2D)).wrapping_add(index));
        Self { len, half: bits.div_ceil(2).max(1), keys: [0, 1, 2, 3].map(key) }
    }

    /// The number at a place below `len`.
    pub fn at(&self, place: u64) -> u64 {
        debug_assert!(place < self.len, "places are below the length");
        let mut number = place;
        loop {
            number = self.permuted(number);
            if number < self.len {
                return number;
            }
        }
    }

    fn permuted(&self, number: u64) -> u64 {
        let mask = (1 << self.half) - 1;
        let (mut left, mut right) = (number >> self.half, number & mask);
        for key in self.keys {
            (left, right) = (right, left ^ (mixed(right ^ key) & mask));
        }
        left << self.half | right
    }
}

/// SplitMix64's finalizer (Steele et al. 2014).
fn mixed(number: u64) -> u64 {
    let number = number.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let number = (number ^ (number >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    number ^ (number >> 31)
}

#[cfg(test)]
mod tests {
    use super::Shuffled;

    #[test]
    fn every_number_comes_once_in_an_order_of_its_seed_and_round() {
        for len in [1, 2, 3, 5, 64, 1000, 4097] {
            let order =
                |seed, round| (0..len).map(|place| Shuffled::new(len, seed, round).at(place)).collect::<Vec<_>>();
            let first = order(1, 0);
            let mut sorted = first.clone();
            sorted.sort_unstable();
            assert!(sorted.into_iter().eq(0..len), "{len}");
            assert_eq!(first, order(1, 0));
            assert!(len < 64 || first != order(2, 0) && first != order(1, 1), "{len}");
        }
        // Neighbours do not stay neighbours.
        let order = Shuffled::new(1000, 7, 0);
        let near = (1..1000).filter(|&place| order.at(place).abs_diff(order.at(place - 1)) < 10).count();
        assert!(near < 50, "{near}");
    }
}
