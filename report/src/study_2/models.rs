//! The models of the second study: runs, budgets and trunks, and how their names say them.

use std::ops::RangeInclusive;

use drope_core::positions::{Method, Parameters};

use crate::study::StudyReading;

/// Pretraining seeds.
pub const TRUNKS: RangeInclusive<usize> = 6..=10;

/// Tokens of recalibration, as names have them.
pub const BUDGETS: [&str; 7] = ["250k", "500k", "1m", "2m", "4m", "8m", "16m"];

/// The budgets that every trunk has: section 1 of the protocol.
pub const CURVE: [&str; 6] = ["250k", "500k", "1m", "2m", "4m", "8m"];

/// Runs of the curve.
pub const CURVE_RUNS: [&str; 6] = ["all", "low", "keep", "all-copies", "low-copies", "keep-copies"];

/// Rivals of partial DroPE with copies: they keep positions, and train within C.
pub const RIVALS: [&str; 10] = [
    "keep",
    "keep-copies",
    "gaps",
    "gaps-yarn",
    "gaps-pi",
    "counts",
    "p-rope-keep",
    "p-rope-keep-copies",
    "cope-keep",
    "cope-keep-copies",
];

/// Those that are compared at 16, 32 and 64×: the five that the selection split found best at 2 to 8× after [`FAR_BUDGET`].
pub const FAR_RIVALS: [&str; 5] = ["p-rope-keep-copies", "gaps-yarn", "gaps", "counts", "keep-copies"];

/// The budget of the models that are asked at 16, 32 and 64×.
pub const FAR_BUDGET: &str = "1m";

/// The models that section 4 looks into: runs with their budgets.
pub const MECHANISM_MODELS: [(&str, &str); 7] = [
    ("all", "8m"),
    ("low", "8m"),
    ("keep", "8m"),
    ("all-copies", "8m"),
    ("low-copies", "8m"),
    ("low-copies", "1m"),
    ("keep-copies", "8m"),
];

/// Full DroPE with other copies than of sentences of filler: section 4, from [`OTHER_COPIES_TRUNKS`] with [`OTHER_COPIES_BUDGET`].
pub const OTHER_COPIES: [&str; 3] = ["all-copies-tokens", "all-copies-needles", "all-copies-both"];

/// Their budget.
pub const OTHER_COPIES_BUDGET: &str = "8m";

/// The trunks that have them.
pub const OTHER_COPIES_TRUNKS: RangeInclusive<usize> = 6..=7;

/// Runs that train on texts beyond C: shown, and not tested against.
pub const UPPER_BOUNDS: [&str; 3] = ["long", "long-yarn", "long-llama3"];

/// With which runs are read that keep positions and train without a scaling.
pub const SCALINGS: [Method; 5] = [Method::Rope, Method::Ntk, Method::DynamicNtk, Method::Yarn, Method::Llama3];

/// The same at 16, 32 and 64×: those that were best at 2 to 8× over the [`FAR_RIVALS`] that are read in several ways.
pub const FAR_SCALINGS: [Method; 3] = [Method::Ntk, Method::Yarn, Method::Llama3];

/// The trunks that a budget was run from.
pub fn trunks_of(budget: &str) -> RangeInclusive<usize> {
    if budget == "16m" { 6..=6 } else { TRUNKS }
}

/// The pretrained model, read as it is; its models have no budget.
pub const UNTRAINED: &str = "rope";
pub const NO_BUDGET: &str = "0m";

/// What a model's name says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModelName<'a> {
    pub run: &'a str,
    pub budget: &'a str,
    pub trunk: usize,
}

impl<'a> ModelName<'a> {
    /// `low-copies-1m-7`: the run low-copies with a million tokens from trunk 7; `rope-7`: the trunk. `None` for other names.
    pub fn of(name: &'a str) -> Option<Self> {
        let (rest, trunk) = name.rsplit_once('-')?;
        let trunk = trunk.parse().ok().filter(|trunk| TRUNKS.contains(trunk))?;
        if rest == UNTRAINED {
            return Some(Self { run: UNTRAINED, budget: NO_BUDGET, trunk });
        }
        let (run, budget) = rest.rsplit_once('-')?;
        BUDGETS.contains(&budget).then_some(Self { run, budget, trunk })
    }
}

