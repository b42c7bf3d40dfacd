//! H4 and H5: partial DroPE with copies against rivals that were trained as fairly, up to 8 and from 16 to 64 times the context.

use drope_core::stats::{PairedMeans, PairedOutcomes};

use super::difference::Difference;
use super::hypothesis::{Hypothesis, Measured};
use super::models::{FAR_BUDGET, FAR_RIVALS, RIVALS, TRUNKS, UPPER_BOUNDS, plain, title, tokens};
use super::results::{Asked, FAR, FAR_SELECTION, NEAR, Results, Side};
use crate::markdown::{joined, list};

/// What is defended.
pub const OURS: &str = "low-copies";

/// Answers of both at each length, trunk by trunk. Where some were asked more questions than others, those that all were asked.
fn paired(results: &Results, sides: [&Side; 2], asked: Asked, lengths: &[usize]) -> Vec<(usize, PairedOutcomes)> {
    let answers = |side: &Side, trunk, extension| results.outcomes(side, trunk, asked, extension);
    let of_all = |extension: usize| {
        let found = TRUNKS.flat_map(|trunk| sides.map(|side| answers(side, trunk, extension)));
        found.flatten().map(|answers| answers.len()).min().unwrap_or(0)
    };
    let of_trunk = |trunk: usize| {
        let of_length = |&extension: &usize| {
            let [ours, other] = sides.map(|side| answers(side, trunk, extension));
            Some(ours?.into_iter().zip(other?).map(<[f64; 2]>::from).take(of_all(extension)).collect())
        };
        Some((trunk, lengths.iter().map(of_length).collect::<Option<_>>()?))
    };
    TRUNKS.filter_map(of_trunk).collect()
}

fn names([ours, other]: [&Side; 2]) -> String {
    let name = |side: &Side| {
        let own = plain(&side.run);
        let how = if side.reading == own {
            "as trained".to_owned()
        } else if side.reading.method == own.method {
            "tuned".to_owned()
        } else {
            format!("read with {}", side.reading.in_words())
        };
        format!("{} ({how})", title(&side.run))
    };
    format!("{} less {}", name(ours), name(other))
}

/// Ours and all these rivals, the best on the selection split first; else what is missing, in words.
fn chosen(
    results: &Results,
    rivals: &'static [&'static str],
    budget: &str,
    lengths: &[usize],
) -> Result<(Side, Vec<Side>), String> {
    let ranked = results.ranked(rivals, budget, lengths);
    let is_missing = |run: &&str| ranked.iter().all(|(side, _)| side.run != **run);
    let ours = results.best_reading(OURS, budget, lengths).map(|(side, _)| side);
    let missing: Vec<String> =
        rivals.iter().copied().filter(is_missing).chain(ours.is_none().then_some(OURS)).map(title).collect();
    match ours {
        Some(ours) if missing.is_empty() => Ok((ours, ranked.into_iter().map(|(side, _)| side).collect())),
        _ if missing.len() > rivals.len() => Err("none of its models is measured".to_owned()),
        _ => Err(format!("not measured: {}", list(&missing))),
    }
}

/// With one budget, plain accuracy over 2, 4 and 8×, against the rival that is best on the selection split.
pub fn near(results: &Results, name: &'static str, budget: &str) -> Hypothesis {
    let claim = "partial DroPE with copies answers more at 2 to 8× than the best fair rival";
    let (ours, rivals) = match chosen(results, &RIVALS, budget, &NEAR) {
        Ok(found) => found,
        Err(note) => return Hypothesis { note, ..Hypothesis::not_run(name, claim) },
    };
    let sides = [&ours, &rivals[0]];
    let outcomes = paired(results, sides, Asked::Primary, &NEAR);
    let difference = Difference::new(names(sides), &outcomes, PairedMeans::difference);
    let tested =
        Hypothesis::tested(name, claim, format!("after {} tokens", tokens(budget)), difference.map(|part| vec![part]));
    let as_good = Some("partial DroPE with copies is as good at 2 to 8× as the best fair rival");
    Hypothesis { as_good, sides: sides.map(Side::clone).to_vec(), ..tested }
}

/// What the upper bounds answer at 8×, which train on texts of that length, beside ours; no test. `None` before all are measured.
pub fn beside_upper_bounds(results: &Results) -> Option<String> {
    let budget = FAR_BUDGET;
    let at_8x = |run: &str| {
        let (side, _) = results.best_reading(run, budget, &NEAR)?;
        let [prose, decoys] = [Asked::Primary, Asked::Decoys].map(|asked| results.whole_accuracy(&side, asked, 8));
        Some(format!("{} {:.1} and {:.1} %", title(run), 100.0 * prose?.mean, 100.0 * decoys?.mean))
    };
    let bounds: Vec<String> = UPPER_BOUNDS.iter().map(|run| at_8x(run)).collect::<Option<_>>()?;
    Some(format!(
        "Three models were trained with {} tokens on texts of up to 8×, which DroPE avoids. At 8× they answer, in prose and among decoys: {}; {}, \
         trained at 1×. No test.",
        tokens(budget),
        joined(bounds, "; "),
        at_8x(OURS)?
    ))
}

/// A test of section 3: its name, what is asked, and whether each model is compared with itself at 1×.
const FAR_TESTS: [(&str, Asked, bool); 4] = [
    ("H5, primary", Asked::Primary, false),
    ("H5, primary, share of 1×", Asked::Primary, true),
    ("H5, decoys", Asked::Decoys, false),
    ("H5, decoys, share of 1×", Asked::Decoys, true),
];

/// After [`FAR_BUDGET`] tokens, at 16, 32 and 64×, against both rivals that are best on the selection split there.
pub fn far(results: &Results) -> Vec<Hypothesis> {
    let claim = "partial DroPE with copies answers more at 16 to 64× than the two best fair rivals";
    let chosen = chosen(results, &FAR_RIVALS, FAR_BUDGET, &FAR_SELECTION);
    let test = |(name, asked, is_relative): (&'static str, Asked, bool)| {
        let (ours, rivals) = match &chosen {
            Ok((ours, rivals)) => (ours, &rivals[..2]),
            Err(note) => return Hypothesis { note: note.clone(), ..Hypothesis::not_run(name, claim) },
        };
        let (lengths, statistic): (&[usize], fn(&PairedMeans) -> f64) = if is_relative {
            (&[1, 16, 32, 64], PairedMeans::relative_difference)
        } else {
            (&FAR, PairedMeans::difference)
        };
        let against = |rival: &Side| {
            let sides = [ours, rival];
            Difference::new(names(sides), &paired(results, sides, asked, lengths), statistic)
        };
        let measured = Some(Measured { asked, is_relative });
        let note = format!("after {} tokens", tokens(FAR_BUDGET));
        let tested = Hypothesis::tested(name, claim, note, rivals.iter().map(against).collect());
        let as_good = Some("partial DroPE with copies is as good at 16 to 64× as the two best fair rivals");
        Hypothesis { as_good, measured, sides: [std::slice::from_ref(ours), rivals].concat(), ..tested }
    };
    FAR_TESTS.into_iter().map(test).collect()
}
