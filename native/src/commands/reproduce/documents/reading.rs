//! Findings about how far models read; `None` where the rows that one rests on are not measured.

use super::super::comparison::Comparison;
use super::super::long::{self, LONGEST};
use super::super::markdown::list;
use super::super::retrieval::{FROM_SCRATCH, OURS, PARTIAL, TaskScores, UNTRAINED};
use super::super::score::{Score, ScoreRow};
use super::super::verdict::Verdict;

/// The lengths at which systems are compared.
const COMPARED: [usize; 3] = [2, 4, 8];

/// Multi-key rows, the first of the tasks.
pub fn multi_key(retrieval: &[TaskScores]) -> &[ScoreRow] {
    retrieval.first().map_or(&[], |task| &task.rows)
}

fn find<'a>(rows: &'a [ScoreRow], system: &str) -> Option<&'a ScoreRow> {
    rows.iter().find(|row| row.system == system).filter(|row| !row.scores.is_empty())
}

/// `100.0, 93.0 and 24.0 % at 1, 2 and 4×`
fn along(row: &ScoreRow) -> String {
    let shares: Vec<String> = row.scores.iter().map(|score| format!("{:.1}", 100.0 * score.share)).collect();
    let lengths: Vec<String> = row.scores.iter().map(|score| score.extension.to_string()).collect();
    format!("{} % at {}×", list(&shares), list(&lengths))
}

/// How nano-drope's scores at longer texts compare with that at 1×.
pub fn lengths_of_drope(rows: &[ScoreRow]) -> Option<String> {
    let row = find(rows, long::BOTH)?;
    let base = row.at(1)?;
    let lower: Vec<String> =
        row.scores.iter().filter(|score| base.is_above(score)).map(|score| format!("{}×", score.extension)).collect();
    let compared = match &lower[..] {
        [] => "no length's interval lies below that of 1×".to_owned(),
        lower => format!("below 1× at {}", list(lower)),
    };
    Some(format!(
        "**Full DroPE with copies and SSMax.** Asked for the number of one of four keys, nano-drope answers {}; {compared}.",
        along(row)
    ))
}

/// Where DroPE stands among all others at each length.
pub fn drope_among_others(rows: &[ScoreRow]) -> Option<String> {
    among_others("DroPE among all others", OURS, rows)
}

/// Where partial DroPE does.
pub fn partial_among_others(rows: &[ScoreRow]) -> Option<String> {
    among_others("Partial DroPE among all others", PARTIAL, rows)
}

fn among_others(title: &str, system: &str, rows: &[ScoreRow]) -> Option<String> {
    let ours = find(rows, system)?;
    let at = |s: usize| {
        let score = ours.at(s)?;
        let others: Vec<(&str, &Score)> =
            rows.iter().filter(|row| row.system != system).filter_map(|row| Some((&*row.system, row.at(s)?))).collect();
        let comparison = Comparison::new(score, &others);
        Some(format!(
            "At {s}× ({}, {} questions) it is {}.",
            score.text(),
            score.trials,
            relations(&comparison, &others)
        ))
    };
    let sentences: Vec<String> = COMPARED.into_iter().filter_map(at).collect();
    (!sentences.is_empty()).then(|| format!("**{title}**, by 95 % intervals. {}", sentences.join(" ")))
}

/// `above all others but A, whose interval touches its own; of those below it B is nearest, 0.3 points behind`
fn relations(comparison: &Comparison, others: &[(&str, &Score)]) -> String {
    let Comparison { score, above, level, below, .. } = comparison;
    let mut exceptions = Vec::new();
    if !below.is_empty() {
        exceptions.push(format!("{}, above it", list(below)));
    }
    if !level.is_empty() {
        exceptions.push(format!("{}, with intervals that touch its own", list(level)));
    }
    let nearest = others.iter().filter(|(name, _)| above.iter().any(|other| other == name));
    let nearest = nearest.max_by(|a, b| a.1.share.total_cmp(&b.1.share)).map(|(name, other)| {
        format!("; of those below it {name} is nearest, {:.1} points behind", 100.0 * (score.share - other.share))
    });
    let but = if exceptions.is_empty() { String::new() } else { format!(" but {}", exceptions.join(", and ")) };
    match nearest {
        Some(nearest) => format!("above all others{but}{nearest}"),
        None => format!("above none{but}"),
    }
}

