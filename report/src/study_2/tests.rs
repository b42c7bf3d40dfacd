//! Made-up answers, of which is known what the study has to say.

use drope_core::language::Values;
use drope_core::niah::QuestionSplit;
use drope_core::positions::Method;
use drope_core::results::{CellHeader, RetrievalCell};
use serde_json::json;

use super::curve::{beside_copies, best_budget, lies_where_the_paper_recalibrates, shares_of_budgets};
use super::difference::Verdict;
use super::headline::NotTested;
use super::hypotheses;
use super::models::{CURVE, FAR_RIVALS, RIVALS, SCALINGS, TRUNKS, UPPER_BOUNDS, plain};
use super::results::{Asked, FAR, NEAR, Results};
use crate::study::PRIMARY;

const QUESTIONS: usize = 100;

/// A run's model of a trunk, right on a share of its questions.
fn cell(
    run: &str,
    budget: &str,
    trunk: usize,
    task: &crate::study::StudyTask,
    extension: usize,
    share: f64,
) -> RetrievalCell {
    let model = format!("{run}-{budget}-{trunk}");
    // Trunks differ by a question, and each misses others.
    let right = (share * QUESTIONS as f64).round() as usize;
    let outcomes: Vec<bool> = (0..QUESTIONS).map(|question| (question * 37 + trunk * 11) % QUESTIONS < right).collect();
    let cell = json!({
        "model": model, "method": plain(run).method, "task": "multi-key", "values": Values::Numbers, "extension": extension,
        "context": 256 * extension, "trials": QUESTIONS, "correct": right, "accuracy": 0.0, "string_match": 0.0,
        "ci95": [0.0, 0.0], "seed": 0, "beta": 1.0, "fingerprint": model,
    });
    let cell: RetrievalCell = serde_json::from_value(cell).unwrap();
    task.asked_in(RetrievalCell { outcomes: Some(outcomes.into_iter().collect()), ..cell }).recomputed(right as f64)
}

/// A run with one budget, which answers a share at all lengths, on both splits.
fn run(name: &str, budget: &str, share: f64) -> Vec<RetrievalCell> {
    let own = as_its_config_says(name, budget, share);
    let read_with = |method: Method| {
        let cells = own.iter().filter(move |_| method != plain(name).method).cloned();
        cells.map(move |cell| RetrievalCell { header: CellHeader { method, ..cell.header }, ..cell })
    };
    let scalings = if plain(name).method == Method::Rope { &SCALINGS[..] } else { &[] };
    own.iter().cloned().chain(scalings.iter().flat_map(|&method| read_with(method))).collect()
}

fn as_its_config_says(run: &str, budget: &str, share: f64) -> Vec<RetrievalCell> {
    let selection = PRIMARY.with_split(QuestionSplit::Selection, 34_000);
    let of_trunk = |trunk| {
        let chosen =
            NEAR.iter().chain(&FAR).map(|&s| cell(run, budget, trunk, &selection, s, share)).collect::<Vec<_>>();
        let asked = [Asked::Primary, Asked::Decoys].into_iter().flat_map(move |asked| {
            let lengths = [1, 2, 4, 8, 16, 32, 64];
            let share = move |s| if s == 1 { 0.97 } else { share };
            lengths.map(|s| cell(run, budget, trunk, &asked.task(), s, share(s)))
        });
        chosen.into_iter().chain(asked).collect::<Vec<_>>()
    };
    TRUNKS.flat_map(of_trunk).collect()
}

/// A curve of a run, a share for each budget.
fn curve(name: &str, shares: [f64; 6]) -> Vec<RetrievalCell> {
    CURVE.iter().zip(shares).flat_map(|(budget, share)| run(name, budget, share)).collect()
}

fn results(cells: Vec<RetrievalCell>) -> Results {
    Results::new(cells, Vec::new())
}

fn verdict(cells: Vec<RetrievalCell>, name: &str) -> Verdict {
    let found = hypotheses(&results(cells));
    assert_eq!(found.len(), 8);
    found.into_iter().find(|hypothesis| hypothesis.name == name).unwrap().verdict
}

