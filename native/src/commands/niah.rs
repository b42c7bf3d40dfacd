//! `core eval niah`: retrieval at several lengths, with intervals.

use anyhow::Result;
use drope_core::results::RetrievalCell;

use crate::arguments::NiahArgs;
use crate::files::model_folder;
use crate::reading::{self, retrieval, samples_of};

/// Measures every cell that the results file does not hold.
pub fn niah(args: &NiahArgs) -> Result<()> {
    let mut model = reading::load(&args.sweep)?;
    if let Some(path) = &args.heads {
        model.loaded.config.dope_heads = Some(model_folder::dope_heads(path)?);
        model.loaded.config.check()?;
    }
    samples_of(args.shard, args.trials, "questions")?;
    retrieval::print_header();
    print_thresholds(&retrieval::cells(&model, args)?);
    Ok(())
}

/// Prints whether each task passes the gate, by the accuracy of its cell at the training context, if that was measured.
fn print_thresholds(cells: &[RetrievalCell]) {
    for cell in cells.iter().filter(|cell| cell.extension == 1) {
        let Some(passes) = cell.passes_threshold(cells) else { continue };
        println!(
            "{} {} {} {}: {:.1}% at 1x, {} the threshold of {:.0}%",
            cell.model,
            cell.method.name(),
            cell.task.name(),
            cell.values.name(),
            100.0 * cell.accuracy,
            if passes { "passes" } else { "fails" },
            100.0 * RetrievalCell::THRESHOLD
        );
    }
}
