//! Findings about how far models read; `None` where the rows that one rests on are not measured.

use crate::comparison::Comparison;
use crate::markdown::list;
use crate::number::{Number, Row, find};
use crate::sections::TaskScores;
use crate::sections::long::{self, LONGEST};
use crate::sections::retrieval::{FROM_SCRATCH, UNTRAINED};

/// The lengths at which systems are compared.
const COMPARED: [usize; 3] = [2, 4, 8];

/// Sentences of all that there are; `None` where there is none.
fn joined(sentences: impl IntoIterator<Item = Option<String>>, between: &str) -> Option<String> {
    let sentences: Vec<String> = sentences.into_iter().flatten().collect();
    (!sentences.is_empty()).then(|| sentences.join(between))
}

/// `100.0, 93.0 and 24.0 % at 1, 2 and 4×`
fn along(row: &Row) -> String {
    let shares: Vec<String> = row.numbers.values().map(|score| format!("{:.1}", 100.0 * score.value)).collect();
    let lengths: Vec<String> = row.numbers.keys().map(usize::to_string).collect();
    format!("{} % at {}×", list(&shares), list(&lengths))
}

/// How nano-drope's scores at longer texts compare with that at 1×.
pub fn lengths_of_drope(rows: &[Row]) -> Option<String> {
    let row = find(rows, long::BOTH)?;
    let base = row.at(1)?;
    let lower = row.numbers.iter().filter(|(_, score)| base.is_above(score));
    let compared = match &lower.map(|(s, _)| format!("{s}×")).collect::<Vec<_>>()[..] {
        [] => "no length's interval lies below that of 1×".to_owned(),
        lower => format!("below 1× at {}", list(lower)),
    };
    Some(format!(
        "**Full DroPE with copies and SSMax.** Asked for the number of one of four keys, nano-drope answers {}; {compared}.",
        along(row)
    ))
}

/// Where a system stands among all others at each length.
pub fn among_others(title: &str, system: &str, rows: &[Row]) -> Option<String> {
    let ours = find(rows, system)?;
    let at = |s: usize| {
        let score = ours.at(s)?;
        let others = rows.iter().filter(|row| row.system != system);
        let others: Vec<(&str, &Number)> = others.filter_map(|row| Some((&*row.system, row.at(s)?))).collect();
        let relations = relations(&Comparison::new(s, score, &others), &others);
        Some(format!("At {s}× ({}, {} questions) it is {relations}.", score.percent(), score.trials))
    };
    let sentences = joined(COMPARED.into_iter().map(at), " ")?;
    Some(format!("**{title}**, by 95 % intervals. {sentences}"))
}

/// `above all others but A, whose interval touches its own; of those below it B is nearest, 0.3 points behind`
fn relations(comparison: &Comparison, others: &[(&str, &Number)]) -> String {
    let Comparison { score, above, level, below, .. } = comparison;
    let exceptions = [
        (!below.is_empty()).then(|| format!("{}, above it", list(below))),
        (!level.is_empty()).then(|| format!("{}, with intervals that touch its own", list(level))),
    ];
    let but = joined(exceptions, ", and ").map_or(String::new(), |exceptions| format!(" but {exceptions}"));
    let nearest = others.iter().filter(|(name, _)| above.iter().any(|other| other == name));
    match nearest.max_by(|a, b| a.1.value.total_cmp(&b.1.value)) {
        Some((name, other)) => format!(
            "above all others{but}; of those below it {name} is nearest, {:.1} points behind",
            100.0 * (score.value - other.value)
        ),
        None => format!("above none{but}"),
    }
}

/// What copies and SSMax do, each alone.
pub fn parts_of_drope(rows: &[Row]) -> Option<String> {
    let (plain, copies, ssmax) = (find(rows, long::PLAIN)?, find(rows, long::COPIES)?, find(rows, long::SSMAX)?);
    let helps = |row: &Row| match row.at(LONGEST).zip(plain.at(LONGEST)) {
        Some((ours, plain)) if ours.is_above(plain) => "above",
        Some((ours, plain)) if plain.is_above(ours) => "below",
        _ => "not apart from",
    };
    Some(format!(
        "**DroPE as in the paper**, without copies and SSMax, at the same budget, answers {}. With copies alone it answers {}, \
         with SSMax alone {}: at {LONGEST}× copies are {} the paper's DroPE, SSMax is {} it. These three models were not kept.",
        along(plain),
        along(copies),
        along(ssmax),
        helps(copies),
        helps(ssmax)
    ))
}

