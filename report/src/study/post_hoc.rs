//! What readers of the results found that no test of the protocol saw.

use drope_core::positions::{Method, Parameters};

use super::models::{ReadRun, StudyReading, title};
use super::questions::{DECOYS, LATEST_VALUE, NEEDLES_ALONE, PRIMARY, StudyTask};
use super::rows::StudyResults;
use crate::markdown::percent;

/// Items of a list, of what is measured; means over all trunks, whether or not they pass the gate.
pub fn afterwards(results: &StudyResults) -> Vec<String> {
    let at = |run: &str, method: Method, task: &StudyTask, extension: usize| {
        let reading = StudyReading { method, parameters: Parameters::default() };
        let over = results.accuracy(&ReadRun { run: run.to_owned(), reading }, task, extension)?;
        Some((format!("{} {}", title(run), percent(over.mean)), over.trunks))
    };
    let compared = |what: &str, cells: &[Option<(String, usize)>]| {
        let cells: Vec<(String, usize)> = cells.iter().cloned().collect::<Option<_>>()?;
        let trunks = cells.iter().map(|(_, trunks)| *trunks).min()?;
        let texts: Vec<String> = cells.into_iter().map(|(text, _)| text).collect();
        Some(format!("- {what}: {} ({trunks} trunks).", texts.join(", ")))
    };
    let [all, low, keep] =
        [("all-copies", Method::Drope), ("low-copies", Method::PDrope), ("keep-copies", Method::DynamicNtk)];
    let three = |task: &StudyTask, extension| [all, low, keep].map(|(run, method)| at(run, method, task, extension));
    let copies_at_1x = |task: &StudyTask| [at("all", Method::Drope, task, 1), at("all-copies", Method::Drope, task, 1)];
    let items = [
        compared("Decoys at 4×, RoPE read with dynamic NTK", &three(&DECOYS, 4)),
        compared("Order (the latest of four values) at 4×, RoPE read with dynamic NTK", &three(&LATEST_VALUE, 4)),
        compared("What copies cost full DroPE at 1×, on the primary task", &copies_at_1x(&PRIMARY)),
        compared("What copies cost full DroPE at 1×, with decoys", &copies_at_1x(&DECOYS)),
        compared("What copies cost full DroPE at 1×, sixteen needles alone", &copies_at_1x(&NEEDLES_ALONE)),
    ];
    items.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::super::questions::DECOYS;
    use super::super::rows::StudyResults;
    use super::super::test_cells::{cell, study};
    use super::afterwards;

    #[test]
    fn only_what_is_measured_is_said() {
        let said = afterwards(&study(|run, _| if run == "all" { [0.95; 4] } else { [0.9; 4] }));
        assert_eq!(
            said,
            [
                "- What copies cost full DroPE at 1×, on the primary task: DroPE 95.0 %, DroPE with copies 90.0 % (5 trunks)."
            ]
        );
        let cells = [("all-1", 0.96), ("all-copies-1", 0.84)].map(|(model, share)| cell(model, &DECOYS, 1, share));
        assert_eq!(
            afterwards(&StudyResults::new(cells.into())),
            ["- What copies cost full DroPE at 1×, with decoys: DroPE 96.0 %, DroPE with copies 84.0 % (1 trunks)."]
        );
    }
}
