//! Gradients of a batch, shared among threads.
//!
//! At nano size a kernel is too small to be split, but the rows of a batch are independent: each thread takes some through
//! the whole model. The trainer adds the parts in their order, so that the sum is the same in every run with the same number
//! of threads.

use drope_core::train::{Batch, BatchGradients, Trainer};

/// Gradients of the parts of a batch, one for each thread, in the order of the rows.
pub fn gradients_in_threads(trainer: &Trainer, batch: &Batch, threads: usize) -> Vec<BatchGradients> {
    let total = batch.total_loss_weight();
    let part = |rows: &Batch| trainer.gradients(rows, total);
    match batch.split(threads).as_slice() {
        [one] => vec![part(one)],
        many => std::thread::scope(|scope| {
            let workers: Vec<_> = many.iter().map(|rows| scope.spawn(|| part(rows))).collect();
            let join = |worker: std::thread::ScopedJoinHandle<'_, _>| {
                worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            };
            workers.into_iter().map(join).collect()
        }),
    }
}
