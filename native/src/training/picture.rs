//! The losses of a run as a picture in its folder.

use std::path::Path;

use anyhow::Result;
use drope_core::results::HeldOutLine;
use drope_report::plot::{self, Curve};

use super::held_out;
use super::json_lines;
use super::progress::{CURVE_FILE, CurveLine};
use crate::files;

/// The picture in a model's folder.
pub const FILE: &str = "loss.svg";

/// Runs of fewer tokens are drawn along thousands.
const MILLION: f64 = 1e6;

/// Draws the loss of training and that on held-out text against the tokens so far, from the files that the run writes.
pub fn draw(out: &Path) -> Result<()> {
    let training: Vec<CurveLine> = json_lines::read(&out.join(CURVE_FILE));
    let held_out: Vec<HeldOutLine> = json_lines::read(&out.join(held_out::FILE));
    let most = held_out.iter().map(|line| line.tokens).chain(training.iter().map(|line| line.tokens)).max();
    let (unit, axis) =
        if (most.unwrap_or(0) as f64) < MILLION { (1e3, "thousand tokens") } else { (MILLION, "million tokens") };
    let curves: [Curve; 2] = [
        ("held-out text".to_owned(), held_out.iter().map(|line| (line.tokens as f64 / unit, line.loss)).collect()),
        ("training text".to_owned(), training.iter().map(|line| (line.tokens as f64 / unit, line.loss)).collect()),
    ];
    let curves = curves.into_iter().filter(|(_, points)| !points.is_empty());
    let plot = plot::curves(axis, "loss, nats a token", [false, false], curves);
    files::write(&out.join(FILE), plot::plot(&plot)?.as_bytes())
}
