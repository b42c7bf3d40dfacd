//! Figure 5 of the DroPE paper: YaRN against cropping.

use anyhow::Result;
use drope_core::niah::Task;
use drope_core::positions::Method;
use serde::Serialize;

use super::chart::{self, Axes, Series};
use super::comparison::Comparison;
use super::context::{EXTENSIONS, ReportContext};
use super::markdown::{by_length, picture, table};
use super::measured::Ask;
use super::perplexities::{self, PerplexityRow};
use super::report::{Section, SectionText};
use super::score::{self, ScoreRow};
use super::verdict::Verdict;

const METHODS: [(&str, &str, Method); 5] = [
    ("RoPE", "nano-rope", Method::Rope),
    (YARN, "nano-rope", Method::Yarn),
    (CROPPED, "nano-rope", Method::Crop),
    ("DroPE", "nano-drope", Method::Drope),
    ("partial DroPE", "nano-p-drope", Method::PDrope),
];
const YARN: &str = "YaRN";
const CROPPED: &str = "cropped RoPE";

/// The extension factor at which the paper has YaRN and cropping alike.
const PRINTED_EXTENSION: usize = 2;

/// A system's scores and perplexities.
#[derive(Serialize)]
struct CropRow {
    multi_key: ScoreRow,
    perplexity: Vec<PerplexityRow>,
}

/// That YaRN retrieves no more than a cropped text.
#[derive(Serialize)]
struct CropVerdict {
    yarn: Option<Comparison>,
    retrieves_no_more: Verdict,
}

pub fn compare_with_cropping(context: &ReportContext) -> Result<Section> {
    let rows = rows(context)?;
    let verdict = judge(&rows);
    let charts = vec![
        ("crop-perplexity.svg".to_owned(), perplexity_chart(&rows)?),
        ("crop-niah.svg".to_owned(), score_chart(&rows)?),
    ];
    let line = |row: &CropRow| -> Vec<String> {
        let cell = |&s: &usize| {
            let loss = perplexities::text(perplexities::at(&row.perplexity, s));
            format!("{loss}; {}", score::text(row.multi_key.at(s)))
        };
        std::iter::once(row.multi_key.label()).chain(EXTENSIONS.iter().map(cell)).collect()
    };
    let text = SectionText {
        paper: "up to 2x YaRN keeps perplexity, as cropping does, but neither finds needles that are far from the question.".into(),
        body: format!(
            "{}{}{}",
            table(&by_length("perplexity; multi-key", &EXTENSIONS), &rows.iter().map(line).collect::<Vec<_>>()),
            picture("crop-perplexity.svg", "Perplexity of held-out documents in windows of s contexts."),
            picture("crop-niah.svg", "One of four keys, numbers.")
        ),
        verdict: sentence(&verdict),
        charts,
    };
    Section::new(&rows, &verdict, text)
}

fn rows(context: &ReportContext) -> Result<Vec<CropRow>> {
    let trials = context.trials(500, 40);
    let mut rows = Vec::new();
    for (name, model, method) in METHODS {
        let losses = context.perplexity(model, method, None, &EXTENSIONS)?;
        let cells = context.niah("niah.json", model, &Ask::new(method, Task::MultiKey, &EXTENSIONS, trials))?;
        rows.push(CropRow {
            multi_key: ScoreRow::exact(name, &cells),
            perplexity: losses.iter().map(|cell| PerplexityRow::new(name, cell, None)).collect(),
        });
    }
    Ok(rows)
}

fn judge(rows: &[CropRow]) -> CropVerdict {
    let scores = |name: &str| {
        rows.iter().find(|row| row.multi_key.system == name).and_then(|row| row.multi_key.at(PRINTED_EXTENSION))
    };
    let (yarn, cropped) = (scores(YARN), scores(CROPPED));
    let retrieves_no_more = match Verdict::is_higher(yarn, cropped) {
        Verdict::Holds => Verdict::DoesNotHold,
        Verdict::NotMeasured => Verdict::NotMeasured,
        // No difference that shows is not the same as none.
        Verdict::NotShown => Verdict::NotShown,
        Verdict::DoesNotHold => Verdict::Holds,
    };
    let yarn = yarn.zip(cropped).map(|(yarn, cropped)| Comparison::new(yarn, &[("cropping", cropped)]));
    CropVerdict { yarn, retrieves_no_more }
}

fn sentence(verdict: &CropVerdict) -> String {
    let finding = "The paper's finding, that YaRN retrieves no more than a cropped text,";
    match (verdict.retrieves_no_more, &verdict.yarn) {
        (Verdict::DoesNotHold, Some(yarn)) => {
            format!("{} {finding} does not hold here: YaRN finds far needles.", yarn.sentence(YARN))
        }
        (_, Some(yarn)) => format!("{} {finding} is not contradicted here.", yarn.sentence(YARN)),
        (_, None) => format!("{finding} {}.", Verdict::NotMeasured.words()),
    }
}

fn perplexity_chart(rows: &[CropRow]) -> Result<String> {
    let line = |row: &CropRow| Series {
        name: row.multi_key.system.clone(),
        points: row.perplexity.iter().map(|cell| (cell.extension as f64, cell.perplexity)).collect(),
    };
    let axes = Axes { x: "s, multiples of the training context", y: "perplexity", is_log: [true, true] };
    chart::lines(&axes, &rows.iter().map(line).collect::<Vec<_>>())
}

fn score_chart(rows: &[CropRow]) -> Result<String> {
    let line = |row: &CropRow| Series {
        name: row.multi_key.system.clone(),
        points: row.multi_key.scores.iter().map(|score| (score.extension as f64, 100.0 * score.share)).collect(),
    };
    let axes = Axes { x: "s, multiples of the training context", y: "multi-key, % exact", is_log: [true, false] };
    chart::lines(&axes, &rows.iter().map(line).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::super::score::{Score, ScoreRow};
    use super::{CROPPED, CropRow, Verdict, YARN, judge, sentence};

    #[test]
    fn yarn_must_be_apart_from_cropping_to_contradict_the_paper() {
        let row = |system: &str, share: f64| CropRow {
            multi_key: ScoreRow {
                system: system.to_owned(),
                is_of_known_weights: true,
                scores: vec![Score { extension: 2, share, ci95: [share - 0.05, share + 0.05], trials: 100 }],
            },
            perplexity: Vec::new(),
        };
        let judged = |yarn, cropped| judge(&[row(YARN, yarn), row(CROPPED, cropped)]);
        let apart = judged(0.9, 0.5);
        assert_eq!(apart.retrieves_no_more, Verdict::DoesNotHold);
        assert_eq!(sentence(&apart).split('.').next_back(), Some(""));
        assert!(
            sentence(&apart).starts_with("At 2x YaRN (90.0 [85.0, 95.0]) is above cropping."),
            "{}",
            sentence(&apart)
        );
        assert_eq!(judged(0.5, 0.5).retrieves_no_more, Verdict::NotShown);
        assert_eq!(judged(0.5, 0.9).retrieves_no_more, Verdict::Holds);
        assert_eq!(judge(&[]).retrieves_no_more, Verdict::NotMeasured);
    }
}
