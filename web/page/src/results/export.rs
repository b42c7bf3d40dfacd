//! The heatmap as a file: CSV, SVG, or PNG.

use crate::parts::blob::{save, text_address};
use crate::parts::picture::save_picture;
use crate::results::heatmap_text::{HeatmapCell, csv_text, svg_text};

/// How many pixels of the PNG a unit of the drawing is.
const PIXELS: usize = 2;

/// Saves the cells as a table.
pub fn csv(cells: &[HeatmapCell]) {
    save_text("heatmap.csv", "text/csv", &csv_text(cells));
}

/// Saves the cells as a drawing.
pub fn svg(cells: &[HeatmapCell]) {
    save_text("heatmap.svg", "image/svg+xml", &svg_text(cells).2);
}

/// Saves the cells as a picture.
pub fn png(cells: &[HeatmapCell]) {
    let (width, height, text) = svg_text(cells);
    save_picture("heatmap.png", [width, height].map(|side| (side * PIXELS) as u32), &text);
}

fn save_text(name: &str, kind: &str, text: &str) {
    // A browser that refuses saves nothing; the page has the numbers.
    let _ = text_address(kind, text).and_then(|address| save(name, &address));
}
