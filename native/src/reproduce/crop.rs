//! Figure 5 of the DroPE paper: YaRN against cropping.

use anyhow::Result;
use drope_core::niah::Task;
use drope_core::perplexity::PerplexityCell;
use drope_core::positions::Method;
use serde_json::json;

use super::chart::{self, Axes, Series};
use super::comparison::compare;
use super::context::{Ask, EXTENSIONS, ReportContext};
use super::report::{Section, at, by_length, percent, perplexity, picture, summaries, table};

const METHODS: [(&str, &str, Method); 5] = [
    ("RoPE", "nano-rope", Method::Rope),
    ("YaRN", "nano-rope", Method::Yarn),
    ("cropped RoPE", "nano-rope", Method::Crop),
    ("DroPE", "nano-drope", Method::Drope),
    ("partial DroPE", "nano-p-drope", Method::PDrope),
];

pub fn section(context: &ReportContext) -> Result<Option<Section>> {
    let trials = if context.is_quick() { 40 } else { 500 };
    let (mut perplexities, mut scores) = (Vec::new(), Vec::new());
    for (name, model, method) in METHODS {
        perplexities.push((name, context.perplexity(model, method, None, &EXTENSIONS)?));
        scores.push((
            name,
            context.niah("niah.json", model, &Ask::new(method, Task::MultiKey, EXTENSIONS.to_vec(), trials))?,
        ));
    }
    let line = |name: &str, points: Vec<(f64, f64)>| Series { name: name.to_owned(), points };
    let log = [true, true];
    let of_perplexity = |(name, cells): &(&str, Vec<PerplexityCell>)| {
        line(name, cells.iter().map(|cell| (cell.extension as f64, cell.perplexity)).collect())
    };
    let losses = chart::lines(
        &Axes { x: "s, multiples of the training context", y: "perplexity", is_log: log },
        &perplexities.iter().map(of_perplexity).collect::<Vec<_>>(),
    )?;
    let found = scores
        .iter()
        .map(|(name, cells)| line(name, cells.iter().map(|c| (c.extension as f64, 100.0 * c.accuracy)).collect()));
    let niah = chart::lines(
        &Axes { x: "s, multiples of the training context", y: "multi-key, % exact", is_log: [true, false] },
        &found.collect::<Vec<_>>(),
    )?;
    let header = by_length("perplexity; multi-key", &EXTENSIONS);
    let rows = perplexities.iter().zip(&scores).map(|((name, losses), (_, cells))| {
        let cell = |s: usize| {
            let loss = losses.iter().find(|cell| cell.extension == s);
            format!("{}; {}", perplexity(loss), percent(at(cells, s)))
        };
        std::iter::once((*name).to_owned()).chain(EXTENSIONS.map(cell)).collect()
    });
    let body = format!(
        "{}{}{}",
        table(&header, &rows.collect::<Vec<Vec<String>>>()),
        picture("crop-perplexity.svg", "Perplexity of held-out documents in windows of s contexts."),
        picture("crop-niah.svg", "One of four keys, numbers.")
    );
    let twice = |name: &str| at(&scores.iter().find(|(known, _)| *known == name)?.1, 2);
    let verdict = match (twice("YaRN"), twice("cropped RoPE")) {
        (Some(yarn), Some(crop)) => {
            let place = compare(yarn, &[("cropping", crop)]);
            let sentence = place.sentence("YaRN", yarn);
            let holds = if place.is_first() {
                "does not hold here: YaRN finds far needles"
            } else {
                "is not contradicted here"
            };
            format!("{sentence} The paper's finding, that YaRN retrieves no more than a cropped text, {holds}.")
        }
        _ => "Not measured.".to_owned(),
    };
    Ok(Some(Section {
        title: "YaRN against cropping (DroPE paper, figure 5)",
        paper: "up to 2x YaRN keeps perplexity, as cropping does, but neither finds needles that are far from the question.".into(),
        body,
        verdict,
        numbers: json!({
            "perplexity": summaries(perplexities.iter().flat_map(|row| &row.1)),
            "multi-key": scores.iter().flat_map(|row| &row.1).collect::<Vec<_>>(),
        }),
        charts: vec![("crop-perplexity.svg".into(), losses), ("crop-niah.svg".into(), niah)],
    }))
}
