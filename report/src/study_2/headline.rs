//! What other documents say of the second study.

use drope_core::results::Finding;

use super::difference::{Difference, Verdict};
use super::hypothesis::{Hypothesis, scope};
use super::models::{TRUNKS, title};
use crate::markdown::{capitalised, joined, list as listed};
use crate::study::{corrected_p_text, interval_text};

/// What was judged, as two lists.
pub struct Headline {
    /// Tests that were run, and all.
    pub tests: [usize; 2],
    /// The claims of H4 and H5 with their verdicts, and what partial DroPE costs: for the README.
    pub brief: String,
    /// The same with their numbers.
    pub list: String,
    /// Accuracies side by side, for the paper.
    pub tables: String,
    /// What section 4 says of decoys, as a list for the paper.
    pub mechanism: String,
    /// What H4 and H5 say, for the page.
    pub rivals: Vec<Finding>,
}

/// Sentences and tables that are no tests.
#[derive(Default)]
pub struct NotTested {
    /// That full DroPE is below RoPE after its best budget.
    pub below_rope: Option<String>,
    /// Where the best budget of full DroPE lies.
    pub h3: Option<String>,
    /// Full DroPE with and without copies.
    pub beside_copies: Option<String>,
    /// What full DroPE answers among decoys from its best budget on.
    pub full_among_decoys: Option<String>,
    /// What partial DroPE with copies answers among decoys beyond 8×, where that is less than choosing by one of the key's words.
    pub among_decoys: Option<String>,
    /// What partial DroPE with copies loses against RoPE.
    pub costs: Vec<String>,
    /// What models answer that were trained on long texts.
    pub beside_upper_bounds: Option<String>,
    /// What little recalibration partial DroPE with copies needs.
    pub partial_curve: Option<String>,
    /// For the paper.
    pub tables: String,
    /// What section 4 says of decoys, as a list.
    pub mechanism: String,
}

/// `None` where nothing was judged.
pub fn headline(hypotheses: &[Hypothesis], not_tested: NotTested) -> Option<Headline> {
    let NotTested {
        below_rope,
        h3,
        beside_copies,
        full_among_decoys,
        among_decoys,
        costs,
        beside_upper_bounds,
        partial_curve,
        tables,
        mechanism,
    } = not_tested;
    // The protocol wants this to be the headline.
    let below_rope = below_rope.map(|sentence| {
        format!(
            "- **Full DroPE as published answers less at 4×, at the best of its budgets, than RoPE read with a scaling** (compared \
             without a test). {sentence}\n"
        )
    });
    let mut judged: Vec<&Hypothesis> = hypotheses.iter().filter(|test| test.verdict != Verdict::NotRun).collect();
    // The protocol wants what H4 and H5 say to be said first.
    judged.sort_by_key(|test| !is_of_rivals(test));
    let of_rivals: Vec<&Hypothesis> = judged.iter().copied().filter(|test| is_of_rivals(test)).collect();
    let alike: Vec<&[&Hypothesis]> = of_rivals.chunk_by(|first, second| claim(first) == claim(second)).collect();
    let finding = |tests: &&[&Hypothesis]| {
        // The page has little room: what was measured is named where it makes a difference.
        let is_only = alike.iter().filter(|others| others[0].claim == tests[0].claim).count() == 1;
        let scope = if is_only { String::new() } else { format!(" ({})", scope(tests)) };
        Finding { claim: claim(tests[0]) + &scope, numbers: joined(tests.iter().map(|test| numbers(test)), "; ") }
    };
    let rivals = alike.iter().map(finding).collect();
    let brief = alike.iter().map(|tests| {
        // Differences from several rivals, by several measures, stand in the whole list.
        let size = match tests {
            [Hypothesis { parts, .. }] if parts.len() == 1 => format!(": {}", interval_text(&parts[0].interval)),
            _ => String::new(),
        };
        format!("- **{}** ({}){size}.\n", claim(tests[0]), scope(tests))
    });
    let item = |sentence: String| format!("- {sentence}\n");
    let brief = brief.chain(among_decoys.clone().map(item)).chain(costs.iter().cloned().map(item));
    let brief = below_rope.clone().into_iter().chain(brief).collect();
    let list = judged.chunk_by(|first, second| claim(first) == claim(second)).map(|tests| match tests {
        [test] => format!("- **{}**. {}.\n", claim(test), capitalised(&numbers(test))),
        tests => {
            let each = tests.iter().map(|test| format!("  - {}.\n", capitalised(&numbers(test))));
            format!("- **{}**:\n{}", claim(tests[0]), joined(each, ""))
        }
    });
    let list = below_rope
        .into_iter()
        .chain(list)
        .chain(partial_curve.map(item))
        .chain(among_decoys.map(item))
        .chain(costs.into_iter().map(item))
        .chain(beside_upper_bounds.map(item))
        .chain(beside_copies.map(item))
        .chain(full_among_decoys.map(item))
        .chain(h3.map(item))
        .collect();
    let tests = [judged.len(), hypotheses.len()];
    (!judged.is_empty()).then_some(Headline { tests, brief, list, tables, mechanism, rivals })
}

/// H4 and H5.
fn is_of_rivals(test: &Hypothesis) -> bool {
    test.name.starts_with("H4") || test.name.starts_with("H5")
}

/// The claim, whom it is against, and the verdict.
fn claim(test: &Hypothesis) -> String {
    let rivals: Vec<String> = test.sides.iter().skip(1).map(|side| title(&side.run)).collect();
    let against = if is_of_rivals(test) { format!(", {}", listed(&rivals)) } else { String::new() };
    match test.as_good.filter(|_| test.verdict == Verdict::AsGood) {
        Some(as_good) => capitalised(as_good) + &against,
        None if test.verdict == Verdict::NotShown => format!("That {}{against}, is not shown", test.claim),
        None => format!("{}{against}: {}", capitalised(test.claim), test.verdict.word()),
    }
}

fn numbers(test: &Hypothesis) -> String {
    let part = |part: &Difference| format!("{}: {}", part.what, interval_text(&part.interval));
    let scope = Some(scope(&[test])).filter(|scope| !scope.is_empty());
    joined(scope.into_iter().chain(test.parts.iter().map(part)).chain(corrected_p(test)), "; ")
}

/// `None` where nothing was tested, as of a hypothesis that was refuted before.
fn corrected_p(test: &Hypothesis) -> Option<String> {
    (!test.parts.is_empty()).then(|| format!("{}, {} pretraining seeds", corrected_p_text(test.p_holm), TRUNKS.count()))
}
