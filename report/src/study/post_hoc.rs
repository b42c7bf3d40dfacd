//! Post-hoc observations, which the protocol did not register.

use drope_core::positions::{Method, Parameters};

use super::models::{ReadRun, StudyReading, title};
use super::questions::{DECOYS, LATEST_VALUE, NEEDLES_ALONE, PRIMARY, StudyTask};
use super::rows::StudyResults;
use crate::markdown::percent;

/// Models with copies, and the method that reads each.
const WITH_COPIES: [(&str, Method); 3] =
    [("all-copies", Method::Drope), ("low-copies", Method::PDrope), ("keep-copies", Method::DynamicNtk)];
/// Full DroPE without copies and with them.
const FULL: [(&str, Method); 2] = [("all", Method::Drope), ("all-copies", Method::Drope)];

/// Items of a list, of what is measured; means over all trunks, whether or not they pass the gate.
pub fn findings(results: &StudyResults) -> Vec<String> {
    let decoys = "Decoys at 4× (RoPE with copies is read with dynamic NTK)";
    let latest = "Order (the latest of four values) at 4× (RoPE with copies is read with dynamic NTK)";
    let items = [
        compared(results, decoys, &WITH_COPIES, &DECOYS, 4),
        compared(results, latest, &WITH_COPIES, &LATEST_VALUE, 4),
        compared(results, "What copies cost full DroPE at 1×, on the primary task", &FULL, &PRIMARY, 1),
        compared(results, "What copies cost full DroPE at 1×, with decoys", &FULL, &DECOYS, 1),
        compared(results, "What copies cost full DroPE at 1×, sixteen needles alone", &FULL, &NEEDLES_ALONE, 1),
    ];
    items.into_iter().flatten().collect()
}

/// Mean accuracies of models beside one another; `None` where one is not measured.
fn compared(
    results: &StudyResults,
    what: &str,
    models: &[(&str, Method)],
    task: &StudyTask,
    extension: usize,
) -> Option<String> {
    let at = |&(run, method): &(&str, Method)| {
        let reading = StudyReading { method, parameters: Parameters::default() };
        let over = results.accuracy(&ReadRun { run: run.to_owned(), reading }, task, extension)?;
        Some((format!("{} {}", title(run), percent(over.mean)), over.trunks))
    };
    let cells: Vec<(String, usize)> = models.iter().map(at).collect::<Option<_>>()?;
    let trunks = cells.iter().map(|(_, trunks)| *trunks).min()?;
    let texts: Vec<String> = cells.into_iter().map(|(text, _)| text).collect();
    let seeds = if trunks == 1 { "one pretraining seed".to_owned() } else { format!("{trunks} pretraining seeds") };
    Some(format!("- {what}: {} ({seeds}).", texts.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::super::questions::DECOYS;
    use super::super::rows::StudyResults;
    use super::super::test_cells::{cell, study};
    use super::findings;

    #[test]
    fn only_what_is_measured_is_said() {
        let said = findings(&study(|run, _| if run == "all" { [0.95; 4] } else { [0.9; 4] }));
        assert_eq!(
            said,
            [
                "- What copies cost full DroPE at 1×, on the primary task: DroPE 95.0 %, DroPE with copies 90.0 % (5 pretraining seeds)."
            ]
        );
        let cells = [("all-1", 0.96), ("all-copies-1", 0.84)].map(|(model, share)| cell(model, &DECOYS, 1, share));
        assert_eq!(
            findings(&StudyResults::new(cells.into())),
            [
                "- What copies cost full DroPE at 1×, with decoys: DroPE 96.0 %, DroPE with copies 84.0 % (one pretraining seed)."
            ]
        );
    }
}
