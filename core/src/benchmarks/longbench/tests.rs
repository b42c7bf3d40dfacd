//! Scores beside those of the reference implementations (tests/longbench_fixture.py), and prompts.

use serde::Deserialize;

use super::metrics::Metric;
use super::{DATASETS, Row};

#[derive(Deserialize)]
struct Example {
    metric: String,
    said: String,
    right: String,
    #[serde(default)]
    classes: Vec<String>,
    score: f64,
}

#[test]
fn metrics_score_as_their_references_do() {
    let examples: Vec<Example> =
        serde_json::from_str(include_str!("../../../../tests/fixtures/longbench.json")).unwrap();
    let mut above_zero = 0;
    for Example { metric, said, right, classes, score } in &examples {
        let of = match &metric[..] {
            "qa_f1_score" => Metric::QaF1,
            "rouge_score" => Metric::RougeL,
            "count_score" => Metric::Count,
            "retrieval_score" => Metric::Retrieval,
            "code_sim_score" => Metric::CodeSimilarity,
            _ => Metric::Classification,
        };
        let ours = of.score(said, right, classes);
        assert!((ours - score).abs() < 1e-9, "{metric} of {said:?} and {right:?}: {ours}, not {score}");
        above_zero += usize::from(*score > 0.0);
    }
    assert!(above_zero > 100, "examples that score nothing say little");
}

fn row(dataset: &str) -> Row {
    Row {
        input: "Which {context}?".into(),
        context: "A text.".into(),
        answers: vec!["Ada".into(), "Ada Lovelace".into()],
        dataset: dataset.into(),
        all_classes: None,
    }
}

#[test]
fn prompts_hold_what_the_row_holds() {
    assert_eq!(
        row("repobench-p").filled().unwrap(),
        "Please complete the code given below. \nA text.Which {context}?Next line of code:\n"
    );
    for dataset in DATASETS {
        let prompt = row(dataset.name).filled().unwrap();
        assert!(prompt.contains("A text.") && prompt.matches('{').count() <= 1, "{prompt}");
    }
}

#[test]
fn the_best_answer_counts_and_of_examples_the_first_line() {
    assert_eq!(row("hotpotqa").score("Ada Lovelace.").unwrap(), 1.0);
    assert_eq!(row("triviaqa_e").score("\nAda\nPassage: something else").unwrap(), 1.0);
    assert!(row("hotpotqa").score("Ada\nPassage: something else").unwrap() < 1.0);
    let said = row("vcsum").score("").unwrap_err().to_string();
    assert!(said.contains("\"vcsum\" is not one of narrativeqa"), "{said}");
    assert!(Row::from_json("{\"input\": 1}").unwrap_err().to_string().contains("LongBench's form"));
}