/// Millions of tokens.
pub fn millions(budget: &str) -> f64 {
    let (number, unit) = budget.split_at(budget.len() - 1);
    number.parse::<f64>().unwrap_or(f64::NAN) * if unit == "k" { 1e-3 } else { 1.0 }
}

/// A run with its budget: `DroPE after 8 M tokens`
pub fn title_with_budget(run: &str, budget: &str) -> String {
    format!("{} after {} tokens", title(run), tokens(budget))
}

/// A budget in tokens: `0.25 M`
pub fn tokens(budget: &str) -> String {
    format!("{} M", millions(budget))
}

/// What a run is called in sentences.
pub fn title(run: &str) -> String {
    let known = match run {
        UNTRAINED => "RoPE, without further training",
        "all-copies-tokens" => "DroPE with copies of single tokens",
        "all-copies-needles" => "DroPE with copies of needles too",
        "all-copies-both" => "DroPE with copies of single tokens and needles",
        "gaps" => "RoPE whose positions skip (PoSE's gaps)",
        "gaps-yarn" => "PoSE with YaRN",
        "gaps-pi" => "PoSE with PI",
        "counts" => "RoPE with copies that skip no positions",
        "p-rope-keep" => "p-RoPE from scratch",
        "p-rope-keep-copies" => "p-RoPE from scratch with copies",
        "cope-keep" => "CoPE from scratch",
        "cope-keep-copies" => "CoPE from scratch with copies",
        "long" => "RoPE trained on long texts",
        "long-yarn" => "YaRN trained on long texts",
        "long-llama3" => "Llama 3's scaling trained on long texts",
        other => return crate::study::title(other),
    };
    known.to_owned()
}

/// A run as its config asks for, without parameters.
pub fn plain(run: &str) -> StudyReading {
    let method = match run {
        "gaps-yarn" | "long-yarn" => Method::Yarn,
        "gaps-pi" => Method::Pi,
        "long-llama3" => Method::Llama3,
        run if run.starts_with("p-rope") => Method::PDrope,
        run if run.starts_with("cope") => Method::Cope,
        run if run.starts_with("all") => Method::Drope,
        run if run.starts_with("low") => Method::PDrope,
        _ => Method::Rope,
    };
    StudyReading { method, parameters: Parameters::default() }
}

#[cfg(test)]
mod tests {
    use drope_core::positions::Method;

    use super::{CURVE_RUNS, ModelName, RIVALS, UPPER_BOUNDS, millions, plain, title};

    #[test]
    fn names_say_run_budget_and_trunk() {
        let name = ModelName { run: "p-rope-keep-copies", budget: "250k", trunk: 10 };
        assert_eq!(ModelName::of("p-rope-keep-copies-250k-10"), Some(name));
        assert_eq!(ModelName::of("rope-6"), Some(ModelName { run: "rope", budget: "0m", trunk: 6 }));
        for other in ["rope-5", "all-copies-3", "all-1m-5", "all-3m-6", "all"] {
            assert_eq!(ModelName::of(other), None, "{other}");
        }
        assert_eq!(["250k", "1m", "16m"].map(millions), [0.25, 1.0, 16.0]);
        let runs = CURVE_RUNS.iter().chain(&RIVALS).chain(&UPPER_BOUNDS);
        let mut titles: Vec<String> = runs.map(|run| title(run)).collect();
        titles.sort();
        titles.dedup();
        assert_eq!(
            titles.len(),
            17,
            "keep and keep-copies stand in two lists; every run has a title of its own: {titles:?}"
        );
        let methods = ["low-copies", "cope-keep", "gaps-pi", "long-llama3", "keep"].map(|run| plain(run).method);
        assert_eq!(methods, [Method::PDrope, Method::Cope, Method::Pi, Method::Llama3, Method::Rope]);
    }
}
