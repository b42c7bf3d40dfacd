//! How much of a machine reading and training use, from the results of bench/roofline.py.

use serde::Deserialize;

use super::aims::Measured;
use super::rounds::{beside, distinct, of_threads, range};
use crate::markdown::{DASH, list, or_dash, section, table};

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
    /// When its run began, of later results.
    #[serde(default)]
    began: Option<String>,
}

/// A speed, and how much of the machine's it takes.
#[derive(Clone, Deserialize)]
struct Share {
    tokens_per_second: f64,
    share: f64,
    /// The share of the time that more threads would not share; of one thread.
    #[serde(default)]
    serial: Option<f64>,
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
        let place = [roofline.processor.clone(), roofline.model.clone(), weights(roofline)];
        place.into_iter().chain([roofline.threads.to_string()]).chain(numbers).chain(shares).collect::<Vec<String>>()
    };
    section(
        "How much of the machine is used",
        &format!(
            "`python bench/roofline.py`, medians and ranges of {} rounds. Products: multiplications and additions of f32 a second in registers; \
             bandwidth: bytes read from memory. Shares: of the products, what a prompt and an update need by count; of the bandwidth, the weights, keys and \
             values that a generated token needs. Weights in 8 and 4 bits are multiplied as integers, and with AMX all weights in pieces of bf16, so that a prompt may exceed 100 %; a model that \
             fits the caches, as nano-rope does, may read faster than memory.\n\n{}\n{}",
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
            let Roofline { processor, model, threads, .. } = roofline;
            let weights = weights(roofline);
            (!shares.is_empty()).then(|| Measured {
                place: format!("{processor}, {model} in {weights}, {}", of_threads(*threads)),
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

/// What a second thread gains, and what two and 16 would gain at most: by the measured share of the time that no other thread takes
/// (Amdahl 1967), and in generation by what memory gives.
fn threads(rooflines: &[Roofline]) -> String {
    let place = |roofline: &Roofline| [&roofline.processor, &roofline.model].map(String::clone);
    let is_same = |one: &Roofline, two: &Roofline| {
        place(one) == place(two) && one.weights == two.weights && one.began == two.began
    };
    let mut rows = Vec::new();
    for two in rooflines.iter().filter(|roofline| roofline.threads == 2) {
        let one = rooflines.iter().find(|one| one.threads == 1 && is_same(one, two));
        let Some(one) = one else { continue };
        for ((work, of_one), (_, of_two)) in one.works().into_iter().zip(two.works()) {
            if of_one.is_empty() {
                continue;
            }
            let memory = if work == "generation" { gain_of_memory(one, two) } else { None };
            let serials: Option<Vec<f64>> = of_one.iter().map(|share| share.serial).collect();
            let serial = serials.map(|serials| range(&serials)[0]);
            let at_most = |threads: f64| {
                let by_work = 1.0 / (serial? + (1.0 - serial?) / threads);
                Some(format!("{:.1}", memory.map_or(by_work, |memory| memory.min(by_work))))
            };
            let speeds = [of_one, of_two].map(|shares| format!("{:.0}", range(&speeds_of(shares))[0]));
            let gain = beside(&speeds_of(of_two), &speeds_of(of_one));
            let numbers = [
                gain,
                or_dash(serial.map(|serial| format!("{:.0} %", 100.0 * serial))),
                or_dash(memory.map(|memory| format!("{memory:.1}"))),
                or_dash(at_most(2.0)),
                or_dash(at_most(16.0)),
            ];
            let names = [weights(two), work.to_owned()];
            rows.push(place(two).into_iter().chain(names).chain(speeds).chain(numbers).collect::<Vec<String>>());
        }
    }
    if rows.is_empty() {
        return String::new();
    }
    let header = [
        "processor",
        "model",
        "weights",
        "work",
        "1 thread",
        "2 threads",
        "gain",
        "not shared",
        "memory allows",
        "2 at most",
        "16 at most",
    ];
    format!(
        "Tokens a second on one thread and on two, and the gain, round by round. *Not shared*: of the time on one thread, what other threads \
         cannot take, measured. *Memory allows*: by how much generation could gain until all is read as fast as by two threads that do nothing \
         else; not of a model that fits the caches. *At most*: what follows for 2 and, on paper, 16 threads (Amdahl 1967).\n\n{}",
        table(header, rows)
    )
}

/// How much faster memory is read by two threads than generation reads it on one; `None` of a model that one reads from caches.
fn gain_of_memory(one: &Roofline, two: &Roofline) -> Option<f64> {
    let share = range(&of_machine(&one.generation))[0];
    (share < 1.0).then(|| range(&two.gigabytes)[0] / (share * range(&one.gigabytes)[0]))
}

/// In words.
fn weights(roofline: &Roofline) -> String {
    match &*roofline.weights {
        "f32" => "32 bits",
        "q8" => "8 bits",
        "stored" => "4 bits",
        other => other,
    }
    .to_owned()
}

fn speeds_of(shares: &[Share]) -> Vec<f64> {
    shares.iter().map(|share| share.tokens_per_second).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Roofline, text};

    #[test]
    fn shares_and_the_gain_of_threads_are_told() {
        let measured = |threads: usize, generation: f64| -> Roofline {
            let share = |tokens_per_second: f64| {
                let serial = (threads == 1).then_some(0.1);
                json!([{"tokens_per_second": tokens_per_second, "share": 0.8, "serial": serial}])
            };
            let json = json!({"processor": "P", "model": "m", "weights": "q8", "threads": threads, "gigaflops": [270.0],
                "gigabytes": [40.0], "prompt": share(100.0 * threads as f64), "generation": share(generation), "training": null});
            serde_json::from_value(json).unwrap()
        };
        let text = text(&[measured(1, 30.0), measured(2, 36.0)]);
        assert!(text.contains("| P | m | 8 bits | 1 | 270 | 40 | 80 % [80, 80] | 80 % [80, 80] | – |"), "{text}");
        let prompt = "| P | m | 8 bits | prompt | 100 | 200 | 2.00 (one round) | 10 % | – | 1.8 | 6.4 |";
        assert!(text.contains(prompt), "{text}");
        // One thread reads 80 % of what two can.
        let generation = "| P | m | 8 bits | generation | 30 | 36 | 1.20 (one round) | 10 % | 1.2 | 1.2 | 1.2 |";
        assert!(text.contains(generation), "{text}");
    }
}
