//! How fast a real model is read on the page beside wllama and transformers.js, from the results of bench/browser.py.

use serde::Deserialize;

use super::aims::Measured;
use super::rounds::{both_beside, of_threads, range};
use crate::markdown::{or_dash, section, table};

/// A program in the browser, with a prompt of one length, on one number of threads of one processor.
#[derive(Deserialize)]
pub struct BrowserSpeed {
    processor: String,
    program: String,
    /// Of wllama or transformers.js.
    version: Option<String>,
    /// Of weights.
    bits: usize,
    threads: usize,
    /// Tokens of the prompt.
    length: usize,
    /// Tokens a second of each round.
    prompt: Vec<f64>,
    generation: Vec<f64>,
    /// Why it has no speeds.
    error: Option<String>,
    /// What was measured, and when that began, of later results.
    commit: Option<String>,
    began: Option<String>,
}

impl BrowserSpeed {
    fn is_page(&self) -> bool {
        self.program == "page"
    }

    fn speeds(&self) -> [&[f64]; 2] {
        [&self.prompt, &self.generation]
    }

    fn run(&self) -> [&Option<String>; 2] {
        [&self.commit, &self.began]
    }

    fn place(&self) -> (&str, usize, usize, usize) {
        (&self.processor, self.length, self.bits, self.threads)
    }
}

/// The section; nothing where there are no results.
pub fn text(speeds: &[BrowserSpeed]) -> String {
    if speeds.is_empty() {
        return String::new();
    }
    let row = |speed: &BrowserSpeed| {
        let page = speeds.iter().find(|page| page.is_page() && page.place() == speed.place());
        // Results of two commits, or times, are not of one run.
        let has_run_beside =
            |page: &&BrowserSpeed| page.run() == speed.run() && !speed.is_page() && speed.error.is_none();
        let page = page.filter(has_run_beside).map(BrowserSpeed::speeds);
        let [prompt, generation] = both_beside(page, speed.speeds());
        vec![
            speed.processor.clone(),
            speed.length.to_string(),
            speed.bits.to_string(),
            speed.threads.to_string(),
            speed.prompt.len().to_string(),
            format!("{} {}", speed.program, speed.version.as_deref().unwrap_or_default()).trim_end().to_owned(),
            speed.error.clone().unwrap_or_else(|| format!("{:.0}", range(&speed.prompt)[0])),
            or_dash(speed.error.is_none().then(|| format!("{:.0}", range(&speed.generation)[0]))),
            prompt,
            generation,
        ]
    };
    let is_shorter = |speed: &BrowserSpeed| !speed.is_page() && speed.began.is_none();
    let of_earlier_results = if speeds.iter().any(is_shorter) {
        "; in results from before 28 November 2026 the page alone did, and others with its first 1,024 tokens or fewer"
    } else {
        ""
    };
    let measured = format!(
        "`python bench/browser.py`, in one headless Chromium, WebAssembly on the CPU: a prompt of some tokens, and an answer behind it \
         (the page's of at most 7 tokens, the others' of 32); tokens a second, medians of rounds in which every program runs once; the \
         page's speed by that of another program in the same round, median and range, or – if they did not run in the same rounds. Every \
         program warms up with the whole prompt, transformers.js with at most 4,096 tokens of it{of_earlier_results}. Minutes \
         without an answer include the warm-up.\n\n{}",
        table(
            [
                "processor",
                "tokens",
                "bits",
                "threads",
                "rounds",
                "program",
                "prompt",
                "generation",
                "page ÷ this program, prompt",
                "page ÷ this program, generation"
            ],
            speeds.iter().map(row)
        )
    );
    section("Speed in the browser", &measured)
}

/// How much of its speed on its shortest prompt the page keeps on its longest.
pub fn of_long_prompts(speeds: &[BrowserSpeed]) -> Vec<Measured> {
    let mut of_page: Vec<&BrowserSpeed> = speeds.iter().filter(|speed| speed.is_page()).collect();
    let machine = |speed: &BrowserSpeed| (speed.processor.clone(), speed.bits, speed.threads);
    of_page.sort_by_key(|speed| (machine(speed), speed.length));
    let kept = |lengths: &[&BrowserSpeed]| {
        let [shortest, .., longest] = lengths else { return None };
        let [of_short, of_long] = [shortest, longest].map(|speed| range(&speed.prompt)[0]);
        let BrowserSpeed { processor, bits, threads, length, .. } = longest;
        Some(Measured {
            place: format!("{processor}, {bits} bits, {}, {length} tokens", of_threads(*threads)),
            value: of_long / of_short,
            text: {
                let of_runs = if shortest.run() == longest.run() { "" } else { ", of another run" };
                format!("{:.0} % of the speed on {}{of_runs}", 100.0 * of_long / of_short, shortest.length)
            },
        })
    };
    of_page.chunk_by(|a, b| machine(a) == machine(b)).filter_map(kept).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{BrowserSpeed, of_long_prompts, text};

    #[test]
    fn programs_are_compared_at_one_length_and_the_page_with_itself() {
        let speed = |program: &str, length: usize, prompt: [f64; 3]| -> BrowserSpeed {
            let json = json!({"processor": "P", "program": program, "version": (program != "page").then_some("7"), "bits": 8,
                "threads": 2, "length": length, "prompt": prompt, "generation": [20.0, 20.0, 20.0]});
            serde_json::from_value(json).unwrap()
        };
        let speeds = [
            speed("page", 1024, [300.0, 200.0, 400.0]),
            speed("wllama", 1024, [100.0, 100.0, 100.0]),
            speed("page", 4096, [150.0, 180.0, 120.0]),
            BrowserSpeed {
                prompt: Vec::new(),
                generation: Vec::new(),
                error: Some("out of memory".to_owned()),
                ..speed("wllama", 4096, [0.0; 3])
            },
            speed("page", 8192, [70.0, 90.0, 80.0]),
            BrowserSpeed { commit: Some("later".to_owned()), ..speed("wllama", 8192, [40.0, 40.0, 40.0]) },
        ];
        let text = text(&speeds);
        assert!(
            text.contains("| P | 1024 | 8 | 2 | 3 | wllama 7 | 100 | 20 | 3.00 [2.00, 4.00] | 1.00 [1.00, 1.00] |"),
            "{text}"
        );
        assert!(text.contains("| P | 4096 | 8 | 2 | 3 | page | 150 | 20 | – | – |"), "{text}");
        assert!(text.contains("| P | 4096 | 8 | 2 | 0 | wllama 7 | out of memory | – | – | – |"), "{text}");
        assert!(text.contains("| P | 8192 | 8 | 2 | 3 | wllama 7 | 40 | 20 | – | – |"), "{text}");
        let [kept] = &of_long_prompts(&speeds)[..] else { panic!("one machine") };
        assert_eq!((&*kept.place, &*kept.text), ("P, 8 bits, 2 threads, 8192 tokens", "27 % of the speed on 1024"));
    }
}
