//! Where the attention of the head goes that finds the needle at 1×, and how spread attention is, in prose and among decoys.

use drope_core::niah::Filler;
use drope_core::positions::Method;
use drope_core::probe::{HeadCell, HeadProbe, PARTS};

use super::super::models::{MECHANISM_MODELS, ModelName, TRUNKS, plain, title_with_budget};
use crate::markdown::{line, or_dash, table};
use crate::study::OverTrunks;

const LENGTHS: [usize; 4] = [1, 2, 4, 8];

/// The part; `None` before heads are probed.
pub fn text(cells: &[HeadCell]) -> Option<String> {
    let parts = [("In prose", None), ("Among decoys", Some(Filler::Decoys))]
        .into_iter()
        .filter_map(|(title, filler)| Some(format!("{title}:\n\n{}", of_filler(cells, filler)?)));
    let tables: Vec<String> = parts.collect();
    (!tables.is_empty()).then(|| {
        format!(
            "In each model and haystack the head that gives the asked needle most attention at 1×, of the token of the question that attends \
             to it most, is followed to longer texts: percent of its attention on the needle / on the other needles / on sentences with \
             decoys, of which prose has none. Beside it the mean entropy of all heads over the last sixteenth of the text, in nats.\n\n{}",
            tables.join("\n")
        )
    })
}

/// The table of one filler; prose is what questions have that name none.
fn of_filler(cells: &[HeadCell], filler: Option<Filler>) -> Option<String> {
    let cells: Vec<&HeadCell> = cells.iter().filter(|cell| cell.questions.filler == filler).collect();
    let readings = MECHANISM_MODELS.iter().flat_map(|&(run, budget)| {
        [Some(plain(run).method), yarn(run)].into_iter().flatten().map(move |method| Read { run, budget, method })
    });
    let row = |read: Read| {
        let shares = LENGTHS.map(|s| {
            let at = |number: fn(&HeadProbe) -> f64| over_trunks(&cells, read, s, number);
            let percents = [
                |head: &HeadProbe| head.needle_of_question,
                |head: &HeadProbe| head.distractors_of_question,
                |head: &HeadProbe| head.decoys_of_question,
            ]
            .map(|number| at(number).map(|over| format!("{:.0}", 100.0 * over.mean)));
            let [needle, others, decoys] = percents;
            let of_trunks = at(|head| head.needle_of_question).map(|over| of_trunks(&over)).unwrap_or_default();
            Some(format!("{} / {} / {}{of_trunks}", needle?, others?, decoys?))
        });
        let entropies =
            [1, 8].map(|s| mean_entropy(&cells, read, s).map(|over| format!("{:.2}{}", over.mean, of_trunks(&over))));
        let name = title_with_budget(read.run, read.budget);
        let name = if read.method == Method::Yarn { format!("{name}, YaRN") } else { name };
        let is_measured = shares.iter().any(Option::is_some);
        is_measured.then(|| line(name, shares.into_iter().chain(entropies).map(or_dash)))
    };
    let rows: Vec<Vec<String>> = readings.filter_map(row).collect();
    let header = ["model", "1×", "2×", "4×", "8×", "entropy, 1×", "entropy, 8×"];
    (!rows.is_empty()).then(|| table(header, rows))
}

/// A run's models of a budget, as they are read.
#[derive(Clone, Copy)]
struct Read {
    run: &'static str,
    budget: &'static str,
    method: Method,
}

/// Models that keep positions are read with YaRN, too.
fn yarn(run: &str) -> Option<Method> {
    (plain(run).method == Method::Rope).then_some(Method::Yarn)
}

/// A number of the head that gives the needle most attention at 1×, at a length, over trunks; of models as they were trained.
pub fn of_head(
    cells: &[HeadCell],
    (run, budget): (&'static str, &'static str),
    filler: Option<Filler>,
    extension: usize,
    number: fn(&HeadProbe) -> f64,
) -> Option<OverTrunks> {
    let cells: Vec<&HeadCell> = cells.iter().filter(|cell| cell.questions.filler == filler).collect();
    over_trunks(&cells, Read { run, budget, method: plain(run).method }, extension, number)
}

