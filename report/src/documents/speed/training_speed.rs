//! How fast a real model trains beside PyTorch, from the results of bench/training.py.

use serde::Deserialize;

use super::rounds::{beside, distinct, range};
use crate::markdown::{DASH, list, section, table};

/// A program on one batch, on one number of threads of one processor.
#[derive(Clone, Deserialize)]
pub struct TrainingSpeed {
    model: String,
    processor: String,
    torch: String,
    batch: String,
    threads: usize,
    program: String,
    /// Tokens a second of each round.
    speeds: Vec<f64>,
    peak_bytes: f64,
    /// When its run began, of later results.
    #[serde(default)]
    began: Option<String>,
}

impl TrainingSpeed {
    fn is_of(&self, other: &Self) -> bool {
        let [one, other] = [self, other].map(|speed| (&speed.model, &speed.processor, &speed.batch, speed.threads));
        one == other
    }
}

/// What a kind of operation takes of an update, in milliseconds.
#[derive(Clone, Deserialize)]
pub struct OperationTime {
    model: String,
    processor: String,
    batch: String,
    name: String,
    calls: usize,
    /// With Burn's own operations.
    plain: f64,
    /// With the kernels that training uses.
    fused: f64,
}

/// The section; nothing where there are no results.
pub fn text(speeds: &[TrainingSpeed], operations: &[OperationTime]) -> String {
    if speeds.is_empty() {
        return String::new();
    }
    let row = |speed: &TrainingSpeed| {
        // The fastest of PyTorch's forms on the same batch.
        let theirs = speeds.iter().filter(|other| other.is_of(speed) && other.program.starts_with("PyTorch"));
        let best = theirs.max_by(|a, b| range(&a.speeds)[0].total_cmp(&range(&b.speeds)[0]));
        let ratios = best
            .map(|best| (beside(&speed.speeds, &best.speeds), format!("{:.2}", speed.peak_bytes / best.peak_bytes)));
        let (speed_ratio, memory_ratio) = ratios.unwrap_or_else(|| (DASH.to_owned(), DASH.to_owned()));
        vec![
            speed.model.clone(),
            speed.processor.clone(),
            speed.batch.replace('x', " × "),
            speed.threads.to_string(),
            speed.program.clone(),
            format!("{:.0}", range(&speed.speeds)[0]),
            speed_ratio,
            format!("{:.2}", speed.peak_bytes / 1e9),
            memory_ratio,
        ]
    };
    let is_loop = |speed: &TrainingSpeed| speed.program.starts_with("PyTorch") && speed.began.is_none();
    let of_loop = if speeds.iter().any(is_loop) {
        " In results from before 28 November 2026 PyTorch's AdamW goes through the tensors one by one, its default on a CPU; the fused form, which \
         `bench/training.py` asks for since, is faster, most of all where an update has few tokens."
    } else {
        ""
    };
    section(
        "Speed of training",
        &format!(
            "`python bench/training.py`: updates in f32 with AdamW, beside PyTorch ({}) and transformers. Tokens a second, the median of {} \
             rounds; beside it the ratio to the faster form of PyTorch in the same round, median and range, and the most memory that the \
             process took. With activation checkpointing (*blocks computed again*) a batch of 16 rows goes in four micro-batches; a batch of one row stays whole.{of_loop}\n\n{}\n{}",
            list(&distinct(speeds, |speed| speed.torch.clone())),
            list(&distinct(speeds, |speed| speed.speeds.len().to_string())),
            table(
                [
                    "model",
                    "processor",
                    "batch",
                    "threads",
                    "program",
                    "tokens/s",
                    "/ PyTorch",
                    "memory (GB)",
                    "/ PyTorch"
                ],
                speeds.iter().map(row)
            ),
            profile(operations)
        ),
    )
}

/// Where the time of an update goes; of the first model, processor and batch.
fn profile(operations: &[OperationTime]) -> String {
    let Some(first) = operations.first() else { return String::new() };
    let place = |row: &OperationTime| (row.model.clone(), row.processor.clone(), row.batch.clone());
    let operations: Vec<&OperationTime> = operations.iter().filter(|row| place(row) == place(first)).collect();
    let [all, fused] = [|row: &OperationTime| row.plain, |row: &OperationTime| row.fused]
        .map(|time| operations.iter().copied().map(time).sum::<f64>());
    let row = |row: &OperationTime| {
        let share = format!("{:.0} %", 100.0 * row.fused / fused);
        vec![row.name.clone(), row.calls.to_string(), format!("{:.0}", row.plain), format!("{:.0}", row.fused), share]
    };
    let sum = vec!["all".to_owned(), String::new(), format!("{all:.0}"), format!("{fused:.0}"), String::new()];
    format!(
        "Where an update's time goes in {}: milliseconds of each kind of operation, forward and backward, measured alone on one thread with a batch of \
         {} ({}), in Burn's operations and in the kernels that training uses; the share is that of the kernels. The embedding's gradient, \
         clipping and the optimizer come on top.\n\n{}",
        first.model,
        first.batch.replace('x', " × "),
        first.processor,
        table(["operation", "calls", "Burn's", "ours", "share"], operations.iter().copied().map(row).chain([sum]))
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{OperationTime, TrainingSpeed, text};

    fn speed(program: &str, threads: usize, speeds: [f64; 3], peak_bytes: f64) -> TrainingSpeed {
        let line = json!({"model": "smollm2", "processor": "P", "torch": "2.15", "batch": "1x512", "threads": threads,
            "program": program, "speeds": speeds, "peak_bytes": peak_bytes});
        serde_json::from_value(line).unwrap()
    }

    #[test]
    fn speeds_stand_beside_the_faster_form_of_pytorch_round_by_round() {
        assert_eq!(text(&[], &[]), "");
        let speeds = [
            speed("core", 1, [30.0, 20.0, 44.0], 4e9),
            speed("PyTorch", 1, [20.0, 20.0, 20.0], 8e9),
            speed("PyTorch, compiled", 1, [25.0, 25.0, 22.0], 16e9),
            speed("PyTorch", 2, [100.0, 100.0, 100.0], 8e9),
            speed("core", 4, [50.0, 50.0, 50.0], 4e9),
        ];
        let operation = |name: &str, fused| OperationTime {
            model: "smollm2".into(),
            processor: "P".into(),
            batch: "1x512".into(),
            name: name.into(),
            calls: 30,
            plain: 2.0 * fused,
            fused,
        };
        let of_another = OperationTime { processor: "Q".into(), ..operation("attention", 900.0) };
        let text = text(&speeds, &[operation("attention", 100.0), operation("products", 300.0), of_another]);
        assert!(text.contains("| attention | 30 | 200 | 100 | 25 % |"), "{text}");
        assert!(text.contains("| all |  | 800 | 400 |  |"), "{text}");
        assert!(text.contains("| smollm2 | P | 1 × 512 | 1 | core | 30 | 1.20 [0.80, 2.00] | 4.00 | 0.25 |"), "{text}");
        assert!(
            text.contains("| smollm2 | P | 1 × 512 | 1 | PyTorch | 20 | 0.80 [0.80, 0.91] | 8.00 | 0.50 |"),
            "{text}"
        );
        assert!(text.contains("| PyTorch, compiled | 25 | 1.00 [1.00, 1.00] | 16.00 | 1.00 |"), "{text}");
        assert!(text.contains("| 2 | PyTorch | 100 | 1.00 [1.00, 1.00] | 8.00 | 1.00 |"), "{text}");
        assert!(text.contains("| 4 | core | 50 | – | 4.00 | – |"), "{text}");
    }
}
