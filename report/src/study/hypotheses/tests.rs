use drope_core::positions::{Method, Parameters};
use drope_core::results::RetrievalCell;

use super::super::models::run_and_trunk;
use super::super::rows::StudyResults;
use super::super::test_cells::{plain_selection, read_with, selected, study, study_cells};
use super::{HypothesisVerdict, TrunkPart, Untested, test_all};

/// All runs keep all of their accuracy.
const LEVEL: [f64; 4] = [0.9; 4];

#[test]
fn the_better_one_is_shown_in_both_directions_and_with_numbers_that_follow_by_hand() {
    // Retention of all-copies: (0.9 + 0.8 + 0.7) / 3 / 0.9 = 0.8889; of keep-copies (0.9 + 0.5 + 0.1) / 3 / 1.0 = 0.5.
    let shares = |run: &str, _: usize| match run {
        "all-copies" => [0.9, 0.9, 0.8, 0.7],
        "keep-copies" => [1.0, 0.9, 0.5, 0.1],
        "all" => [0.9, 0.5, 0.5, 0.5],
        _ => LEVEL,
    };
    let tests = test_all(&study(shares));
    let [first, _, third, fourth] = &tests[..] else { panic!("there are four") };
    assert_eq!(first.verdict, HypothesisVerdict::FirstBetter);
    let expected = 2.4 / 3.0 / 0.9 - 0.5;
    assert!((first.interval.unwrap().estimate - expected).abs() < 1e-9);
    assert!(first.differences().iter().all(|difference| (difference - expected).abs() < 1e-9));
    // Retention 0.5556 against 1.
    assert_eq!((third.verdict, fourth.verdict), (HypothesisVerdict::SecondBetter, HypothesisVerdict::SecondBetter));
    assert!((third.interval.unwrap().estimate + 4.0 / 9.0).abs() < 1e-9);
    // Holm: the smallest of four p-values is multiplied by 4, and no corrected one is smaller.
    let smallest = tests.iter().map(|test| test.interval.unwrap().p_value).fold(1.0, f64::min);
    assert!(tests.iter().all(|test| test.p_holm.unwrap() >= 4.0 * smallest - 1e-12));
}

#[test]
fn equals_are_as_good() {
    let tests = test_all(&study(|_, _| LEVEL));
    assert!(tests.iter().all(|test| test.verdict == HypothesisVerdict::AsGood));
}

#[test]
fn trunks_below_the_threshold_do_not_enter_and_two_are_too_few() {
    let behind = |last: usize| {
        move |run: &str, trunk: usize| if run == "all" && trunk <= last { [0.79, 0.7, 0.7, 0.7] } else { LEVEL }
    };
    let tests = test_all(&study(behind(2)));
    assert_eq!(tests[2].verdict, HypothesisVerdict::AsGood);
    assert_eq!((tests[2].trunks[1].1, tests[2].differences().len()), (TrunkPart::BelowThreshold, 3));
    let tests = test_all(&study(behind(3)));
    assert_eq!(tests[2].verdict, HypothesisVerdict::NotTested(Untested::TooFewTrunks));
    assert!(tests[2].interval.is_none() && tests[2].p_holm.is_none());
    assert_eq!(tests[0].verdict, HypothesisVerdict::AsGood, "the other models pass");
}

#[test]
fn a_trunk_without_one_of_its_eight_runs_is_incomplete() {
    let cells = study_cells(|_, _| LEVEL).into_iter();
    let is_there = |cell: &RetrievalCell| !matches!(run_and_trunk(&cell.model), Some(("pi", 4..)));
    let tests = test_all(&StudyResults::new(cells.filter(is_there).chain(plain_selection()).collect()));
    assert_eq!((tests[0].trunks[3].1, tests[0].trunks[4].1), (TrunkPart::Incomplete, TrunkPart::Incomplete));
    assert_eq!((tests[0].differences().len(), tests[0].verdict), (3, HypothesisVerdict::AsGood));
}

#[test]
fn rivals_at_their_best_need_a_selection_and_the_reading_that_it_chose() {
    let cells = || study_cells(|_, _| LEVEL);
    let tests = test_all(&StudyResults::new(cells()));
    assert_eq!(tests[0].verdict, HypothesisVerdict::NotTested(Untested::NothingChosen));
    assert_eq!(tests[3].verdict, HypothesisVerdict::AsGood, "YaRN is read as it was trained");
    let yarn = read_with(Method::Yarn, &Parameters::default(), selected("keep-1", [0.9; 3]));
    let tests = test_all(&StudyResults::new([cells(), yarn].concat()));
    assert_eq!(tests[2].trunks[0].1, TrunkPart::NotPaired, "the chosen reading is not measured");
}

#[test]
fn cells_without_outcomes_and_of_other_numbers_of_questions_are_not_compared() {
    let mut cells = study_cells(|_, _| LEVEL);
    for cell in cells.iter_mut().filter(|cell| cell.model == "all-1") {
        cell.outcomes = None;
    }
    let tests = test_all(&StudyResults::new([cells, plain_selection()].concat()));
    assert_eq!((tests[3].trunks[0].1, tests[3].differences().len()), (TrunkPart::NotPaired, 4));
}
