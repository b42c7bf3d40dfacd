//! What the benchmark measured, as a table to send on.

use drope_core::stats::median_and_range;

/// How fast a program reads a prompt and writes behind it, round after round.
#[derive(Clone, Debug, PartialEq)]
pub struct Speed {
    /// Such as `WebGPU` or `CPU, 4 threads`.
    pub program: String,
    /// Tokens of the prompt.
    pub prompt: usize,
    /// Tokens of the prompt a second.
    pub prefill: Vec<f64>,
    /// Generated tokens a second.
    pub decode: Vec<f64>,
}

impl Speed {
    /// Program, length of the prompt, and the medians with their ranges.
    pub fn cells(&self) -> [String; 4] {
        let middle = |speeds: &[f64]| {
            let Some([median, least, most]) = median_and_range(speeds) else { return "–".to_owned() };
            format!("{median:.0} [{least:.0}, {most:.0}]")
        };
        [self.program.clone(), self.prompt.to_string(), middle(&self.prefill), middle(&self.decode)]
    }
}

/// Heads of the columns.
pub const HEADS: [&str; 4] = ["Program", "Prompt (tokens)", "Read (tokens/s)", "Written (tokens/s)"];

/// Everything in Markdown; `places` say where it was measured.
pub fn markdown(model: &str, places: &[String], speeds: &[Speed]) -> String {
    let row = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let mut text = format!("DroPE playground {}, {model}\n\n", drope_protocol::BUILD);
    for place in places {
        text += &format!("- {place}\n");
    }
    text += &format!("\n{}|{}\n", row(&HEADS.map(str::to_owned)), "---|".repeat(HEADS.len()));
    for speed in speeds {
        text += &row(&speed.cells());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{Speed, markdown};

    #[test]
    fn the_table_has_medians_and_ranges() {
        let speed = |prefill: &[f64], decode: &[f64]| Speed {
            program: "CPU, 1 thread".to_owned(),
            prompt: 1024,
            prefill: prefill.to_vec(),
            decode: decode.to_vec(),
        };
        let speeds = [speed(&[900.0, 1000.0, 700.0], &[80.4, 81.0, 79.0]), speed(&[], &[])];
        let text = markdown("nano-rope", &["Chrome 150".to_owned()], &speeds);
        assert!(text.contains("- Chrome 150\n"), "{text}");
        let rows = "| CPU, 1 thread | 1024 | 900 [700, 1000] | 80 [79, 81] |\n| CPU, 1 thread | 1024 | – | – |\n";
        assert!(text.contains(&format!("|---|---|---|---|\n{rows}")), "{text}");
    }
}
