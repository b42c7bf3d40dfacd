//! The heatmap as text: CSV and SVG.

use std::collections::BTreeSet;

use drope_core::stats::wilson;
use drope_protocol::Reading;

use crate::address::difficulty;
use crate::parts::reading_title::reading_title;
use crate::state::running::CellKey;

/// Side of a cell in the drawing, and its margins.
const CELL: usize = 44;
const LEFT: usize = 60;
const TOP: usize = 48;

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
    /// Identifies the cell.
    pub key: CellKey,
    /// What is known of it.
    pub counts: DepthCounts,
}

/// The cells as CSV, with one line for each.
pub fn csv_text(cells: &[HeatmapCell]) -> String {
    let mut text =
        "model,method,parameters,task,values,settings,extension,depth,correct,trials,accuracy,low,high,source\n"
            .to_owned();
    for HeatmapCell { key: CellKey { reading, kind, extension, depth }, counts } in cells {
        let [low, high] = counts.interval();
        text.push_str(&format!(
            "{},{},\"{}\",{},{},{},{extension},{},{},{},{:.4},{low:.4},{high:.4},{}\n",
            reading.model.as_deref().unwrap_or(reading.method.info().nano_model),
            reading.method.name(),
            reading.parameters,
            kind.task.name(),
            kind.values.name(),
            difficulty::text(*kind),
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
pub fn svg_text(cells: &[HeatmapCell]) -> (usize, usize, String) {
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
        write(panel * number + LEFT, 18, "start", &reading_title(reading));
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

#[cfg(test)]
mod tests {
    use drope_core::language::Values;
    use drope_core::niah::Task;
    use drope_core::positions::Method;

    use drope_protocol::QuestionKind;

    use super::{DepthCounts, HeatmapCell, csv_text, svg_text};
    use crate::state::column::plain;
    use crate::state::running::CellKey;

    fn cells() -> Vec<HeatmapCell> {
        let cell = |(method, extension, depth, correct)| {
            let key = CellKey {
                reading: plain(method),
                kind: QuestionKind::standard(Task::MultiKey, Values::Numbers),
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
        assert_eq!(lines[1], "nano-drope,drope,\"\",multi-key,numbers,,4,0.25,9,10,0.9000,0.5958,0.9821,this tab");
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
