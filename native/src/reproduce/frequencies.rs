//! Figures 6 and 11 of the DroPE paper: what each method does to each frequency.

use anyhow::Result;
use drope_core::config::Config;
use drope_core::positions::{Encoding, Method, rope_frequencies};
use serde_json::json;

use super::chart::{self, Axes, Series};
use super::context::ReportContext;
use super::report::{Section, picture, table};

const METHODS: [(&str, Method); 6] = [
    ("PI", Method::Pi),
    ("NTK", Method::Ntk),
    ("YaRN", Method::Yarn),
    ("YaRN as printed", Method::YarnAsPrinted),
    ("Llama 3", Method::Llama3),
    ("partial DroPE", Method::PDrope),
];

pub fn section(context: &ReportContext) -> Result<Option<Section>> {
    let config = context.config("nano-rope")?;
    let (mut body, mut charts, mut numbers) = (String::new(), Vec::new(), Vec::new());
    for factor in [2, 4, 8] {
        let mut lines = Vec::new();
        for (name, method) in METHODS {
            let gammas = gammas(&config, method, f64::from(factor))?;
            numbers.push(json!({ "method": method.name(), "factor": factor, "gamma": gammas }));
            lines.push(Series { name: name.to_owned(), points: (0..).map(f64::from).zip(gammas).collect() });
        }
        let axes = Axes {
            x: "pair m, highest frequency first",
            y: "γ, share of the trained frequency",
            is_log: [false, false],
        };
        let file = format!("frequencies-{factor}x.svg");
        body.push_str(&picture(&file, &format!("γ of each pair at s = {factor}; DroPE is 0 everywhere.")));
        charts.push((file, chart::lines(&axes, &lines)?));
    }
    let half = config.head_dim / 2;
    let row = |(name, method): &(&str, Method)| -> Result<Vec<String>> {
        let gammas = gammas(&config, *method, 2.0)?;
        let number = |m: usize| format!("{:.3}", gammas[m]);
        Ok(vec![(*name).to_owned(), number(0), number(half / 2), number(half - 1)])
    };
    let header = ["s = 2", "highest frequency", "middle", "lowest"].map(str::to_owned);
    body.push_str(&table(&header, &METHODS.iter().map(row).collect::<Result<Vec<_>>>()?));
    let lowest = |method| -> Result<f64> { Ok(gammas(&config, method, 2.0)?[half - 1]) };
    let compressed = [Method::Pi, Method::Ntk, Method::Yarn, Method::Llama3];
    let all = compressed.into_iter().map(lowest).collect::<Result<Vec<_>>>()?;
    let holds = all.iter().all(|gamma| (gamma - 0.5).abs() < 0.01);
    Ok(Some(Section {
        title: "Scaling of the frequencies (DroPE paper, figures 6 and 11)",
        paper: "every scaling must divide the lowest frequencies by s; PI divides all of them, NTK ever less towards the high \
            ones, YaRN leaves the high ones alone."
            .into(),
        body,
        verdict: format!(
            "The paper's picture {} by PI, NTK, YaRN and Llama 3. Its printed formula of YaRN equals PI.",
            if holds { "holds: at s = 2 the lowest frequency is halved" } else { "does not hold: the lowest frequency is not halved" }
        ),
        numbers: json!(numbers),
        charts,
    }))
}

/// γ_m = ω'_m / ω_m.
fn gammas(config: &Config, method: Method, factor: f64) -> Result<Vec<f64>> {
    let trained = rope_frequencies(config.rope.rope_theta, config.head_dim);
    Ok(match &method.positions(config, factor)?.layer(0).encoding {
        Encoding::Rotary { inv_freq, .. } => {
            inv_freq.iter().zip(&trained).map(|(scaled, omega)| scaled / omega).collect()
        }
        _ => vec![0.0; trained.len()],
    })
}
