//! Cards that can be rented or bought, by their vendor's data sheets.

use std::str::FromStr;

use anyhow::{Context, Result, anyhow, ensure};

/// Some cards of one kind.
#[derive(Clone, Debug)]
pub struct Cards {
    pub name: &'static str,
    pub count: usize,
    /// Bytes of each.
    pub memory: u64,
    /// Floating-point operations a second of each in products of bf16, without sparsity.
    pub bf16_peak: f64,
}

/// Name, gigabytes, and tera-operations a second in bf16 with sums in f32, without sparsity.
const KNOWN: [(&str, u64, f64); 10] = [
    ("a100-40", 40, 312.0),
    ("a100", 80, 312.0),
    ("b200", 180, 2250.0),
    ("h100", 80, 989.0),
    ("h200", 141, 989.0),
    ("l4", 24, 121.0),
    ("l40s", 48, 362.0),
    ("rtx3090", 24, 71.0),
    ("rtx4090", 24, 165.0),
    ("rtx5090", 32, 209.5),
];

impl FromStr for Cards {
    type Err = anyhow::Error;

    /// `h100:8`; without a number, one.
    fn from_str(text: &str) -> Result<Self> {
        let (name, count) = text.split_once(':').unwrap_or((text, "1"));
        let names = || KNOWN.map(|card| card.0).join(", ");
        let known = KNOWN.into_iter().find(|card| card.0 == name);
        let (name, gigabytes, peak) = known.ok_or_else(|| anyhow!("unknown card {name:?}; known are {}", names()))?;
        let count: usize = count.parse().context("cards are written as a name and a number, such as h100:8")?;
        ensure!((1..=4096).contains(&count), "the number of cards must be from 1 to 4096");
        Ok(Self { name, count, memory: gigabytes * 1_000_000_000, bf16_peak: peak * 1e12 })
    }
}

#[cfg(test)]
mod tests {
    use super::Cards;

    #[test]
    fn cards_have_a_name_and_a_number() {
        let cards: Cards = "h100:8".parse().unwrap();
        assert_eq!((cards.name, cards.count, cards.memory), ("h100", 8, 80_000_000_000));
        assert_eq!("a100".parse::<Cards>().unwrap().count, 1);
        for (text, part) in [("h1000:8", "known are"), ("h100:0", "from 1"), ("h100:x", "such as h100:8")] {
            let sentence = text.parse::<Cards>().unwrap_err().to_string();
            assert!(sentence.contains(part), "{text}: {sentence}");
        }
    }
}
