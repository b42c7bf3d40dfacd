//! Figures 6 and 11 of the DroPE paper: what each method does to each frequency.

use anyhow::Result;
use drope_core::config::Config;
use drope_core::positions::{Encoding, Method, rope_frequencies};
use serde::Serialize;

use super::chart::{self, Axes, Series};
use super::context::ReportContext;
use super::markdown::{cells, picture, table};
use super::report::{Section, SectionText};
use super::verdict::Verdict;

const METHODS: [(&str, Method); 6] = [
    ("PI", Method::Pi),
    ("NTK", Method::Ntk),
    ("YaRN", Method::Yarn),
    ("YaRN as printed", Method::YarnAsPrinted),
    ("Llama 3", Method::Llama3),
    ("partial DroPE", Method::PDrope),
];

/// Methods that the paper shows, whose lowest frequency must be divided by s.
const COMPRESSING: [Method; 4] = [Method::Pi, Method::Ntk, Method::Yarn, Method::Llama3];

const FACTORS: [u32; 3] = [2, 4, 8];

/// How far from 1/s a frequency may lie to count as divided by s.
const TOLERANCE: f64 = 0.01;

/// What a method makes of the frequencies.
#[derive(Serialize)]
struct FrequencyRow {
    system: &'static str,
    method: Method,
    /// s.
    factor: u32,
    /// γ_m = ω'_m / ω_m, highest frequency first.
    gamma: Vec<f64>,
}

/// That scalings divide the lowest frequency by s; and that YaRN as it is printed is PI.
#[derive(Serialize)]
struct FrequencyVerdict {
    lowest_is_divided: Verdict,
    printed_yarn_is_pi: Verdict,
}

pub fn compare_frequencies(context: &ReportContext) -> Result<Section> {
    let rows = rows(&context.config("nano-rope")?)?;
    let verdict = judge(&rows);
    let (mut body, mut charts) = (String::new(), Vec::new());
    for factor in FACTORS {
        let file = format!("frequencies-{factor}x.svg");
        body.push_str(&picture(&file, &format!("γ of each pair at s = {factor}; DroPE is 0 everywhere.")));
        charts.push((file, chart_of(&rows, factor)?));
    }
    let line = |row: &FrequencyRow| {
        let pairs = row.gamma.len();
        let numbers = [0, pairs / 2, pairs - 1].map(|m| format!("{:.3}", row.gamma[m]));
        std::iter::once(row.system.to_owned()).chain(numbers).collect()
    };
    let shortest: Vec<Vec<String>> = rows.iter().filter(|row| row.factor == FACTORS[0]).map(line).collect();
    let header = cells([&format!("s = {}", FACTORS[0]), "highest frequency", "middle", "lowest"]);
    body.push_str(&table(&header, &shortest));
    let text = SectionText {
        paper: "every scaling must divide the lowest frequencies by s; PI divides all of them, NTK ever less towards the high \
            ones, YaRN leaves the high ones alone."
            .into(),
        body,
        verdict: format!(
            "That PI, NTK, YaRN and Llama 3 divide the lowest frequency by s {}, at s = {}. That the printed formula of YaRN is \
             PI {}.",
            verdict.lowest_is_divided.words(),
            FACTORS.map(|factor| factor.to_string()).join(", "),
            verdict.printed_yarn_is_pi.words()
        ),
        charts,
    };
    Section::new(&rows, &verdict, text)
}

fn rows(config: &Config) -> Result<Vec<FrequencyRow>> {
    let mut rows = Vec::new();
    for factor in FACTORS {
        for (system, method) in METHODS {
            rows.push(FrequencyRow { system, method, factor, gamma: gamma(config, method, f64::from(factor))? });
        }
    }
    Ok(rows)
}

fn gamma(config: &Config, method: Method, factor: f64) -> Result<Vec<f64>> {
    let trained = rope_frequencies(config.rope.rope_theta, config.head_dim);
    Ok(match &method.positions(config, factor)?.layer(0).encoding {
        Encoding::Rotary { inv_freq, .. } => {
            inv_freq.iter().zip(&trained).map(|(scaled, omega)| scaled / omega).collect()
        }
        _ => vec![0.0; trained.len()],
    })
}

fn judge(rows: &[FrequencyRow]) -> FrequencyVerdict {
    let verdict = |holds: bool| if holds { Verdict::Holds } else { Verdict::DoesNotHold };
    let is_divided = |row: &FrequencyRow, gamma: &f64| (gamma - 1.0 / f64::from(row.factor)).abs() < TOLERANCE;
    let mut compressing = rows.iter().filter(|row| COMPRESSING.contains(&row.method));
    let mut printed = rows.iter().filter(|row| row.method == Method::YarnAsPrinted);
    FrequencyVerdict {
        lowest_is_divided: verdict(compressing.all(|row| row.gamma.last().is_some_and(|gamma| is_divided(row, gamma)))),
        printed_yarn_is_pi: verdict(printed.all(|row| row.gamma.iter().all(|gamma| is_divided(row, gamma)))),
    }
}

fn chart_of(rows: &[FrequencyRow], factor: u32) -> Result<String> {
    let line = |row: &FrequencyRow| Series {
        name: row.system.to_owned(),
        points: (0..).map(f64::from).zip(row.gamma.iter().copied()).collect(),
    };
    let axes =
        Axes { x: "pair m, highest frequency first", y: "γ, share of the trained frequency", is_log: [false, false] };
    let lines: Vec<Series> = rows.iter().filter(|row| row.factor == factor).map(line).collect();
    chart::lines(&axes, &lines)
}

#[cfg(test)]
mod tests {
    use super::{FrequencyRow, Method, Verdict, judge};

    #[test]
    fn the_lowest_frequency_decides() {
        let row = |method, gamma: &[f64]| FrequencyRow { system: "", method, factor: 2, gamma: gamma.to_vec() };
        let verdict = judge(&[row(Method::Ntk, &[1.0, 0.5]), row(Method::YarnAsPrinted, &[0.5, 0.5])]);
        assert_eq!((verdict.lowest_is_divided, verdict.printed_yarn_is_pi), (Verdict::Holds, Verdict::Holds));
        let verdict = judge(&[row(Method::Ntk, &[0.5, 0.7]), row(Method::YarnAsPrinted, &[1.0, 0.5])]);
        assert_eq!(
            (verdict.lowest_is_divided, verdict.printed_yarn_is_pi),
            (Verdict::DoesNotHold, Verdict::DoesNotHold)
        );
    }
}
