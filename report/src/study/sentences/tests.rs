use super::super::hypotheses::test_all;
use super::super::rows::StudyResults;
use super::super::test_cells::study;
use super::{p_text, points, sentence};

fn headline(results: &StudyResults) -> String {
    super::headline(&super::findings(results, &test_all(results))).join(" ")
}

#[test]
fn numbers_are_written_with_their_sign() {
    assert_eq!((points(0.0312).as_str(), points(-0.0312).as_str()), ("+3.1 points", "-3.1 points"));
    assert_eq!((points(-0.0001).as_str(), p_text(0.0004).as_str()), ("+0.0 points", "< 0.001"));
}

#[test]
fn the_headline_says_what_the_numbers_say_in_every_direction() {
    let study_of = |drope: [f64; 4], rope: [f64; 4]| {
        study(move |run, _| match run {
            "all" | "all-copies" => drope,
            "keep" | "keep-copies" => rope,
            _ => [0.9; 4],
        })
    };
    let (good, bad) = ([0.9; 4], [0.9, 0.9, 0.45, 0.0]);
    let is_said = |results: &StudyResults, expected: &str| {
        let text = headline(results);
        assert!(text.starts_with(expected), "{text}");
        text
    };
    is_said(
        &study_of(good, bad),
        "**DroPE with copies reads longer texts better than RoPE with copies of equal budget**: accuracy at 1×, 2×, 4× and 8×: DroPE with copies 90.0 / 90.0 / 90.0 / 90.0 %, RoPE with copies 90.0 / 90.0 / 45.0 / 0.0 %, read with RoPE as trained; difference beyond 1× +45.0 points [",
    );
    let worse = "**RoPE with copies of equal budget reads longer texts better than DroPE with copies**";
    let said = is_said(&study_of(bad, good), worse);
    assert!(said.contains("in retention -50.0 points ["), "{said}");
    let equal = is_said(
        &study_of(good, good),
        "**RoPE with copies of equal budget is as good as DroPE with copies**: accuracy at 1×, 2×, 4× and 8×: DroPE with copies \
         90.0 / 90.0 / 90.0 / 90.0 %, RoPE with copies 90.0 / 90.0 / 90.0 / 90.0 %, read with RoPE as trained; difference beyond 1× +0.0 points \
         [+0.0, +0.0], in retention +0.0 points [+0.0, +0.0], corrected p = 1.000, 5 trunks.",
    );
    assert_eq!(equal.matches("**RoPE").count(), 3, "hypotheses 1 to 3");
}

#[test]
fn what_counts_against_drope_comes_first() {
    let text = headline(&study(|run, _| if run == "keep-copies" { [0.9, 0.5, 0.1, 0.1] } else { [0.9; 4] }));
    let (rival, own) = (text.find("**RoPE of equal budget is as good as DroPE**"), text.find("**DroPE with copies"));
    assert!(rival.unwrap() < own.unwrap(), "{text}");
}

#[test]
fn differences_of_both_signs_are_not_shown_and_few_trunks_are_named() {
    let mixed = study(|run, trunk| match (run, trunk) {
        ("keep-copies", 5) => [0.9, 1.0, 1.0, 1.0],
        ("keep-copies", _) => [0.9, 0.5, 0.1, 0.1],
        _ => [0.9; 4],
    });
    let text = sentence(&test_all(&mixed)[0]);
    assert!(text.contains("*DroPE with copies* and *RoPE with copies* is not shown: +"), "{text}");
    assert!(headline(&mixed).contains("**Whether DroPE with copies reads longer texts better"), "{}", headline(&mixed));
    let few = study(|run, trunk| if run == "all" && trunk > 2 { [0.1; 4] } else { [0.9; 4] });
    assert_eq!(
        sentence(&test_all(&few)[2]),
        "*DroPE* against *RoPE* is not tested: three trunks are needed, and trunks 1 and 2 enter; trunks 3, 4 and 5 are below \
         the threshold."
    );
    assert!(headline(&few).contains("DroPE against RoPE of equal budget: nothing is claimed, three trunks are needed"));
}
