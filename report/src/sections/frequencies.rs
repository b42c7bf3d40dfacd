//! Figures 6 and 11 of the DroPE paper: what each method does to each frequency.

use anyhow::Result;
use drope_core::config::Config;
use drope_core::positions::{Encoding, Method, rope_frequencies};

use super::Section;
use crate::markdown::{line, picture, table};
use crate::plot;
use crate::results::Results;
use crate::verdict::Verdict;

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
struct FrequencyRow {
    name: &'static str,
    method: Method,
    /// s.
    factor: u32,
    /// γ_m = ω'_m / ω_m, highest frequency first.
    gamma: Vec<f64>,
}

pub fn compare_frequencies(results: &Results) -> Result<Option<Section>> {
    let config = results.model("nano-rope")?.config()?;
    let rows = FACTORS.iter().flat_map(|&factor| METHODS.map(|(name, method)| (name, method, factor)));
    let row = |(name, method, factor)| {
        Ok(FrequencyRow { name, method, factor, gamma: gamma(&config, method, f64::from(factor))? })
    };
    let rows: Vec<FrequencyRow> = rows.map(row).collect::<Result<_>>()?;
    let file = |factor: u32| format!("frequencies-{factor}x.svg");
    let picture = |factor| picture(&file(factor), &format!("γ of each pair at s = {factor}; DroPE is 0 everywhere."));
    let curves = |factor: u32| {
        let of_factor = rows.iter().filter(|row| row.factor == factor);
        let curve =
            |row: &FrequencyRow| (row.name.to_owned(), (0..).map(f64::from).zip(row.gamma.iter().copied()).collect());
        let (x, y) = ("pair m, highest frequency first", "γ, share of the trained frequency");
        (file(factor), plot::curves(x, y, [false, false], of_factor.map(curve)))
    };
    let lines = rows.iter().filter(|row| row.factor == FACTORS[0]).map(|row| {
        let pairs = row.gamma.len();
        line(row.name, [0, pairs / 2, pairs - 1].map(|m| format!("{:.3}", row.gamma[m])))
    });
    let header = [&format!("s = {}", FACTORS[0]), "highest frequency", "middle", "lowest"];
    let [lowest_is_divided, printed_yarn_is_pi] = judge(&rows).map(Verdict::words);
    Ok(Some(Section {
        paper: "every scaling must divide the lowest frequencies by s; PI divides all of them, NTK ever less towards the high \
                ones, YaRN leaves the high ones alone."
            .into(),
        body: format!("{}{}", FACTORS.map(picture).concat(), table(header, lines)),
        verdict: format!(
            "That PI, NTK, YaRN and Llama 3 divide the lowest frequency by s {lowest_is_divided}, at s = {}. That the printed \
             formula of YaRN is PI {printed_yarn_is_pi}.",
            FACTORS.map(|factor| factor.to_string()).join(", ")
        ),
        charts: FACTORS.map(curves).into(),
    }))
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

/// That scalings divide the lowest frequency by s; and that YaRN as it is printed is PI.
fn judge(rows: &[FrequencyRow]) -> [Verdict; 2] {
    let is_divided = |row: &FrequencyRow, gamma: &f64| (gamma - 1.0 / f64::from(row.factor)).abs() < TOLERANCE;
    let mut compressing = rows.iter().filter(|row| COMPRESSING.contains(&row.method));
    let mut printed = rows.iter().filter(|row| row.method == Method::YarnAsPrinted);
    [
        Verdict::of(compressing.all(|row| row.gamma.last().is_some_and(|gamma| is_divided(row, gamma)))),
        Verdict::of(printed.all(|row| row.gamma.iter().all(|gamma| is_divided(row, gamma)))),
    ]
}

#[cfg(test)]
mod tests {
    use super::{FrequencyRow, Method, Verdict, judge};

    #[test]
    fn the_lowest_frequency_decides() {
        let row = |method, gamma: &[f64]| FrequencyRow { name: "", method, factor: 2, gamma: gamma.to_vec() };
        let rows = [row(Method::Ntk, &[1.0, 0.5]), row(Method::YarnAsPrinted, &[0.5, 0.5])];
        assert_eq!(judge(&rows), [Verdict::Holds; 2]);
        let rows = [row(Method::Ntk, &[0.5, 0.7]), row(Method::YarnAsPrinted, &[1.0, 0.5])];
        assert_eq!(judge(&rows), [Verdict::DoesNotHold; 2]);
    }
}