/// ` (3)`, where not all trunks are there.
fn of_trunks(over: &OverTrunks) -> String {
    if over.trunks == TRUNKS.count() { String::new() } else { format!(" ({})", over.trunks) }
}

fn heads<'a>(cells: &[&'a HeadCell], read: Read, trunk: usize, extension: usize) -> Vec<&'a HeadProbe> {
    let name = ModelName { run: read.run, budget: read.budget, trunk };
    let is_of = |cell: &&&HeadCell| {
        ModelName::of(&cell.model) == Some(name) && (cell.method, cell.extension) == (read.method, extension)
    };
    cells.iter().filter(is_of).map(|cell| &cell.probe).collect()
}

/// A number of the head that gives the needle most attention at 1×, at a length, over trunks.
fn over_trunks(cells: &[&HeadCell], read: Read, extension: usize, number: fn(&HeadProbe) -> f64) -> Option<OverTrunks> {
    let of_trunk = |trunk: usize| {
        let at_1x = heads(cells, read, trunk, 1);
        let most = at_1x.iter().max_by(|a, b| a.needle_of_question.total_cmp(&b.needle_of_question))?;
        let here = heads(cells, read, trunk, extension);
        here.into_iter().find(|head| (head.layer, head.head) == (most.layer, most.head)).map(number)
    };
    OverTrunks::of(&TRUNKS.filter_map(of_trunk).collect::<Vec<f64>>())
}

/// Of all heads, in the last part of the text.
fn mean_entropy(cells: &[&HeadCell], read: Read, extension: usize) -> Option<OverTrunks> {
    let of_trunk = |trunk: usize| {
        let heads = heads(cells, read, trunk, extension);
        let entropies: Option<Vec<f64>> = heads.iter().map(|head| head.entropies.get(PARTS - 1).copied()).collect();
        OverTrunks::of(&entropies?).map(|over| over.mean)
    };
    OverTrunks::of(&TRUNKS.filter_map(of_trunk).collect::<Vec<f64>>())
}

#[cfg(test)]
mod tests {
    use drope_core::probe::{HeadCell, HeadProbe, PARTS};
    use serde_json::{Value, json};

    use super::text;

    fn cell(filler: Option<&str>, extension: usize, head: usize, needle: f64, decoys: f64) -> HeadCell {
        let probe = HeadProbe {
            head,
            needle_of_question: needle,
            decoys_of_question: decoys,
            entropies: vec![1.0 + extension as f64; PARTS],
            ..HeadProbe::default()
        };
        let mut fields = json!({
            "model": "all-8m-7", "method": "drope", "extension": extension, "beta": 1.0, "trials": 50, "seed": 33_000, "runs": 0,
            "filler": filler,
        });
        let Value::Object(probe) = serde_json::to_value(probe).unwrap() else { unreachable!() };
        fields.as_object_mut().unwrap().extend(probe);
        serde_json::from_value(fields).unwrap()
    }

    #[test]
    fn the_head_that_finds_the_needle_at_1x_is_followed_in_each_haystack() {
        let of_filler = |filler, needle: f64, decoys: f64| {
            // Head 1 finds it at 1×; beyond, head 0 would have more.
            let near = [cell(filler, 1, 0, 0.1, 0.0), cell(filler, 1, 1, 0.9, decoys)];
            near.into_iter().chain([cell(filler, 4, 0, 0.8, 0.0), cell(filler, 4, 1, needle, decoys)])
        };
        let cells: Vec<HeadCell> = of_filler(None, 0.7, 0.0).chain(of_filler(Some("decoys"), 0.2, 0.5)).collect();
        let text = text(&cells).unwrap();
        let (prose, decoys) = text.split_once("Among decoys").unwrap();
        assert!(
            prose.contains("| DroPE after 8 M tokens | 90 / 0 / 0 (1) | – | 70 / 0 / 0 (1) | – | 2.00 (1) | – |"),
            "{text}"
        );
        assert!(
            decoys.contains("| DroPE after 8 M tokens | 90 / 0 / 50 (1) | – | 20 / 0 / 50 (1) | – | 2.00 (1) | – |"),
            "{text}"
        );
        assert!(super::text(&[]).is_none());
    }
}
