//! Parts of an address as values.

use std::str::FromStr;

/// `8,30,2`
pub fn numbers<const N: usize>(text: &str) -> Option<[u64; N]> {
    let numbers: Vec<u64> = text.split(',').map(str::parse).collect::<Result<_, _>>().ok()?;
    numbers.try_into().ok()
}

/// What a part of the address says, if it can be read.
pub fn read<T: FromStr>(text: Option<String>) -> Option<T> {
    text?.parse().ok()
}
