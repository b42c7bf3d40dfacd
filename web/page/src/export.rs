//! The heatmap as a file: CSV, SVG, or PNG.

use std::collections::BTreeSet;

use drope_core::stats::wilson;
use drope_protocol::Reading;
use leptos::prelude::*;
use wasm_bindgen::closure::Closure;
use wasm_bindgen::{JsCast, JsValue};
use web_sys::{
    Blob, BlobPropertyBag, CanvasRenderingContext2d, HtmlAnchorElement, HtmlCanvasElement, HtmlImageElement, Url,
};

use super::state::CellKey;

/// Side of a cell in the picture, its margins, and how many pixels of the PNG a unit is.
const CELL: usize = 44;
const LEFT: usize = 60;
const TOP: usize = 48;
const PIXELS: usize = 2;

/// Right answers of a cell, and questions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DepthCounts {
    /// Right answers.
    pub correct: usize,
    /// Questions.
    pub trials: usize,
    /// Whether they were asked in this tab; else they are committed results.
    pub is_here: bool,
}

impl DepthCounts {
    /// Share of right answers.
    pub fn share(self) -> f64 {
        self.correct as f64 / self.trials.max(1) as f64
    }

    /// Its 95 % interval.
    pub fn interval(self) -> [f64; 2] {
        wilson(self.correct, self.trials)
    }
}

/// A cell of the heatmap with its counts.
pub struct HeatmapCell {
    /// Which.
    pub key: CellKey,
    /// What is known of it.
    pub counts: DepthCounts,
}

/// `YaRN`, `YaRN, beta_fast=16`
pub fn title(Reading { method, parameters }: &Reading) -> String {
    if parameters.is_empty() { method.title().to_owned() } else { format!("{}, {parameters}", method.title()) }
}

/// A line a cell.
fn csv_text(cells: &[HeatmapCell]) -> String {
    let mut text = "method,parameters,task,values,extension,depth,correct,trials,accuracy,low,high,source\n".to_owned();
    for HeatmapCell { key: CellKey { reading, task, values, extension, depth }, counts } in cells {
        let [low, high] = counts.interval();
        text.push_str(&format!(
            "{},\"{}\",{},{},{extension},{},{},{},{:.4},{low:.4},{high:.4},{}\n",
            reading.method.name(),
            reading.parameters,
            task.name(),
            values.name(),
            depth.map(|percent| (f64::from(percent) / 100.0).to_string()).unwrap_or_default(),
            counts.correct,
            counts.trials,
            counts.share(),
            if counts.is_here { "this tab" } else { "docs/results/depths.json" }
        ));
    }
    text
}

/// Width, height and text of the picture: a panel a method, side by side.
fn svg_text(cells: &[HeatmapCell]) -> (usize, usize, String) {
    let mut readings: Vec<&Reading> = Vec::new();
    for cell in cells {
        if !readings.contains(&&cell.key.reading) {
            readings.push(&cell.key.reading);
        }
    }
    let extensions: Vec<usize> = BTreeSet::from_iter(cells.iter().map(|cell| cell.key.extension)).into_iter().collect();
    let depths: Vec<Option<u32>> = BTreeSet::from_iter(cells.iter().map(|cell| cell.key.depth)).into_iter().collect();
    let panel = LEFT + extensions.len() * CELL + 20;
    let (width, height) = (panel * readings.len().max(1), TOP + depths.len() * CELL + 16);
    let mut body = String::new();
    let mut write = |x: usize, y: usize, anchor: &str, text: &str| {
        body.push_str(&format!("<text x=\"{x}\" y=\"{y}\" text-anchor=\"{anchor}\">{text}</text>"));
    };
    for (number, reading) in readings.iter().enumerate() {
        write(panel * number + LEFT, 18, "start", &title(reading));
        for (column, extension) in extensions.iter().enumerate() {
            write(panel * number + LEFT + column * CELL + CELL / 2, 40, "middle", &format!("{extension}×"));
        }
        for (row, depth) in depths.iter().enumerate() {
            write(
                panel * number + LEFT - 8,
                TOP + row * CELL + CELL / 2 + 5,
                "end",
                &format!("{} %", depth.unwrap_or_default()),
            );
        }
    }
    for cell in cells {
        let place = |number: Option<usize>| number.unwrap_or_default();
        let x = panel * place(readings.iter().position(|reading| **reading == cell.key.reading))
            + LEFT
            + CELL * place(extensions.iter().position(|&extension| extension == cell.key.extension));
        let y = TOP + CELL * place(depths.iter().position(|&depth| depth == cell.key.depth));
        let (side, share) = (CELL - 2, cell.counts.share());
        body.push_str(&format!(
            "<rect x=\"{x}\" y=\"{y}\" width=\"{side}\" height=\"{side}\" fill=\"#0b6b3a\" fill-opacity=\"{:.2}\" stroke=\"#ccc\"/>\
             <text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{:.0}</text>",
            0.6 * share,
            x + side / 2,
            y + side / 2 + 5,
            100.0 * share
        ));
    }
    let text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" \
         font-family=\"sans-serif\" font-size=\"14\" fill=\"#1c1b19\"><rect width=\"{width}\" height=\"{height}\" fill=\"#fff\"/>\
         {body}</svg>"
    );
    (width, height, text)
}

