//! docs/real-models.md: what a real model does beyond its context without training, from the results of recipes/real-models.toml, and
//! how fast it is read and what its cache takes, from those of bench/real.py, bench/cache.py and bench/browser.py.

use std::path::Path;

use anyhow::Result;
use drope_core::benchmarks::BenchmarkCell;
use drope_core::perplexity::{PARTS, PerplexityCell};
use drope_core::positions::Method;
use drope_core::results::CellHeader;

use super::super::markdown::{self, DASH, cells, section, table};
use super::super::perplexities::PerplexityRow;
use serde::Deserialize;

use crate::files;
use crate::reading::results_file;

/// Parts of a text whose losses are shown.
const QUARTERS: usize = 4;

/// A program's speed and memory, as bench/real.py and bench/browser.py write it.
#[derive(Deserialize)]
struct Speed {
    program: String,
    weights: String,
    threads: usize,
    /// Tokens a second of the prompt.
    prefill: f64,
    /// Tokens a second behind it.
    decode: f64,
    /// Most memory; in the browser it is not measured.
    peak_bytes: Option<f64>,
}

/// A program whose keys and values are kept in so many bits, as bench/cache.py writes it.
#[derive(Deserialize)]
struct CacheSize {
    program: String,
    cache: String,
    /// Tokens a second of the prompt.
    prefill: f64,
    /// Tokens a second behind it.
    decode: f64,
    peak_bytes: f64,
    /// Tokens of the prompt.
    prompt: usize,
    threads: usize,
    /// Of `core` alone, as what follows: tokens and number of the texts whose perplexity it is.
    length: Option<usize>,
    texts: Option<usize>,
    perplexity: Option<f64>,
    ci95: Option<[f64; 2]>,
}

/// What programs of this repository measured beside recipes/real-models.toml.
#[derive(Default)]
struct Measured {
    native: Vec<Speed>,
    browser: Vec<Speed>,
    caches: Vec<CacheSize>,
}

/// Writes the document; nothing where there are no results.
pub fn write(folder: &Path, root: &Path) -> Result<()> {
    let perplexities: Vec<PerplexityCell> = results_file::read(Some(&folder.join("perplexity.json")))?;
    let ruler: Vec<BenchmarkCell> = results_file::read(Some(&folder.join("ruler.json")))?;
    let measured = Measured {
        native: results_file::read(Some(&folder.join("speed.json")))?,
        browser: results_file::read(Some(&folder.join("browser.json")))?,
        caches: results_file::read(Some(&folder.join("cache.json")))?,
    };
    if perplexities.is_empty() {
        return Ok(());
    }
    files::write(&root.join("docs/real-models.md"), document(&perplexities, &ruler, &measured).as_bytes())
}