/// What copies and SSMax do, each alone.
pub fn parts_of_drope(rows: &[ScoreRow]) -> Option<String> {
    let [plain, copies, ssmax] = [long::PLAIN, long::COPIES, long::SSMAX].map(|system| find(rows, system));
    let (plain, copies, ssmax) = (plain?, copies?, ssmax?);
    let helps = |row: &ScoreRow| match Verdict::is_higher(row.at(LONGEST), plain.at(LONGEST)) {
        Verdict::Holds => "above",
        Verdict::DoesNotHold => "below",
        Verdict::NotShown | Verdict::NotMeasured => "not apart from",
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
pub fn without_training(rows: &[ScoreRow]) -> Option<String> {
    let at = |s: usize| {
        let scores = UNTRAINED.into_iter().filter_map(|system| Some((system, find(rows, system)?.at(s)?)));
        let scores: Vec<(&str, &Score)> = scores.collect();
        let (best, score) = *scores.iter().max_by(|a, b| a.1.share.total_cmp(&b.1.share))?;
        let others: Vec<(&str, &Score)> = scores.into_iter().filter(|(system, _)| *system != best).collect();
        let level = Comparison::new(score, &others).level;
        let level = match &level[..] {
            [] => "apart from all others".to_owned(),
            level => format!("not apart from {}", list(level)),
        };
        Some(format!("at {s}× {best} ({}), {level}", score.text()))
    };
    let sentences: Vec<String> = COMPARED.into_iter().filter_map(at).collect();
    (!sentences.is_empty())
        .then(|| format!("**Without training** the highest score on one of four keys has {}.", sentences.join("; ")))
}

/// Models that never had rotary positions, or not in every layer.
pub fn trained_from_scratch(rows: &[ScoreRow]) -> Option<String> {
    let sentences: Vec<String> = FROM_SCRATCH
        .into_iter()
        .filter_map(|system| Some(format!("{system} {}", along(find(rows, system)?))))
        .collect();
    (!sentences.is_empty()).then(|| {
        format!("**Trained from scratch with other positions**, on nano-rope's recipe: {}.", sentences.join("; "))
    })
}

/// Scores on two keys at once, at the training context and at the longest.
pub fn two_keys([numbers, words]: &[Vec<ScoreRow>; 2]) -> Option<String> {
    let [first, .., last] = [1, 2, 4, 8];
    let sentence = |rows: &[ScoreRow], s: usize| ranking(rows, s).map(|ranking| format!("at {s}× {ranking}"));
    let numbers: Vec<String> = [first, last].into_iter().filter_map(|s| sentence(numbers, s)).collect();
    let words: Vec<String> = [first, last].into_iter().filter_map(|s| sentence(words, s)).collect();
    (!numbers.is_empty() && !words.is_empty()).then(|| {
        format!(
            "**Two keys at once**, percent of exact answers. Numbers: {}. Words: {}.",
            numbers.join("; "),
            words.join("; ")
        )
    })
}

/// `A 96.0, B 95.0, C 72.0`, the highest first.
fn ranking(rows: &[ScoreRow], extension: usize) -> Option<String> {
    let mut scores: Vec<(&str, f64)> =
        rows.iter().filter_map(|row| Some((&*row.system, row.at(extension)?.share))).collect();
    scores.sort_by(|a, b| b.1.total_cmp(&a.1));
    let scores: Vec<String> = scores.iter().map(|(system, share)| format!("{system} {:.1}", 100.0 * share)).collect();
    (!scores.is_empty()).then(|| scores.join(", "))
}

/// The most that any system answers where all four values of a key are asked for.
pub fn four_values(retrieval: &[TaskScores]) -> Option<String> {
    let task = retrieval.iter().find(|task| task.task == "multi-value")?;
    let shares = task.rows.iter().flat_map(|row| &row.scores).map(|score| score.share);
    let most = shares.max_by(f64::total_cmp)?;
    Some(format!(
        "**All four values of one key** are listed by no system in more than {:.1} % of the questions, at any length.",
        100.0 * most
    ))
}

/// The mean over tasks at the longest length.
pub fn mean_over_tasks(rows: &[ScoreRow]) -> Option<String> {
    let ranked: Vec<String> =
        [1, 8].into_iter().filter_map(|s| Some(format!("at {s}× {}", ranking(rows, s)?))).collect();
    (!ranked.is_empty()).then(|| {
        format!(
            "**Mean over tasks** (percent of the values that are found, over all tasks, numbers and words): {}.",
            ranked.join("; ")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::{Score, ScoreRow, drope_among_others, lengths_of_drope, without_training};

    fn row(system: &str, scores: &[(usize, f64)]) -> ScoreRow {
        let score = |&(extension, share): &(usize, f64)| Score {
            extension,
            share,
            ci95: [share - 0.01, share + 0.01],
            trials: 500,
        };
        ScoreRow { system: system.to_owned(), is_of_known_weights: true, scores: scores.iter().map(score).collect() }
    }

    #[test]
    fn a_rival_whose_interval_touches_is_named() {
        let rows = [row("DroPE", &[(2, 0.997)]), row("ALiBi", &[(2, 0.95)]), row("partial DroPE", &[(2, 0.992)])];
        let found = drope_among_others(&rows).unwrap();
        assert!(
            found.ends_with(
                "it is above all others but partial DroPE, with intervals that touch its own; of those below it ALiBi is \
                 nearest, 4.7 points behind."
            ),
            "{found}"
        );
        let rows = [row("DroPE", &[(2, 0.5)]), row("ALiBi", &[(2, 0.9)])];
        assert!(drope_among_others(&rows).unwrap().ends_with("it is above none but ALiBi, above it."));
        assert_eq!(drope_among_others(&[]), None);
    }

    #[test]
    fn longer_texts_are_compared_with_the_context() {
        let reads_on = lengths_of_drope(&[row(super::long::BOTH, &[(1, 0.99), (16, 0.98)])]).unwrap();
        assert!(
            reads_on.ends_with("99.0 and 98.0 % at 1 and 16×; no length's interval lies below that of 1×."),
            "{reads_on}"
        );
        let falls = lengths_of_drope(&[row(super::long::BOTH, &[(1, 0.99), (16, 0.9)])]).unwrap();
        assert!(falls.ends_with("below 1× at 16×."), "{falls}");
    }

    #[test]
    fn the_strongest_is_not_strongest_where_intervals_touch() {
        let rows = [row("Llama 3", &[(8, 0.968)]), row("YaRN", &[(8, 0.955)]), row("PI", &[(8, 0.0)])];
        let found = without_training(&rows).unwrap();
        assert!(found.ends_with("at 8× Llama 3 (96.8 [95.8, 97.8]), not apart from YaRN."), "{found}");
    }
}