/// Saves the cells as a table.
pub fn csv(cells: &[HeatmapCell]) {
    save_text("heatmap.csv", "text/csv", &csv_text(cells));
}

/// Saves the cells as a drawing.
pub fn svg(cells: &[HeatmapCell]) {
    save_text("heatmap.svg", "image/svg+xml", &svg_text(cells).2);
}

/// Saves the cells as a picture, which the browser draws.
pub fn png(cells: &[HeatmapCell]) {
    let (width, height, text) = svg_text(cells);
    let drawn = move || -> Result<(), JsValue> {
        let image = HtmlImageElement::new()?;
        let source = object_url("image/svg+xml", &text)?;
        let drawn_image = image.clone();
        let on_load = Closure::once_into_js(move || {
            // A browser that cannot draw saves nothing.
            let _ = draw(&drawn_image, (width * PIXELS) as u32, (height * PIXELS) as u32);
        });
        image.set_onload(Some(on_load.unchecked_ref()));
        image.set_src(&source);
        Ok(())
    };
    let _ = drawn();
}

fn draw(image: &HtmlImageElement, width: u32, height: u32) -> Result<(), JsValue> {
    let canvas: HtmlCanvasElement = document().create_element("canvas")?.dyn_into()?;
    canvas.set_width(width);
    canvas.set_height(height);
    let context = canvas.get_context("2d")?.ok_or("no canvas")?.dyn_into::<CanvasRenderingContext2d>()?;
    context.draw_image_with_html_image_element_and_dw_and_dh(image, 0.0, 0.0, width.into(), height.into())?;
    save("heatmap.png", &canvas.to_data_url()?)
}

fn save_text(name: &str, kind: &str, text: &str) {
    // A browser that refuses saves nothing; the page has the numbers.
    let _ = object_url(kind, text).and_then(|address| save(name, &address));
}

fn object_url(kind: &str, text: &str) -> Result<String, JsValue> {
    let options = BlobPropertyBag::new();
    options.set_type(kind);
    let parts = js_sys::Array::of1(&text.into());
    Url::create_object_url_with_blob(&Blob::new_with_str_sequence_and_options(&parts, &options)?)
}

fn save(name: &str, address: &str) -> Result<(), JsValue> {
    let link: HtmlAnchorElement = document().create_element("a")?.dyn_into()?;
    link.set_href(address);
    link.set_download(name);
    link.click();
    Ok(())
}

#[cfg(test)]
mod tests {
    use drope_core::language::Values;
    use drope_core::niah::Task;
    use drope_core::positions::Method;

    use super::super::state::{CellKey, plain};
    use super::{DepthCounts, HeatmapCell, csv_text, svg_text};

    fn cells() -> Vec<HeatmapCell> {
        let cell = |(method, extension, depth, correct)| {
            let key = CellKey {
                reading: plain(method),
                task: Task::MultiKey,
                values: Values::Numbers,
                extension,
                depth: Some(depth),
            };
            HeatmapCell { key, counts: DepthCounts { correct, trials: 10, is_here: true } }
        };
        [(Method::Drope, 4, 25, 9), (Method::Drope, 8, 25, 10), (Method::Rope, 4, 25, 0)].map(cell).into()
    }

    #[test]
    fn a_table_has_a_line_a_cell_with_its_interval() {
        let text = csv_text(&cells());
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 4);
        // Wilson's interval of 9 of 10.
        assert_eq!(lines[1], "drope,\"\",multi-key,numbers,4,0.25,9,10,0.9000,0.5958,0.9821,this tab");
    }

    #[test]
    fn a_drawing_has_a_panel_a_method_and_a_square_a_cell() {
        let (width, height, text) = svg_text(&cells());
        assert_eq!((width, height), (2 * (60 + 2 * 44 + 20), 48 + 44 + 16));
        assert_eq!(text.matches("fill-opacity").count(), 3);
        assert!(
            text.contains(">DroPE</text>") && text.contains("fill-opacity=\"0.54\"") && text.contains(">90</text>")
        );
    }
}