#[test]
fn a_curve_that_rises_and_falls_has_an_inner_maximum() {
    let falls = || curve("all", [0.5, 0.8, 0.9, 0.7, 0.5, 0.3]);
    let results = results(falls());
    assert_eq!(best_budget(&results, "all"), Some(2));
    let shares = shares_of_budgets(&results, "all").unwrap();
    assert!(
        (shares.iter().sum::<f64>() - 1.0).abs() < 1e-9
            && shares[2] > 0.95
            && lies_where_the_paper_recalibrates(&shares)
    );
    assert_eq!(verdict(falls(), "H1"), Verdict::Shown);
    assert_eq!(verdict(curve("all", [0.9, 0.8, 0.7, 0.6, 0.5, 0.3]), "H1"), Verdict::Refuted);
    assert_eq!(verdict(curve("all", [0.3, 0.4, 0.5, 0.6, 0.7, 0.9]), "H1"), Verdict::Refuted);
    let flat = curve("all", [0.69, 0.69, 0.7, 0.69, 0.69, 0.69]);
    assert_eq!(verdict(flat, "H1"), Verdict::AsGood, "too little to matter");
    let missing = falls().into_iter().filter(|cell| !cell.model.contains("4m")).collect();
    assert_eq!(verdict(missing, "H1"), Verdict::NotRun);
}

#[test]
fn full_dropes_best_budget_stands_beside_the_same_with_copies() {
    let plain = curve("all", [0.5, 0.8, 0.9, 0.7, 0.5, 0.3]);
    assert_eq!(beside_copies(&results(plain.clone())), None);
    let both = results([plain, curve("all-copies", [0.1, 0.2, 0.4, 0.6, 0.9, 0.9])].concat());
    let expected =
        "After 1 M tokens full DroPE answers 97.0 % at 1× and 90.0 % at 4×; with copies 97.0 % at 1× and 40.0 % at 4×.";
    assert_eq!(beside_copies(&both).as_deref(), Some(expected));
}

#[test]
fn copies_that_keep_the_accuracy_remove_the_fall() {
    let plain = curve("all", [0.5, 0.8, 0.9, 0.7, 0.5, 0.3]);
    let copies = |shares| [plain.clone(), curve("all-copies", shares)].concat();
    assert_eq!(verdict(copies([0.5, 0.7, 0.8, 0.9, 0.9, 0.9]), "H2"), Verdict::Shown);
    assert_eq!(verdict(copies([0.5, 0.8, 0.9, 0.7, 0.5, 0.3]), "H2"), Verdict::AsGood);
    assert_eq!(verdict(copies([0.5, 0.99, 0.9, 0.7, 0.3, 0.05]), "H2"), Verdict::Opposite);
    assert_eq!(verdict(plain.clone(), "H2"), Verdict::NotRun);
}

