//! The papers' own numbers, as they are printed, and how they are rendered.

/// A system of a paper's table and its scores, one a column.
pub type PrintedRow<const N: usize> = (&'static str, [f64; N]);

/// `RoPE 0.0 / 0.0, NTK 21.1 / 19.4`
pub fn printed<const N: usize>(rows: &[PrintedRow<N>], decimals: usize) -> String {
    let numbers = |scores: &[f64; N]| scores.map(|score| format!("{score:.decimals$}")).join(" / ");
    rows.iter().map(|(system, scores)| format!("{system} {}", numbers(scores))).collect::<Vec<_>>().join(", ")
}

/// The version of the DroPE paper whose numbers and tables are meant.
pub const DROPE_PAPER: &str = "arXiv 2512.12167v1 (13 December 2025)";
