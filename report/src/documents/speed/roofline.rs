//! How much of a machine reading and training use, from the results of bench/roofline.py.

use serde::Deserialize;

use super::aims::Measured;
use super::rounds::{distinct, of_threads, range};
use crate::markdown::{DASH, list, section, table};

/// A model on one number of threads of one processor; lists have a value of each round.
#[derive(Clone, Deserialize)]
pub struct Roofline {
    processor: String,
    model: String,
    weights: String,
    threads: usize,
    /// Billions of operations a second.
    gigaflops: Vec<f64>,
    /// Billions of bytes a second.
    gigabytes: Vec<f64>,
    prompt: Vec<Share>,
    generation: Vec<Share>,
    training: Option<Vec<Share>>,
}

/// A speed, and how much of the machine's it takes.
#[derive(Clone, Deserialize)]
struct Share {
    tokens_per_second: f64,
    share: f64,
}

impl Roofline {
    /// What it measures, by name.
    fn works(&self) -> [(&'static str, &[Share]); 3] {
        let training = self.training.as_deref().unwrap_or_default();
        [("prompt", &self.prompt), ("generation", &self.generation), ("update", training)]
    }
}

/// The section; nothing where there are no results.
pub fn text(rooflines: &[Roofline]) -> String {
    if rooflines.is_empty() {
        return String::new();
    }
    let row = |roofline: &Roofline| {
        let shares = roofline.works().map(|(_, shares)| percent(shares));
        let numbers = [&roofline.gigaflops, &roofline.gigabytes].map(|numbers| format!("{:.0}", range(numbers)[0]));
        let place = [&roofline.processor, &roofline.model, &roofline.weights].map(String::clone);
        place.into_iter().chain([roofline.threads.to_string()]).chain(numbers).chain(shares).collect::<Vec<String>>()
    };
    section(
        "How much of the machine is used",
        &format!(
            "`python bench/roofline.py`, medians and ranges of {} rounds. Products: multiplications and additions of f32 a second in registers; \
             reading: from memory. Shares: of products, what a prompt and an update need by count; of reading, the weights, keys and values that \
             a generated token needs. Weights in 4 bits are multiplied as integers, so that a prompt may take more than all; a model that \
             fits the caches may read faster than memory.\n\n{}\n{}",
            list(&distinct(rooflines, |roofline| roofline.prompt.len().to_string())),
            table(
                ["processor", "model", "weights", "threads", "GFLOP/s", "GB/s", "prompt", "generation", "update"],
                rooflines.iter().map(row)
            ),
            threads(rooflines)
        ),
    )
}

/// Shares of products in prompts, of reading in generation, and of products in updates.
pub fn shares(rooflines: &[Roofline]) -> [Vec<Measured>; 3] {
    [0, 1, 2].map(|work| {
        let measured = |roofline: &Roofline| {
            let (_, shares) = roofline.works()[work];
            let Roofline { processor, model, weights, threads, .. } = roofline;
            (!shares.is_empty()).then(|| Measured {
                place: format!("{processor}, {model}, weights {weights}, {}", of_threads(*threads)),
                value: range(&of_machine(shares))[0],
                text: percent(shares),
            })
        };
        rooflines.iter().filter_map(measured).collect()
    })
}

fn of_machine(shares: &[Share]) -> Vec<f64> {
    shares.iter().map(|share| share.share).collect()
}

fn percent(shares: &[Share]) -> String {
    if shares.is_empty() {
        return DASH.to_owned();
    }
    let [median, low, high] = range(&of_machine(shares)).map(|share| 100.0 * share);
    format!("{median:.0} % [{low:.0}, {high:.0}]")
}

/// What a second thread gains, and what 16 would gain if all that it does not share took as long as on one (Amdahl 1967).
fn threads(rooflines: &[Roofline]) -> String {
    let place = |roofline: &Roofline| [&roofline.processor, &roofline.model, &roofline.weights].map(String::clone);
    let mut rows = Vec::new();
    for two in rooflines.iter().filter(|roofline| roofline.threads == 2) {
        let one = rooflines.iter().find(|one| one.threads == 1 && place(one) == place(two));
        let Some(one) = one else { continue };
        for ((work, of_one), (_, of_two)) in one.works().into_iter().zip(two.works()) {
            if of_one.is_empty() {
                continue;
            }
            let gain = speed(of_two) / speed(of_one);
            let serial = (2.0 / gain - 1.0).clamp(0.0, 1.0);
            let gain_of_16 = 1.0 / (serial + (1.0 - serial) / 16.0);
            let numbers = [format!("{gain:.2}"), format!("{:.0} %", 100.0 * serial), format!("{gain_of_16:.1}")];
            rows.push(place(two).into_iter().chain([work.to_owned()]).chain(numbers).collect::<Vec<String>>());
        }
    }
    if rows.is_empty() {
        return String::new();
    }
    let header = ["processor", "model", "weights", "work", "gain of 2 threads", "not shared", "gain of 16, on paper"];
    format!(
        "Tokens a second on two threads by those on one. What they do not share follows from that, and what 16 threads would gain if it \
         took as long on one of them; memory, which all share, may run out before.\n\n{}",
        table(header, rows)
    )
}

/// Tokens a second, the median.
fn speed(shares: &[Share]) -> f64 {
    range(&shares.iter().map(|share| share.tokens_per_second).collect::<Vec<_>>())[0]
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Roofline, text};

    #[test]
    fn shares_and_the_gain_of_threads_are_told() {
        let measured = |threads: usize, generation: f64| -> Roofline {
            let share = |tokens_per_second: f64| json!([{"tokens_per_second": tokens_per_second, "share": 0.5}]);
            let json = json!({"processor": "P", "model": "m", "weights": "f32", "threads": threads, "gigaflops": [270.0],
                "gigabytes": [38.0], "prompt": share(100.0 * threads as f64), "generation": share(generation), "training": null});
            serde_json::from_value(json).unwrap()
        };
        let text = text(&[measured(1, 30.0), measured(2, 40.0)]);
        assert!(text.contains("| P | m | f32 | 1 | 270 | 38 | 50 % [50, 50] | 50 % [50, 50] | – |"), "{text}");
        assert!(text.contains("| P | m | f32 | prompt | 2.00 | 0 % | 16.0 |"), "{text}");
        // Two threads gain a third: half is not shared.
        assert!(text.contains("| P | m | f32 | generation | 1.33 | 50 % | 1.9 |"), "{text}");
    }
}