#[test]
fn the_best_rival_on_the_selection_split_counts() {
    let of_budget = |budget: &str, ours: f64, best: f64| {
        let mut cells = [run("low-copies", budget, ours), run("long-yarn", budget, 1.0)].concat();
        for (index, rival) in RIVALS.iter().enumerate() {
            cells.extend(run(rival, budget, if index == 3 { best } else { best - 0.2 }));
        }
        cells
    };
    let with = |ours: f64, best: f64| of_budget("8m", ours, best);
    // Beyond 8× the second of the rivals, 20 points behind the first, has to be beaten too.
    for (ours, best, expected) in
        [(0.9, 0.6, Verdict::Shown), (0.8, 0.79, Verdict::AsGood), (0.5, 0.8, Verdict::Opposite)]
    {
        assert_eq!(verdict(with(ours, best), "H4 (8 M)"), expected, "upper bounds are no rivals");
        assert_eq!(verdict(of_budget("1m", ours, best), "H5, primary"), expected);
        assert_eq!(verdict(of_budget("1m", ours, best), "H5, decoys, share of 1×"), expected);
    }
    assert_eq!(verdict(with(0.9, 0.6), "H5, primary"), Verdict::NotRun);
    // At these lengths not all rivals are asked, nor with all scalings.
    let is_asked = |cell: &RetrievalCell| {
        let is_rival = FAR_RIVALS.iter().any(|run| cell.model.starts_with(&format!("{run}-1m")));
        cell.extension < 16 || (is_rival && cell.method != Method::DynamicNtk) || cell.model.starts_with("low-copies")
    };
    let asked = || of_budget("1m", 0.9, 0.6).into_iter().filter(is_asked);
    assert_eq!(verdict(asked().collect(), "H5, primary"), Verdict::Shown);
    let is_missing = |cell: &RetrievalCell| cell.extension >= 16 && cell.model.starts_with("counts-1m-10");
    let found = hypotheses(&results(asked().filter(|cell| !is_missing(cell)).collect()));
    assert_eq!(found[4].note, "not measured: RoPE with copies that skip no positions");
    assert_eq!(verdict(with(0.9, 0.6), "H4 (1 M)"), Verdict::NotRun);
    let cells = with(0.9, 0.6).into_iter().filter(|cell| !cell.model.starts_with("cope-keep-8m"));
    let found = hypotheses(&results(cells.collect()));
    assert_eq!((&*found[3].note, found[3].verdict), ("not measured: CoPE from scratch", Verdict::NotRun));
    let incomplete = with(0.9, 0.6).into_iter().filter(|cell| !(cell.model == "gaps-yarn-8m-9" && cell.extension == 4));
    let found = hypotheses(&results(incomplete.collect()));
    assert_eq!(found[3].verdict, Verdict::NotRun, "no trunk may be missing");
    // A rival that was not read with every scaling, or not by all trunks, might have been better than it seems.
    let is_missing = |cell: &RetrievalCell| cell.model == "keep-copies-8m-10" && cell.method == Method::Yarn;
    let unread: Vec<RetrievalCell> = with(0.9, 0.6).into_iter().filter(|cell| !is_missing(cell)).collect();
    assert_eq!(hypotheses(&results(unread))[3].note, "not measured: RoPE with copies");
    let unread =
        with(0.9, 0.6).into_iter().filter(|cell| cell.model.starts_with("low") || cell.method != Method::Llama3);
    assert_eq!(hypotheses(&results(unread.collect()))[3].verdict, Verdict::NotRun);
    // A trunk that was asked fewer questions leaves those that all were asked.
    let fewer = |cell: RetrievalCell| match &cell.outcomes {
        Some(outcomes) if cell.model == "low-copies-8m-7" && cell.seed == 33_000 => {
            let outcomes = Some(outcomes.iter().take(60).collect());
            RetrievalCell { outcomes, trials: 60, ..cell }
        }
        _ => cell,
    };
    let both = [with(0.9, 0.6), curve("all", [0.9, 0.8, 0.7, 0.6, 0.5, 0.3])].concat();
    let headline = super::headline(&hypotheses(&results(both)), NotTested::default()).unwrap().list;
    let first = headline.lines().find(|line| line.starts_with("- ")).unwrap();
    assert!(
        first.contains(" than the best fair rival, ") && first.contains(": shown**. After 8 M tokens; "),
        "{headline}"
    );
    let alike = super::headline(
        &hypotheses(&results(with(0.9, 0.9))),
        NotTested { below_rope: Some("Below.".to_owned()), ..NotTested::default() },
    )
    .unwrap();
    let lines: Vec<&str> = alike.brief.lines().collect();
    assert!(
        lines[0].ends_with("(compared without a test). Below.") && alike.list.starts_with(lines[0]),
        "{}",
        alike.brief
    );
    let tested = "- **Partial DroPE with copies is as good at 2 to 8× as the best fair rival, ";
    assert!(lines[1].starts_with(tested), "{}", lines[1]);
    assert!(lines[1].contains("** (after 8 M tokens): "), "{}", lines[1]);
    assert!(alike.rivals[0].numbers.starts_with("after 8 M tokens; "), "{:?}", alike.rivals);
    // A guess among four numbers is right in a quarter.
    let among_decoys = |ours| super::against::among_decoys(&results(of_budget("1m", ours, 0.6)));
    let expected = "Among decoys at 16, 32 and 64×, after 1 M tokens, partial DroPE with copies answers 20.0, 20.0 and 20.0 %; choosing one of the needles' numbers at random is right in 25.0 %, choosing by one of the key's two words in 41.7 %.";
    assert_eq!((among_decoys(0.2).as_deref(), among_decoys(0.9)), (Some(expected), None));
    // Tests with one verdict are said in one sentence.
    let found = super::headline(&hypotheses(&results(of_budget("1m", 0.9, 0.6))), NotTested::default()).unwrap();
    let of_all = ": shown** (primary task and decoys, in plain accuracy and as a share of the accuracy at 1×, after 1 M tokens).";
    let ends = found.brief.lines().filter(|line| line.ends_with(of_all)).count();
    assert_eq!((found.brief.lines().count(), ends), (2, 1), "{}", found.brief);
    let of_h5: Vec<&str> = found.list.lines().filter(|line| line.starts_with("  - ")).collect();
    assert!(
        of_h5.len() == 4 && of_h5[3].starts_with("  - Decoys, as a share of the accuracy at 1×, after 1 M tokens; "),
        "{}",
        found.list
    );
    assert!(found.rivals.len() == 2 && found.rivals[1].claim.ends_with(": shown"), "{:?}", found.rivals);
    assert_eq!(found.rivals[1].numbers.matches("less PoSE with YaRN").count(), 4, "{}", found.rivals[1].numbers);
    assert_eq!(verdict(with(0.9, 0.6).into_iter().map(fewer).collect(), "H4 (8 M)"), Verdict::Shown);
    // Models that were trained on long texts stand beside ours when all of them are measured.
    let bounds = |runs: &[&str]| {
        let bounds = runs.iter().flat_map(|name| run(name, "1m", 0.8));
        super::rivals::beside_upper_bounds(&results(run("low-copies", "1m", 0.9).into_iter().chain(bounds).collect()))
    };
    assert_eq!(bounds(&["long", "long-yarn"]), None);
    let said = bounds(&UPPER_BOUNDS).unwrap();
    let end = "80.0 and 80.0 %; Llama 3's scaling trained on long texts 80.0 and 80.0 %; partial DroPE with copies 90.0 and 90.0 %, trained at 1×. No test.";
    assert!(said.ends_with(end), "{said}");
    let found = hypotheses(&results(with(0.9, 0.6)));
    assert!(found[3].parts[0].what.contains("less PoSE with YaRN"), "{}", found[3].parts[0].what);
}