fn document(perplexities: &[PerplexityCell], ruler: &[BenchmarkCell], measured: &Measured) -> String {
    let longest = perplexities.iter().map(|cell| cell.length).max().unwrap_or(0);
    // Windows of the training context are what crop is.
    let trained = perplexities.iter().find(|cell| cell.context == longest).map_or(0, |cell| longest / cell.extension);
    let has_crop = perplexities.iter().any(is_crop);
    let is_windowed = |cell: &PerplexityCell| !has_crop && cell.method == Method::Rope && cell.context == trained;
    let is_whole = |cell: &PerplexityCell| cell.context == longest || is_crop(cell) || is_windowed(cell);
    let whole: Vec<PerplexityCell> = perplexities
        .iter()
        .filter(|cell| is_whole(cell))
        .map(|cell| {
            let method = if is_windowed(cell) { Method::Crop } else { cell.method };
            PerplexityCell { header: CellHeader { method, ..cell.header.clone() }, ..cell.clone() }
        })
        .collect();
    let whole: Vec<&PerplexityCell> = whole.iter().collect();
    let texts = perplexities.iter().map(|cell| cell.texts.len()).max().unwrap_or(0);
    let parts = [
        "# A real model\n\nWritten by `cargo xtask table` from docs/results/real-models; do not edit. The commands are in \
         [recipes/real-models.toml](../recipes/real-models.toml).\n"
            .to_owned(),
        "**SmolLM2-135M-Instruct** (Apache 2.0), dequantised from Q4_1, context 8192, as `cargo xtask fetch smollm2` has it: nothing \
         was trained, nothing fitted. Instruct-tuned and of four bits, it is a witness of what methods do to a Llama, and not of \
         what the model could do in full precision.\n"
            .to_owned(),
        by_length(perplexities, longest),
        section(
            &format!("Reading {longest} tokens"),
            &format!(
                "Django's manual (`cargo xtask fetch manual`), {texts} texts of {longest} tokens, read whole. Mean loss in nats by quarter, perplexity of all, and how far it lies above that of reading in \
                 windows of the context (crop), text by text.\n\n{}{}",
                by_reading(&whole),
                sentence(&whole)
            ),
        ),
        if ruler.is_empty() { String::new() } else { section("RULER", &retrieval(ruler)) },
        speed(
            "Speed",
            "`python bench/real.py`, in one run on one machine of two cores: a prompt of 2,048 tokens and 64 tokens behind it; tokens a \
             second, and the most memory that the process took.",
            &measured.native,
        ),
        caches(&measured.caches),
        speed(
            "Speed in the browser",
            "`python bench/browser.py`, in one headless Chromium: the page and wllama (llama.cpp), a prompt of about 1,024 tokens; tokens a \
             second, medians.",
            &measured.browser,
        ),
    ];
    let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    parts.join("\n").trim_end().to_owned() + "\n"
}

fn is_crop(cell: &PerplexityCell) -> bool {
    cell.method == Method::Crop
}

/// `Partial DroPE, cut 0.000767`
fn reading(cell: &PerplexityCell) -> String {
    let cut = cell.cut.map_or(String::new(), |cut| format!(", cut {cut}"));
    format!("{}{cut}", cell.method.title())
}

fn row(cell: &PerplexityCell, crop: Option<&PerplexityCell>) -> PerplexityRow {
    PerplexityRow::new(&reading(cell), cell, crop)
}

fn by_length(perplexities: &[PerplexityCell], longest: usize) -> String {
    let mut short: Vec<&PerplexityCell> =
        perplexities.iter().filter(|cell| cell.context < longest && !is_crop(cell)).collect();
    short.sort_by(|a, b| a.context.cmp(&b.context).then(a.perplexity.total_cmp(&b.perplexity)));
    if short.is_empty() {
        return String::new();
    }
    let rows: Vec<Vec<String>> =
        short.iter().map(|cell| vec![cell.context.to_string(), reading(cell), row(cell, None).text()]).collect();
    let text = format!(
        "The texts of the next section in windows of each length that move by half a window. Intervals: Student's, over the texts.\n\n{}",
        table(&cells(["window", "reading", "perplexity"]), &rows)
    );
    section("Perplexity by length", &text)
}

/// Mean losses of the quarters of the texts.
fn quarters(cell: &PerplexityCell) -> Vec<String> {
    let of_part = |part: &[usize]| {
        let sums = cell.texts.iter().flat_map(|text| part.iter().filter_map(|&at| text.curve.get(at)));
        let (count, loss) = sums.fold((0, 0.0), |sum, part| (sum.0 + part.0, sum.1 + part.1));
        if count == 0 { DASH.to_owned() } else { format!("{:.3}", loss / count as f64) }
    };
    let places: Vec<usize> = (0..PARTS).collect();
    places.chunks(PARTS / QUARTERS).map(of_part).collect()
}

