//! What weights in fewer bits cost in perplexity, from the results of bench/bits.py.

use serde::Deserialize;

use super::aims::Measured;
use crate::markdown::{DASH, section, table};

/// The perplexity of a program with weights of some bits.
#[derive(Clone, Deserialize)]
pub struct Bits {
    program: String,
    bits: usize,
    perplexity: f64,
    text: String,
    texts: usize,
    length: usize,
}

/// The section; nothing where there are no results.
pub fn text(rows: &[Bits]) -> String {
    let Some(first) = rows.first() else { return String::new() };
    let row = |row: &Bits| {
        let above = above_32_bits(rows, row).map(percent);
        let numbers = [format!("{:.3}", row.perplexity), above.unwrap_or_else(|| DASH.to_owned())];
        [row.program.clone(), row.bits.to_string()].into_iter().chain(numbers).collect::<Vec<String>>()
    };
    section(
        "Weights in fewer bits",
        &format!(
            "`python bench/bits.py`: perplexity of {}, {} stretches of {} tokens, and how far it lies above the same program's with 32 \
             bits (the 4 bits of the file, widened; 8 bits are rounded from these). `core` rounds what it multiplies weights of 8 and 4 bits with to 16 bits, \
             llama.cpp to 8; *core, bf16* (`--compute bf16`) rounds both, of all weights, to bf16. The programs cut the text into stretches and count tokens differently, so that numbers of one are not to \
             be compared with numbers of the other.\n\n{}",
            first.text,
            first.texts,
            first.length,
            table(["program", "bits", "perplexity", "above 32 bits"], rows.iter().map(row))
        ),
    )
}

/// What 8 bits cost `core`.
pub fn of_8_bits(rows: &[Bits]) -> Vec<Measured> {
    let ours = rows.iter().filter(|row| row.program == "core" && row.bits == 8);
    let measured = |row: &Bits| {
        let value = above_32_bits(rows, row)?;
        Some(Measured { place: row.text.clone(), value, text: percent(value) })
    };
    ours.filter_map(measured).collect()
}

/// As a share; `None` of 32 bits, and where a program was not measured with them.
fn above_32_bits(rows: &[Bits], row: &Bits) -> Option<f64> {
    let wide = rows.iter().find(|wide| wide.bits == 32 && wide.program == row.program && row.bits != 32)?;
    Some(row.perplexity / wide.perplexity - 1.0)
}

/// In hundredths of a percent; what rounds to nothing has no sign.
fn percent(share: f64) -> String {
    format!("{:+.2} %", ((10_000.0 * share).round() + 0.0) / 100.0)
}

#[cfg(test)]
mod tests {
    use super::{Bits, text};

    #[test]
    fn a_program_is_compared_with_itself() {
        let row = |program: &str, bits: usize, perplexity: f64| Bits {
            program: program.to_owned(),
            bits,
            perplexity,
            text: "manual.txt".to_owned(),
            texts: 8,
            length: 2048,
        };
        let text = text(&[
            row("core", 32, 10.0),
            row("llama.cpp", 32, 20.0),
            row("llama.cpp", 4, 20.1),
            row("core", 4, 9.99999),
        ]);
        assert!(
            text.contains("| core | 32 | 10.000 | – |") && text.contains("manual.txt, 8 stretches of 2048 tokens"),
            "{text}"
        );
        assert!(text.contains("| llama.cpp | 4 | 20.100 | +0.50 % |"), "{text}");
        assert!(text.contains("| core | 4 | 10.000 | +0.00 % |"), "{text}");
    }
}