#[test]
fn other_copies_stand_beside_the_usual_ones_of_their_own_trunks() {
    let asked = |run: &'static str, trunk: usize, share: f64| {
        let fillers = [Asked::Primary, Asked::Decoys, Asked::RepeatedDecoys];
        fillers.into_iter().flat_map(move |asked| [1, 4, 8].map(|s| cell(run, "8m", trunk, &asked.task(), s, share)))
    };
    let mut cells = run("all-copies", "8m", 0.5);
    cells.retain(|cell| cell.difficulty.split == QuestionSplit::Selection);
    // Trunks 6 and 7 answer more than the others.
    cells.extend(TRUNKS.flat_map(|trunk| asked("all-copies", trunk, if trunk <= 7 { 0.8 } else { 0.3 })));
    cells.extend((6..=7).flat_map(|trunk| asked("all-copies-tokens", trunk, 0.7)));
    let results = results(cells);
    let (text, words) = super::why::document(&results, Vec::new(), Vec::new()).unwrap();
    for row in [
        "| DroPE with copies after 8 M tokens | 50.0 [",
        "| DroPE with copies after 8 M tokens (trunks 6 and 7) | 80.0 (80, 80) |",
        "| DroPE with copies of single tokens after 8 M tokens (trunks 6 and 7) | 70.0 (70, 70) |",
    ] {
        assert!(text.contains(row), "{row} is not in\n{text}");
    }
    assert!(words.is_empty(), "partial DroPE is not measured: {words}");
    let document = super::document::document(&results, &hypotheses(&results));
    let missing = "- of section 4 (mechanism): DroPE with copies of needles too and DroPE with copies of single tokens and needles";
    assert!(document.contains(missing), "{document}");
    assert!(
        text.contains(
            "## What was not measured\n\nAttention on the needle and beside it; Heads whose attention changes in long texts.\n"
        ),
        "{text}"
    );
}

#[test]
fn what_partial_drope_costs_is_said_beside_rope() {
    let latest = |name: &'static str, shares: [f64; 2]| {
        let of_trunk = move |trunk| {
            [(1, shares[0]), (4, shares[1])].map(|(s, share)| cell(name, "1m", trunk, &Asked::Latest.task(), s, share))
        };
        TRUNKS.flat_map(of_trunk)
    };
    let said = |ours: [f64; 2]| {
        let asked = [run("low-copies", "1m", 0.9), run("keep", "1m", 0.9)].concat();
        let cells = asked.into_iter().chain(latest("low-copies", ours)).chain(latest("keep", [0.6, 0.5])).collect();
        super::against::costs(&results(cells))
    };
    let start = "Where a key has several values and the last is asked for, partial DroPE with copies is right in ";
    assert_eq!(
        said([0.4, 0.3]),
        [format!("{start}40.0 % at 1× and 30.0 % at 4×, RoPE in 60.0 % and 50.0 % (after 1 M tokens).")]
    );
    assert_eq!(said([0.58, 0.3]), [format!("{start}30.0 % at 4×, RoPE in 50.0 % (after 1 M tokens).")]);
    assert!(said([0.6, 0.5]).is_empty());
}

