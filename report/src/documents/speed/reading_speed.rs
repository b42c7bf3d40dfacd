//! How fast a real model is read beside PyTorch and llama.cpp, from the results of bench/real.py.

use serde::Deserialize;

use super::aims::Measured;
use super::rounds::{beside, both_beside, distinct, of_threads, range, ratios};
use crate::markdown::{list, section, table};

/// A program with weights of some bits, on one number of threads of one processor.
#[derive(Clone, Deserialize)]
pub struct ReadingSpeed {
    processor: String,
    bits: usize,
    threads: usize,
    program: String,
    /// Of PyTorch or llama.cpp.
    version: Option<String>,
    /// Tokens a second of each round.
    prompt: Vec<f64>,
    generation: Vec<f64>,
    peak_bytes: f64,
    /// When its run began, of later results.
    #[serde(default)]
    began: Option<String>,
}

/// The program of this project. What is behind it names a form that is not the default.
const CORE: &str = "core";

impl ReadingSpeed {
    fn is_core(&self) -> bool {
        self.program.starts_with(CORE)
    }

    fn speeds(&self) -> [&[f64]; 2] {
        [&self.prompt, &self.generation]
    }

    fn place(&self) -> (&str, usize, usize) {
        (&self.processor, self.bits, self.threads)
    }
}

/// What `core` did in the place of another program.
fn ours<'a>(speeds: &'a [ReadingSpeed], other: &ReadingSpeed) -> Option<&'a ReadingSpeed> {
    speeds.iter().find(|ours| ours.program == CORE && ours.place() == other.place())
}

/// The speed of `core`, in each form in which it was measured, by that of llama.cpp on a prompt and in generation, with weights in fewer bits.
pub fn beside_llama_cpp(speeds: &[ReadingSpeed]) -> [Vec<Measured>; 2] {
    let of_llama_cpp = speeds.iter().filter(|speed| speed.program == "llama.cpp" && speed.bits < 32);
    let is_ours = |ours: &&ReadingSpeed, theirs: &ReadingSpeed| ours.is_core() && ours.place() == theirs.place();
    let forms = |theirs| speeds.iter().filter(move |ours| is_ours(ours, theirs)).map(move |ours| (ours, theirs));
    let pairs: Vec<_> = of_llama_cpp.flat_map(forms).collect();
    [0, 1].map(|work| {
        let measured = |(ours, theirs): &(&ReadingSpeed, &ReadingSpeed)| {
            let [by_ours, by] = [ours, theirs].map(|speed| speed.speeds()[work]);
            Measured {
                place: format!(
                    "{}, {} bits, {}{}",
                    theirs.processor,
                    theirs.bits,
                    of_threads(theirs.threads),
                    ours.program.trim_start_matches(CORE)
                ),
                value: range(&ratios(by_ours, by))[0],
                text: beside(by_ours, by),
            }
        };
        // Few tokens are computed as in f32 (`ComputeType`), so that generation in bf16 is the same once more.
        let is_of_its_own = |(ours, _): &&(&ReadingSpeed, &ReadingSpeed)| work == 0 || ours.program == CORE;
        pairs.iter().filter(is_of_its_own).map(measured).collect()
    })
}

/// The section; nothing where there are no results.
pub fn text(speeds: &[ReadingSpeed]) -> String {
    if speeds.is_empty() {
        return String::new();
    }
    let row = |speed: &ReadingSpeed| {
        let ours = ours(speeds, speed).filter(|_| speed.program != CORE).map(ReadingSpeed::speeds);
        let [prompt, generation] = both_beside(ours, speed.speeds());
        vec![
            speed.processor.clone(),
            speed.bits.to_string(),
            speed.threads.to_string(),
            speed.program.clone(),
            format!("{:.0}", range(&speed.prompt)[0]),
            format!("{:.0}", range(&speed.generation)[0]),
            prompt,
            generation,
            format!("{:.0}", speed.peak_bytes / 1e6),
        ]
    };
    let versions = |program: &str| {
        let of_program: Vec<ReadingSpeed> =
            speeds.iter().filter(|speed| speed.program.starts_with(program)).cloned().collect();
        list(&distinct(&of_program, |speed| speed.version.clone().unwrap_or_default()))
    };
    let has_copy = |speed: &ReadingSpeed| speed.program == "llama.cpp" && speed.began.is_none();
    let with_copy = if speeds.iter().any(has_copy) {
        " llama.cpp's memory, in results from before 28 November 2026, is that of both forms of attention in one process, with a second copy of \
         keys and values, which its benchmark makes; `bench/readers.py` measures one form without the copy since."
    } else {
        ""
    };
    section(
        "Speed",
        &format!(
            "`python bench/real.py`: a prompt of 2,048 tokens and 64 tokens behind it, tokens a second, medians of {} rounds in which every \
             program runs once; `core`'s speed by that of another program in the same round, median and range; and the most memory that a \
             process took. PyTorch ({}) is transformers' model, llama.cpp ({}) was compiled on the machine; of \
             its two forms of attention the default counts, on Intel's processors the faster one. *core, bf16*: prompts computed by tiles for bf16 (`--compute bf16`). Weights of 32 bits; of 8, rounded \
             from these (Q8_0); of 4, as the file has them (Q4_1). Keys and values have 16 bits, in PyTorch 32, where transformers' default cache grows with each token.{with_copy}\n\n{}",
            list(&distinct(speeds, |speed| speed.prompt.len().to_string())),
            versions("PyTorch"),
            versions("llama.cpp"),
            table(
                [
                    "processor",
                    "bits",
                    "threads",
                    "program",
                    "prompt",
                    "generation",
                    "core ÷ this program, prompt",
                    "core ÷ this program, generation",
                    "memory (MB)"
                ],
                speeds.iter().map(row)
            )
        ),
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Measured, ReadingSpeed, beside_llama_cpp, text};

    #[test]
    fn programs_are_compared_round_by_round_with_the_same_bits_and_threads() {
        let speed = |program: &str, bits: usize, prompt: [f64; 3]| -> ReadingSpeed {
            let json = json!({"processor": "P", "bits": bits, "threads": 1, "program": program, "version": "7", "prompt": prompt,
                "generation": [50.0, 50.0, 50.0], "peak_bytes": 2e8});
            serde_json::from_value(json).unwrap()
        };
        let speeds = [
            speed("core", 4, [900.0, 900.0, 900.0]),
            speed("core", 8, [300.0, 200.0, 400.0]),
            speed("llama.cpp", 8, [200.0, 200.0, 200.0]),
            speed("core, bf16", 8, [500.0, 500.0, 500.0]),
        ];
        let text = text(&speeds);
        assert!(text.contains("| P | 8 | 1 | core | 300 | 50 | – | – | 200 |"), "{text}");
        assert!(
            text.contains("| P | 8 | 1 | llama.cpp | 200 | 50 | 1.50 [1.00, 2.00] | 1.00 [1.00, 1.00] | 200 |"),
            "{text}"
        );
        let [prompt, _] = beside_llama_cpp(&speeds);
        let of = |form: &Measured| (form.place.clone(), form.text.clone());
        let expected =
            [("P, 8 bits, 1 thread", "1.50 [1.00, 2.00]"), ("P, 8 bits, 1 thread, bf16", "2.50 [2.50, 2.50]")];
        assert!(prompt.iter().map(of).eq(expected.map(|(place, text)| (place.to_owned(), text.to_owned()))));
        assert!(text.contains("medians of 3 rounds") && text.contains("llama.cpp (7)"), "{text}");
    }
}
