//! What keeping keys and values in fewer bits costs and saves, from the results of bench/cache.py.

use serde::Deserialize;

use super::rounds::{both_beside, distinct, range};
use crate::markdown::{list, or_dash, section, table};

/// A program that keeps keys and values in a type, on one number of threads of one processor.
#[derive(Deserialize)]
pub struct CacheCost {
    processor: String,
    threads: usize,
    /// Tokens of the prompt.
    prompt_tokens: usize,
    program: String,
    cache: String,
    /// Of llama.cpp.
    version: Option<String>,
    /// Tokens a second of each round.
    prompt: Vec<f64>,
    generation: Vec<f64>,
    peak_bytes: f64,
    #[serde(flatten)]
    loss: Option<Loss>,
}

/// Of several texts.
#[derive(Deserialize)]
struct Loss {
    length: usize,
    texts: usize,
    perplexity: f64,
    ci95: [f64; 2],
}

impl CacheCost {
    fn speeds(&self) -> [&[f64]; 2] {
        [&self.prompt, &self.generation]
    }

    fn place(&self) -> (&str, usize) {
        (&self.processor, self.threads)
    }
}

/// The section; nothing where there are no results.
pub fn text(costs: &[CacheCost]) -> String {
    let Some(first) = costs.first() else { return String::new() };
    let row = |cost: &CacheCost| {
        let is_same =
            |ours: &&CacheCost| ours.program == "core" && ours.cache == cost.cache && ours.place() == cost.place();
        let ours = costs.iter().find(is_same).filter(|_| cost.program != "core").map(CacheCost::speeds);
        let [prompt, generation] = both_beside(ours, cost.speeds());
        let perplexity = |loss: &Loss| format!("{:.3} [{:.3}, {:.3}]", loss.perplexity, loss.ci95[0], loss.ci95[1]);
        vec![
            cost.processor.clone(),
            cost.threads.to_string(),
            cost.program.clone(),
            cost.cache.clone(),
            format!("{:.0}", range(&cost.prompt)[0]),
            format!("{:.0}", range(&cost.generation)[0]),
            prompt,
            generation,
            format!("{:.0}", cost.peak_bytes / 1e6),
            or_dash(cost.loss.as_ref().map(perplexity)),
        ]
    };
    let of_texts = costs.iter().find_map(|cost| cost.loss.as_ref());
    let of_texts = of_texts.map_or(String::new(), |loss| {
        format!(" Perplexity of Django's manual, {} texts of {} tokens.", loss.texts, loss.length)
    });
    let versions = distinct(costs, |cost| cost.version.clone().unwrap_or_default());
    let versions: Vec<String> = versions.into_iter().filter(|version| !version.is_empty()).collect();
    let measured = format!(
        "`python bench/cache.py`: keys and values in fewer bits (`--cache`) behind a prompt of {} tokens, with weights in 8 bits (Q8_0 in \
         llama.cpp, {}); tokens a second, {} in which every program runs once; `core`'s speed by llama.cpp's with the same \
         type in the same round, median and range; and the most memory that a process took.{of_texts}\n\n{}",
        first.prompt_tokens,
        list(&versions),
        list(&distinct(costs, |cost| match cost.prompt.len() {
            1 => "of one round".to_owned(),
            rounds => format!("medians of {rounds} rounds"),
        })),
        table(
            [
                "processor",
                "threads",
                "program",
                "keys and values",
                "prompt",
                "generation",
                "core ÷ this program, prompt",
                "core ÷ this program, generation",
                "memory (MB)",
                "perplexity"
            ],
            costs.iter().map(row)
        )
    );
    section("The cache in fewer bits", &measured)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{CacheCost, text};

    #[test]
    fn a_type_of_keys_and_values_is_compared_with_the_same_one_of_llama_cpp() {
        let row = |program: &str, cache: &str, prompt: [f64; 3], loss: Value| -> CacheCost {
            let mut row = json!({"processor": "P", "threads": 2, "prompt_tokens": 16384, "program": program, "cache": cache,
                "version": (program != "core").then_some("build 7"), "prompt": prompt, "generation": [9.8, 9.8, 9.8], "peak_bytes": 4e8});
            row.as_object_mut().unwrap().extend(loss.as_object().unwrap().clone());
            serde_json::from_value(row).unwrap()
        };
        let loss = json!({"length": 8192, "texts": 4, "perplexity": 9.5, "ci95": [8, 11]});
        let costs = [
            row("core", "q8", [99.7, 90.0, 110.0], loss.clone()),
            row("core", "f16", [100.0, 120.0, 90.0], loss),
            row("llama.cpp", "f16", [50.0, 40.0, 60.0], json!({})),
        ];
        let text = text(&costs);
        assert!(text.contains("behind a prompt of 16384 tokens") && text.contains("4 texts of 8192 tokens."), "{text}");
        assert!(text.contains("| P | 2 | core | q8 | 100 | 10 | – | – | 400 | 9.500 [8.000, 11.000] |"), "{text}");
        assert!(
            text.contains("| P | 2 | llama.cpp | f16 | 50 | 10 | 2.00 [1.50, 3.00] | 1.00 [1.00, 1.00] | 400 | – |"),
            "{text}"
        );
    }
}