#[test]
fn the_papers_table_has_each_length_in_prose_and_among_decoys() {
    let table = super::tables::tables(&results(run("low-copies", "1m", 0.9)));
    assert!(table.contains("| partial DroPE with copies | 97 | 90 | 90 | 90 | 97 | 90 | 90 | 90 |"), "{table}");
    assert!(super::tables::tables(&results(Vec::new())).is_empty());
}

#[test]
fn what_repeated_decoys_do_is_said_of_full_and_partial_drope() {
    let asked = |name: &'static str, budget: &'static str, trunk: usize, [distinct, repeated]: [f64; 2]| {
        let cell = move |asked: Asked, share| cell(name, budget, trunk, &asked.task(), 4, share);
        [cell(Asked::Decoys, distinct), cell(Asked::RepeatedDecoys, repeated)]
    };
    let mut cells = [run("all-copies", "8m", 0.9), run("low-copies", "1m", 0.9)].concat();
    cells.retain(|cell| cell.difficulty.split == QuestionSplit::Selection);
    cells.extend(TRUNKS.flat_map(|trunk| asked("low-copies", "1m", trunk, [0.8, 0.7])));
    // Repeated decoys were asked of two trunks alone, which answer more than the others.
    cells.extend((8..=10).map(|trunk| cell("all-copies", "8m", trunk, &Asked::Decoys.task(), 4, 0.1)));
    cells.extend((6..=7).flat_map(|trunk| asked("all-copies", "8m", trunk, [0.5, 0.4])));
    let (_, words) = super::why::document(&results(cells), Vec::new(), Vec::new()).unwrap();
    let expected = "- Among distinct decoys, and among few that are repeated, at 4×: DroPE with copies after 8 M tokens 50.0 % and 40.0 %; \
                    partial DroPE with copies after 1 M tokens 80.0 % and 70.0 %.\n";
    assert_eq!(words, expected);
}

#[test]
fn how_little_partial_drope_needs_is_said_with_its_share_of_pretraining() {
    let curve = |budgets: &[&str]| {
        let cells = budgets.iter().flat_map(|budget| run("low-copies", budget, 0.9)).collect();
        super::curve::of_partial(&results(cells))
    };
    assert_eq!(curve(&["1m"]), None);
    let expected = "Partial DroPE with copies after 0.25 M and 1 M tokens, of which 0.25 M are 2.4 % of pretraining, answers 97.0 and 97.0 % at 1× \
                    and 90.0 and 90.0 % at 8×.";
    assert_eq!(curve(&["250k", "1m"]).as_deref(), Some(expected));
}

#[test]
fn the_document_says_what_speaks_against_and_what_was_not_run() {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("results");
    assert!(super::write(&folder, root.path()).unwrap().is_none());
    assert!(!root.path().join("docs").exists(), "nothing was measured");
    let cells = [curve("all", [0.9, 0.8, 0.7, 0.6, 0.5, 0.3]), run("keep", "250k", 0.95), run("low-copies", "8m", 0.9)]
        .concat();
    crate::files::write(&folder.join("results/a.json"), &drope_core::results::to_json(&cells).unwrap()).unwrap();
    let headline = super::write(&folder, root.path()).unwrap().unwrap().list;
    assert!(headline.contains("- **Full DroPE reads 4× best after a budget between the smallest and the largest: refuted**. The best budget"), "{headline}");
    let text = crate::files::read_text(&root.path().join("docs/study-2.md")).unwrap();
    for sentence in [
        "Full DroPE has no best budget between the smallest and the largest.",
        "After its best budget (0.25 M) full DroPE answers 90.0 % at 4×, RoPE of the same budget, read with its best scaling, 95.0 %.",
        "| H1 | full DroPE reads 4× best after a budget between the smallest and the largest (the best budget on the selection split is 0.25 M) |",
        "## What was not run\n\n- the test of H2\n- the test of H4 (1 M)\n- the test of H4 (8 M)\n- the test of H5, primary\n",
        "- the curve of partial DroPE\n",
        "- RoPE after 0.5 M, 1 M, 2 M, 4 M and 8 M\n",
        "Not measured of the protocol's list: H2, H4 (1 M)",
        "which can only make the p of the others larger.\n\n",
        "choosing by one of the key's two words in 41.7 %",
        "![Accuracy of the primary task at 4×",
    ] {
        assert!(text.contains(sentence), "{sentence} is not in\n{text}");
    }
    assert!(crate::files::read_text(&root.path().join("docs/study-2.svg")).unwrap().contains("DroPE"));
}