fn by_reading(whole: &[&PerplexityCell]) -> String {
    let crop = whole.iter().copied().find(|cell| is_crop(cell));
    let line = |cell: &&PerplexityCell| {
        let row = row(cell, crop.filter(|_| !is_crop(cell)));
        // The first windows of crop are those of the context.
        let losses = if is_crop(cell) { vec![DASH.to_owned(); QUARTERS] } else { quarters(cell) };
        [vec![row.system.clone()], losses, vec![row.text(), row.excess_text()]].concat()
    };
    let header = cells(["reading", "1st quarter", "2nd", "3rd", "4th", "perplexity", "above crop"]);
    let mut rows = whole.to_vec();
    rows.sort_by(|a, b| a.perplexity.total_cmp(&b.perplexity));
    table(&header, &rows.iter().map(line).collect::<Vec<_>>())
}

/// Which reading predicts best, and what dropping low frequencies does.
fn sentence(whole: &[&PerplexityCell]) -> String {
    let best = whole.iter().min_by(|a, b| a.perplexity.total_cmp(&b.perplexity));
    let Some(best) = best else { return String::new() };
    let partial: Vec<String> = whole
        .iter()
        .filter(|cell| cell.method == Method::PDrope)
        .map(|cell| format!("{:.2} with the cut at {}", cell.perplexity, cell.cut.unwrap_or_default()))
        .collect();
    let dropped = if partial.is_empty() {
        String::new()
    } else {
        format!(
            " Dropping low frequencies without recalibration gives {}; DroPE's claim is about recalibrated models.",
            markdown::list(&partial)
        )
    };
    format!("{} has the lowest perplexity, {:.2}.{dropped}\n", reading(best), best.perplexity)
}

/// A section with a table of speeds, below how they were measured; nothing where there are none.
fn speed(title: &str, measured: &str, speeds: &[Speed]) -> String {
    if speeds.is_empty() {
        return String::new();
    }
    let row = |speed: &Speed| {
        let [prefill, decode] = [speed.prefill, speed.decode].map(|number| format!("{number:.0}"));
        let memory = speed.peak_bytes.map_or(DASH.to_owned(), |bytes| format!("{:.0}", bytes / 1e6));
        vec![speed.program.clone(), speed.weights.clone(), speed.threads.to_string(), prefill, decode, memory]
    };
    let header = cells(["program", "weights", "threads", "prompt", "generation", "memory (MB)"]);
    section(title, &format!("{measured}\n\n{}", table(&header, &speeds.iter().map(row).collect::<Vec<_>>())))
}

/// What the type of keys and values costs and saves; nothing where it was not measured.
fn caches(caches: &[CacheSize]) -> String {
    let Some(first) = caches.first() else { return String::new() };
    let row = |size: &CacheSize| {
        let perplexity = match (size.perplexity, size.ci95) {
            (Some(perplexity), Some([low, high])) => format!("{perplexity:.3} [{low:.3}, {high:.3}]"),
            _ => DASH.to_owned(),
        };
        let [prefill, decode] = [size.prefill, size.decode].map(|number| format!("{number:.0}"));
        let memory = format!("{:.0}", size.peak_bytes / 1e6);
        vec![size.program.clone(), size.cache.clone(), prefill, decode, memory, perplexity]
    };
    let header = cells(["program", "keys and values", "prompt", "generation", "memory (MB)", "perplexity"]);
    let text = format!(
        "`python bench/cache.py`, in one run, {} threads: keys and values in fewer bits (`--cache`) behind a prompt of {} tokens, with \
         weights in 8 bits (Q8_0 in llama.cpp); tokens a second, and the most memory that the process took. Perplexity of Django's \
         manual, {} texts of {} tokens.\n\n{}",
        first.threads,
        first.prompt,
        first.texts.unwrap_or_default(),
        first.length.unwrap_or_default(),
        table(&header, &caches.iter().map(row).collect::<Vec<_>>())
    );
    section("The cache in fewer bits", &text)
}