/// The best of the methods that read nano-rope as it is, and those that are not apart from it.
pub fn without_training(rows: &[Row]) -> Option<String> {
    let at = |s: usize| {
        let scores = UNTRAINED.into_iter().filter_map(|system| Some((system, find(rows, system)?.at(s)?)));
        let scores: Vec<(&str, &Number)> = scores.collect();
        let (best, score) = *scores.iter().max_by(|a, b| a.1.value.total_cmp(&b.1.value))?;
        let others: Vec<(&str, &Number)> = scores.into_iter().filter(|(system, _)| *system != best).collect();
        let level = match &Comparison::new(s, score, &others).level[..] {
            [] => "apart from all others".to_owned(),
            level => format!("not apart from {}", list(level)),
        };
        Some(format!("at {s}× {best} ({}), {level}", score.percent()))
    };
    let sentences = joined(COMPARED.into_iter().map(at), "; ")?;
    Some(format!("**Without training** the highest score on one of four keys has {sentences}."))
}

/// Models that never had rotary positions, or not in every layer.
pub fn trained_from_scratch(rows: &[Row]) -> Option<String> {
    let sentence = |system: &str| Some(format!("{system} {}", along(find(rows, system)?)));
    let sentences = joined(FROM_SCRATCH.into_iter().map(sentence), "; ")?;
    Some(format!("**Trained from scratch with other positions**, on nano-rope's recipe: {sentences}."))
}

/// Scores on two keys at once, at the training context and at the longest.
pub fn two_keys(numbers: &[Row], words: &[Row]) -> Option<String> {
    let (numbers, words) = (first_and_last(numbers)?, first_and_last(words)?);
    Some(format!("**Two keys at once**, percent of exact answers. Numbers: {numbers}. Words: {words}."))
}

/// `at 1× A 96.0, B 95.0, C 72.0; at 8× …`, the highest first.
fn first_and_last(rows: &[Row]) -> Option<String> {
    let at = |s: usize| {
        let mut scores: Vec<(&str, f64)> =
            rows.iter().filter_map(|row| Some((&*row.system, row.at(s)?.value))).collect();
        scores.sort_by(|a, b| b.1.total_cmp(&a.1));
        let scores = joined(scores.iter().map(|(system, share)| Some(format!("{system} {:.1}", 100.0 * share))), ", ")?;
        Some(format!("at {s}× {scores}"))
    };
    joined([1, 8].map(at), "; ")
}

/// The most that any system answers where all four values of a key are asked for.
pub fn four_values(retrieval: &[TaskScores]) -> Option<String> {
    let task = retrieval.iter().find(|task| task.task == "multi-value")?;
    let shares = task.rows.iter().flat_map(|row| row.numbers.values()).map(|score| score.value);
    let most = 100.0 * shares.max_by(f64::total_cmp)?;
    Some(format!(
        "**All four values of one key** are listed by no system in more than {most:.1} % of the questions, at any length."
    ))
}

/// The mean over tasks at the longest length.
pub fn mean_over_tasks(rows: &[Row]) -> Option<String> {
    Some(format!(
        "**Mean over tasks** (percent of the values that are found, over all tasks, numbers and words): {}.",
        first_and_last(rows)?
    ))
}

#[cfg(test)]
mod tests {
    use super::{among_others, lengths_of_drope, long, without_training};
    use crate::number::{Row, made_up};

    fn row(system: &str, scores: &[(usize, f64)]) -> Row {
        made_up::row(system, 0.01, scores)
    }

    #[test]
    fn a_rival_whose_interval_touches_is_named() {
        let rows = [row("DroPE", &[(2, 0.997)]), row("ALiBi", &[(2, 0.95)]), row("partial DroPE", &[(2, 0.992)])];
        let found = among_others("", "DroPE", &rows).unwrap();
        let expected = "it is above all others but partial DroPE, with intervals that touch its own; of those below it ALiBi is \
                        nearest, 4.7 points behind.";
        assert!(found.ends_with(expected), "{found}");
        let rows = [row("DroPE", &[(2, 0.5)]), row("ALiBi", &[(2, 0.9)])];
        assert!(among_others("", "DroPE", &rows).unwrap().ends_with("it is above none but ALiBi, above it."));
        assert_eq!(among_others("", "DroPE", &[]), None);
    }

    #[test]
    fn longer_texts_are_compared_with_the_context() {
        let of = |last: f64| lengths_of_drope(&[row(long::BOTH, &[(1, 0.99), (16, last)])]).unwrap();
        let reads_on = "99.0 and 98.0 % at 1 and 16×; no length's interval lies below that of 1×.";
        assert!(of(0.98).ends_with(reads_on), "{}", of(0.98));
        assert!(of(0.9).ends_with("below 1× at 16×."), "{}", of(0.9));
    }

    #[test]
    fn the_strongest_is_not_strongest_where_intervals_touch() {
        let rows = [row("Llama 3", &[(8, 0.968)]), row("YaRN", &[(8, 0.955)]), row("PI", &[(8, 0.0)])];
        let found = without_training(&rows).unwrap();
        assert!(found.ends_with("at 8× Llama 3 (96.8 [95.8, 97.8]), not apart from YaRN."), "{found}");
    }
}
