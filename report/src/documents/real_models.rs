//! docs/real-models.md: what real models do beyond their context without training, from the results of recipes/real-models.toml.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::Result;
use drope_core::benchmarks::BenchmarkCell;
use drope_core::perplexity::{PARTS, PerplexityCell};
use drope_core::positions::Method;
use drope_core::results::CellHeader;

use super::ruler::ruler_table;
use crate::files;
use crate::markdown::{DASH, joined, line, list, or_dash, section, table};
use crate::number::Number;

/// Parts of a text whose losses are shown.
const QUARTERS: usize = 4;

/// Writes the document; nothing where there are no results.
pub fn write(folder: &Path, root: &Path) -> Result<()> {
    let perplexities: Vec<PerplexityCell> = files::cells(&folder.join("perplexity.json"))?;
    let ruler: Vec<BenchmarkCell> = files::cells(&folder.join("ruler.json"))?;
    if perplexities.is_empty() {
        return Ok(());
    }
    files::write(&root.join("docs/real-models.md"), &document(&perplexities, &ruler))
}

fn document(perplexities: &[PerplexityCell], ruler: &[BenchmarkCell]) -> String {
    let models: BTreeSet<&str> = perplexities.iter().map(|cell| &*cell.model).collect();
    let of_model = |model: &&str| {
        let perplexities: Vec<&PerplexityCell> = perplexities.iter().filter(|cell| cell.model == **model).collect();
        let ruler: Vec<&BenchmarkCell> = ruler.iter().filter(|cell| cell.model == **model).collect();
        model_parts(model, &perplexities, &ruler)
    };
    let title = "# Real models\n\nWritten by `cargo xtask table` from docs/results/real-models; do not edit. The commands are in \
                 [recipes/real-models.toml](../recipes/real-models.toml). Nothing was trained, nothing fitted.\n";
    let models = models.iter().map(of_model).collect::<Vec<_>>().join("\n");
    format!("{title}\n{models}").trim_end().to_owned() + "\n"
}

fn model_parts(model: &str, perplexities: &[&PerplexityCell], ruler: &[&BenchmarkCell]) -> String {
    let longest = perplexities.iter().map(|cell| cell.length).max().unwrap_or(0);
    // Windows of the training context are what crop is.
    let trained = perplexities.first().map_or(0, |cell| cell.context / cell.extension.max(1));
    let has_crop = perplexities.iter().any(|cell| is_crop(cell));
    let is_windowed = |cell: &PerplexityCell| !has_crop && cell.method == Method::Rope && cell.context == trained;
    let is_whole = |cell: &&&PerplexityCell| cell.context == longest || is_crop(cell) || is_windowed(cell);
    let as_crop = |cell: &&PerplexityCell| {
        let method = if is_windowed(cell) { Method::Crop } else { cell.method };
        PerplexityCell { header: CellHeader { method, ..cell.header.clone() }, ..(*cell).clone() }
    };
    let mut whole: Vec<PerplexityCell> = perplexities.iter().filter(is_whole).map(as_crop).collect();
    whole.sort_by(|a, b| a.perplexity.total_cmp(&b.perplexity));
    let texts = perplexities.iter().map(|cell| cell.texts.len()).max().unwrap_or(0);
    // The name of the file and its hash.
    let source = perplexities.first().map_or("", |cell| cell.source.split(' ').next().unwrap_or_default());
    let title = format!("## {model}\n\nContext {trained}; texts of {source}.\n");
    let parts = [
        by_length(perplexities, longest),
        section(
            &format!("Reading {longest} tokens"),
            &format!(
                "{texts} texts of {longest} tokens, read whole. Mean loss in nats by quarter, perplexity of all, and how far it lies \
                 above that of reading in windows of the context (crop), text by text.\n\n{}{}",
                by_reading(&whole),
                sentence(&whole)
            ),
        ),
        if ruler.is_empty() { String::new() } else { section("RULER", &retrieval(ruler)) },
    ];
    // Sections of a model are one level below its name.
    let sections = parts.into_iter().filter(|part| !part.is_empty()).map(|part| format!("#{part}"));
    joined(std::iter::once(title).chain(sections), "\n")
}

fn is_crop(cell: &PerplexityCell) -> bool {
    cell.method == Method::Crop
}

/// `Partial DroPE, cut 0.000767`
fn reading(cell: &PerplexityCell) -> String {
    let cut = cell.cut.map_or(String::new(), |cut| format!(", cut {cut}"));
    format!("{}{cut}", cell.method.title())
}

fn by_length(perplexities: &[&PerplexityCell], longest: usize) -> String {
    let short = perplexities.iter().filter(|cell| cell.context < longest && !is_crop(cell));
    let mut short: Vec<&&PerplexityCell> = short.collect();
    short.sort_by(|a, b| a.context.cmp(&b.context).then(a.perplexity.total_cmp(&b.perplexity)));
    if short.is_empty() {
        return String::new();
    }
    let rows =
        short.iter().map(|cell| vec![cell.context.to_string(), reading(cell), Number::perplexity(cell).decimals()]);
    let text = format!(
        "The texts of the next section in windows of each length that move by half a window. Intervals: Student's, over the texts.\n\n{}",
        table(["window", "reading", "perplexity"], rows)
    );
    section("Perplexity by length", &text)
}

