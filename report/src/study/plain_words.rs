//! Three small tables for a reader who knows neither the runs nor the statistics.

use drope_core::positions::{Method, Parameters};

use super::models::{ReadRun, StudyReading};
use super::questions::{DECOYS, LENGTHS, NEEDLES_ALONE, PRIMARY, StudyTask};
use super::rows::StudyResults;
use crate::markdown::{line, or_dash, section, table};

/// In words, run, and the method that reads it, with its own parameters.
const MODELS: [(&str, &str, Method); 6] = [
    ("RoPE, trained further", "keep", Method::Rope),
    ("the same, read with YaRN", "keep", Method::Yarn),
    ("RoPE, trained further with copies, read with dynamic NTK", "keep-copies", Method::DynamicNtk),
    ("DroPE, all positions dropped", "all", Method::Drope),
    ("DroPE with copies", "all-copies", Method::Drope),
    ("partial DroPE with copies", "low-copies", Method::PDrope),
];

/// The section.
pub fn plain_words(results: &StudyResults) -> String {
    section("In plain words", &tables(results))
}

/// The tables, with what they are of; all numbers are means over the trunks that were measured.
pub fn tables(results: &StudyResults) -> String {
    let near = rows(results, &[(PRIMARY, 1), (DECOYS, 1), (NEEDLES_ALONE, 1)]);
    let decoys = rows(results, &[(DECOYS, 1), (DECOYS, 4)]);
    format!(
        "Five of the models, one of them read in two ways, all from the same pretraining, with as much further training each, on texts of no more than 256 \
             tokens. Percent of questions answered exactly, means over training seeds; each method with its \
             default parameters, where the README has tuned ones.\n\n**How often is a number found in a \
             longer text?** One of four numbers is asked for, whose keys share a word. At 8× a text is eight times as long as any \
             in training.\n\n{}**What does it cost at the length of training?** The same question; the same where the prose has \
             words of the keys and other numbers (decoys); and a text of nothing but sixteen numbers with their keys.\n\n{}\
             **And in longer text with decoys?**\n\n{}",
        by_length(results),
        table(["at 1×", "four keys", "with decoys", "sixteen keys"], near),
        table(["with decoys", "1×", "4×"], decoys),
    )
}

/// The first of the tables: accuracy against length.
fn by_length(results: &StudyResults) -> String {
    table(["", "1×", "2×", "4×", "8×"], rows(results, &LENGTHS.map(|extension| (PRIMARY, extension))))
}

fn rows(results: &StudyResults, columns: &[(StudyTask, usize)]) -> Vec<Vec<String>> {
    let row = |&(name, run, method): &(&str, &str, Method)| {
        let read = ReadRun { run: run.to_owned(), reading: StudyReading { method, parameters: Parameters::default() } };
        let share = |(task, extension): &(StudyTask, usize)| results.accuracy(&read, task, *extension);
        let cells = columns.iter().map(share).map(|over| or_dash(over.map(|over| format!("{:.0}", 100.0 * over.mean))));
        line(name, cells.collect::<Vec<_>>())
    };
    MODELS.iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::super::rows::StudyResults;
    use super::super::test_cells::measured;
    use super::plain_words;

    #[test]
    fn rows_have_the_means_of_what_was_measured() {
        let text = plain_words(&StudyResults::new(
            [measured("all-1", [0.9, 0.5, 0.1, 0.0]), measured("all-2", [0.7, 0.3, 0.1, 0.0])].concat(),
        ));
        assert!(text.contains("| DroPE, all positions dropped | 80 | 40 | 10 | 0 |"), "{text}");
        assert!(text.contains("| DroPE, all positions dropped | 80 | – | – |"), "{text}");
        assert!(text.contains("| the same, read with YaRN | – | – | – | – |"), "{text}");
    }
}
