//! Figure 5 of the DroPE paper: YaRN against cropping.

use anyhow::Result;
use drope_core::niah::Task;

use super::Section;
use super::systems::{CROPPED, DROPE, PARTIAL_DROPE, ROPE, YARN};
use crate::comparison::Comparison;
use crate::markdown::{by_length, line, or_dash, picture, table};
use crate::number::{Number, Row, find};
use crate::plot::{self, EXACT_ANSWERS, PlotLine};
use crate::results::{Ask, EXTENSIONS, Results, System};

const SYSTEMS: [System; 5] = [ROPE, YARN, CROPPED, DROPE, PARTIAL_DROPE];

/// The extension factor at which the paper has YaRN and cropping alike.
const PRINTED_EXTENSION: usize = 2;

pub fn compare_with_cropping(results: &Results) -> Result<Option<Section>> {
    let perplexity = |system: &System| Row::of_perplexities(system.name, &results.perplexities(system, &EXTENSIONS));
    let scores: Vec<Row> =
        SYSTEMS.iter().map(|system| results.exact(system, &Ask::new("niah", Task::MultiKey, &EXTENSIONS))).collect();
    let perplexities: Vec<Row> = SYSTEMS.iter().map(perplexity).collect();
    let lines = scores.iter().zip(&perplexities).map(|(score, perplexity)| {
        let loss = |s: usize| or_dash(perplexity.at(s).map(Number::decimals));
        line(score.label(), EXTENSIONS.map(|s| format!("{}; {}", loss(s), score.percent_at(s))))
    });
    let is_measured = scores.iter().any(|row| !row.numbers.is_empty());
    Ok(is_measured.then(|| Section {
        paper: "up to 2x YaRN keeps perplexity, as cropping does, but neither finds needles that are far from the question.".into(),
        body: format!(
            "{}{}{}",
            table(by_length("perplexity; multi-key", &EXTENSIONS), lines),
            picture("crop-perplexity.svg", "Perplexity of held-out documents in windows of s contexts."),
            picture("crop-niah.svg", "One of four keys, numbers.")
        ),
        verdict: verdict(&scores),
        charts: vec![
            ("crop-perplexity.svg".into(), plot::perplexities(&perplexities)),
            ("crop-niah.svg".into(), plot::by_length(8, EXACT_ANSWERS, PlotLine::of_rows(&scores))),
        ],
    }))
}

/// Whether YaRN retrieves no more than a cropped text. No difference that shows is not the same as none.
fn verdict(scores: &[Row]) -> String {
    let at = |name: &str| find(scores, name)?.at(PRINTED_EXTENSION);
    let finding = "The paper's finding, that YaRN retrieves no more than a cropped text,";
    let (Some(yarn), Some(cropped)) = (at(YARN.name), at(CROPPED.name)) else {
        return format!("{finding} is not measured.");
    };
    let sentence = Comparison::new(PRINTED_EXTENSION, yarn, &[("cropping", cropped)]).sentence(YARN.name);
    if yarn.is_above(cropped) {
        format!("{sentence} {finding} does not hold here: YaRN finds far needles.")
    } else {
        format!("{sentence} {finding} is not contradicted here.")
    }
}

#[cfg(test)]
mod tests {
    use super::{CROPPED, YARN, verdict};
    use crate::number::made_up::row;

    #[test]
    fn yarn_must_be_apart_from_cropping_to_contradict_the_paper() {
        let of =
            |yarn, cropped| verdict(&[row(YARN.name, 0.05, &[(2, yarn)]), row(CROPPED.name, 0.05, &[(2, cropped)])]);
        let apart = of(0.9, 0.5);
        assert!(apart.starts_with("At 2x YaRN (90.0 [85.0, 95.0]) is above cropping. The paper's"), "{apart}");
        assert!(apart.ends_with("does not hold here: YaRN finds far needles."), "{apart}");
        assert!(of(0.5, 0.5).ends_with("is not contradicted here."));
        assert!(of(0.5, 0.9).contains("is below cropping") && verdict(&[]).ends_with("is not measured."));
    }
}