/// Mean losses of the quarters of the texts.
fn quarters(cell: &PerplexityCell) -> Vec<String> {
    let of_part = |part: &[usize]| {
        let sums = cell.texts.iter().flat_map(|text| part.iter().filter_map(|&at| text.curve.get(at)));
        let (count, loss) = sums.fold((0, 0.0), |sum, part| (sum.0 + part.0, sum.1 + part.1));
        or_dash((count > 0).then(|| format!("{:.3}", loss / count as f64)))
    };
    (0..PARTS).collect::<Vec<_>>().chunks(PARTS / QUARTERS).map(of_part).collect()
}

fn by_reading(whole: &[PerplexityCell]) -> String {
    let crop = whole.iter().find(|cell| is_crop(cell));
    let row = |cell: &PerplexityCell| {
        // The first windows of crop are those of the context.
        let losses = if is_crop(cell) { vec![DASH.to_owned(); QUARTERS] } else { quarters(cell) };
        let excess = crop.filter(|_| !is_crop(cell)).map(|crop| Number::excess(cell, crop).difference());
        line(reading(cell), losses.into_iter().chain([Number::perplexity(cell).decimals(), or_dash(excess)]))
    };
    table(["reading", "1st quarter", "2nd", "3rd", "4th", "perplexity", "above crop"], whole.iter().map(row))
}

/// Which reading predicts best, and what dropping low frequencies does; the best comes first.
fn sentence(whole: &[PerplexityCell]) -> String {
    let Some(best) = whole.first() else { return String::new() };
    let partial = whole.iter().filter(|cell| cell.method == Method::PDrope);
    let with_cut =
        |cell: &PerplexityCell| format!("{:.2} with the cut at {}", cell.perplexity, cell.cut.unwrap_or_default());
    let dropped = match &partial.map(with_cut).collect::<Vec<_>>()[..] {
        [] => String::new(),
        partial => format!(
            " Dropping low frequencies without recalibration gives {}; DroPE's claim is about recalibrated models.",
            list(partial)
        ),
    };
    format!("{} has the lowest perplexity, {:.2}.{dropped}\n", reading(best), best.perplexity)
}

fn retrieval(ruler: &[&BenchmarkCell]) -> String {
    format!(
        "In the model's chat template, with Django's manual where RULER has essays; RULER's score in percent. Where a task is not \
         answered within the context, its score beyond says nothing of the method.\n\n{}",
        ruler_table(ruler.to_vec(), |cell| cell.method.title().to_owned())
    )
}

#[cfg(test)]
mod tests {
    use drope_core::perplexity::{PARTS, PerplexityCell, TextLoss};
    use drope_core::positions::Method;
    use serde_json::json;

    use super::document;

    fn cell(method: Method, context: usize, losses: [f64; 2], cut: Option<f64>) -> PerplexityCell {
        let text = |index: usize| TextLoss {
            index,
            tokens: 1600,
            loss: 1600.0 * losses[index],
            curve: vec![(100, 100.0 * losses[index]); PARTS],
            ..TextLoss::default()
        };
        let json = json!({
            "model": "m", "method": method, "extension": context.div_ceil(8192), "context": context, "stride": context / 2,
            "source": "manual 1f", "beta": 1.0, "cut": cut, "length": 16384, "of_texts": 2, "tokens": 0, "loss": 0.0,
            "perplexity": 0.0, "ci95": null, "answer_perplexity": null, "curve": [], "texts": [text(0), text(1)],
        });
        serde_json::from_value::<PerplexityCell>(json).unwrap().recomputed()
    }

    #[test]
    fn readings_are_ordered_by_perplexity_and_compared_with_crop() {
        let cells = [
            cell(Method::Rope, 8192, [3.0, 3.0], None),
            cell(Method::Rope, 16384, [4.0, 4.2], None),
            cell(Method::Crop, 8192, [2.0, 2.2], None),
            cell(Method::Yarn, 16384, [1.9, 2.1], None),
            cell(Method::PDrope, 16384, [5.0, 5.2], Some(0.0002)),
        ];
        let text = document(&cells, &[]);
        let rows: Vec<&str> =
            text.lines().filter(|line| line.starts_with("| YaRN") || line.starts_with("| RoPE")).collect();
        assert!(rows[0].starts_with("| YaRN | 2.000 | 2.000 | 2.000 | 2.000 | 7.39 ["), "{text}");
        assert!(rows[0].ends_with("| -9.5 % [-9.5, -9.5] |") && rows[1].starts_with("| RoPE, cropped"), "{text}");
        assert!(text.contains("## m\n\nContext 8192; texts of manual.\n\n### Perplexity by length"), "{text}");
        assert!(text.contains("YaRN has the lowest perplexity, 7.39. Dropping low frequencies"), "{text}");
        assert!(
            text.contains("Partial DroPE, cut 0.0002") && text.contains("| 8192 | RoPE as trained | 20.09"),
            "{text}"
        );
    }
}