fn retrieval(ruler: &[BenchmarkCell]) -> String {
    let row = |cell: &BenchmarkCell| {
        let [low, high] = cell.ci95.map(|bound| 100.0 * bound);
        vec![
            cell.task.clone(),
            cell.context.to_string(),
            cell.method.title().to_owned(),
            cell.answers.len().to_string(),
            format!("{:.1} [{low:.1}, {high:.1}]", 100.0 * cell.score),
        ]
    };
    let mut sorted: Vec<&BenchmarkCell> = ruler.iter().collect();
    sorted.sort_by(|a, b| (&a.task, a.context, a.method.name()).cmp(&(&b.task, b.context, b.method.name())));
    let rows: Vec<Vec<String>> = sorted.into_iter().map(row).collect();
    format!(
        "In the model's chat template, with Django's manual where RULER has essays; RULER's score in percent. Where a task is not \
         answered within the context, its score beyond says nothing of the method.\n\n{}",
        table(&cells(["task", "tokens", "reading", "questions", "score"]), &rows)
    )
}

#[cfg(test)]
mod tests {
    use drope_core::perplexity::{PARTS, PerplexityCell, TextLoss};
    use drope_core::positions::Method;

    use super::{Measured, document};

    fn cell(method: Method, context: usize, losses: [f64; 2], cut: Option<f64>) -> PerplexityCell {
        let text = |index: usize| TextLoss {
            index,
            tokens: 1600,
            loss: 1600.0 * losses[index],
            curve: vec![(100, 100.0 * losses[index]); PARTS],
            ..TextLoss::default()
        };
        let json = serde_json::json!({
            "model": "m", "method": method, "extension": 2, "context": context, "stride": context / 2, "source": "manual",
            "beta": 1.0, "cut": cut, "length": 16384, "of_texts": 2, "tokens": 0, "loss": 0.0, "perplexity": 0.0, "ci95": null,
            "answer_perplexity": null, "curve": [], "texts": [text(0), text(1)],
        });
        serde_json::from_value::<PerplexityCell>(json).unwrap().recomputed()
    }

    #[test]
    fn readings_are_ordered_by_perplexity_and_compared_with_crop() {
        let speed = serde_json::from_str(
            r#"{"program": "page", "weights": "q8", "threads": 2, "prefill": 101.6, "decode": 20.0}"#,
        )
        .unwrap();
        let cache = serde_json::from_str(
            r#"{"program": "core", "cache": "q8", "prefill": 99.7, "decode": 9.8, "peak_bytes": 4e8, "prompt": 16384, "threads": 2,
                "length": 8192, "texts": 4, "perplexity": 9.5, "ci95": [8, 11]}"#,
        )
        .unwrap();
        let text = document(
            &[
                cell(Method::Rope, 256, [3.0, 3.0], None),
                cell(Method::Rope, 16384, [4.0, 4.2], None),
                cell(Method::Crop, 8192, [2.0, 2.2], None),
                cell(Method::Yarn, 16384, [1.9, 2.1], None),
                cell(Method::PDrope, 16384, [5.0, 5.2], Some(0.0002)),
            ],
            &[],
            &Measured { browser: vec![speed], caches: vec![cache], ..Measured::default() },
        );
        let rows: Vec<&str> =
            text.lines().filter(|line| line.starts_with("| YaRN") || line.starts_with("| RoPE")).collect();
        assert!(rows[0].starts_with("| YaRN | 2.000 | 2.000 | 2.000 | 2.000 | 7.39 ["), "{text}");
        assert!(rows[0].ends_with("| -9.5 % [-9.5, -9.5] |") && rows[1].starts_with("| RoPE, cropped"), "{text}");
        assert!(text.contains("YaRN has the lowest perplexity, 7.39. Dropping low frequencies"), "{text}");
        assert!(
            text.contains("Partial DroPE, cut 0.0002") && text.contains("| 256 | RoPE as trained | 20.09"),
            "{text}"
        );
        assert!(text.contains("behind a prompt of 16384 tokens") && text.contains("4 texts of 8192 tokens."), "{text}");
        assert!(text.contains("| core | q8 | 100 | 10 | 400 | 9.500 [8.000, 11.000] |"), "{text}");
        assert!(!text.contains("RULER") && text.contains("| page | q8 | 2 | 102 | 20 | – |"), "{text}");
    }
}
