//! `--threads N`: at most N threads of this process compute at a time, kernels included.
//!
//! Where samples are independent (questions, texts, rows of a batch) they are shared among N threads, and each computes its
//! own kernels: at nano size a kernel is too small to be split. Otherwise kernels are split among N threads.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context, Result};
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::interrupt;

/// Default of `--threads`: as many as the processor runs at once.
pub fn available() -> usize {
    std::thread::available_parallelism().map_or(1, Into::into)
}

/// Sets how many threads share a kernel that is called outside of [`Workers`]; once in a process, before anything is computed.
pub fn share_kernels(threads: usize) -> Result<()> {
    let pool = ThreadPoolBuilder::new().num_threads(threads).thread_name(|index| format!("kernel-{index}"));
    pool.build_global().context("cannot start threads; try fewer --threads")
}

/// Calls `work`, whose kernels `threads` threads share, instead of the number that is set for the process.
pub fn with_shared_kernels<R: Send>(threads: usize, work: impl FnOnce() -> R + Send) -> Result<R> {
    let pool = ThreadPoolBuilder::new().num_threads(threads).thread_name(|index| format!("kernel-{index}")).build();
    Ok(pool.context("cannot start threads; try fewer --threads")?.install(work))
}

/// Threads that measure samples at the same time, each with its own kernels.
pub struct Workers(Vec<ThreadPool>);

impl Workers {
    /// Starts the threads.
    pub fn new(threads: usize) -> Result<Self> {
        let worker =
            |index| ThreadPoolBuilder::new().num_threads(1).thread_name(move |_| format!("worker-{index}")).build();
        let pools: Result<Vec<ThreadPool>, _> = (0..threads).map(worker).collect();
        Ok(Self(pools.context("cannot start threads; try fewer --threads")?))
    }

    /// The results of `work` for each item, in the order of the items. Ends early after the first error and at Ctrl-C,
    /// then with the message `stopped`.
    pub fn map<T: Sync, R: Send>(
        &self,
        items: &[T],
        stopped: &str,
        work: impl Fn(&T) -> Result<R> + Sync,
    ) -> Result<Vec<R>> {
        let next = AtomicUsize::new(0);
        let done: Mutex<Vec<(usize, Result<R>)>> = Mutex::new(Vec::new());
        let push = |index, result| done.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push((index, result));
        on_each(&self.0, &|| {
            loop {
                let index = next.fetch_add(1, Ordering::Relaxed);
                let Some(item) = items.get(index).filter(|_| !interrupt::requested()) else { return };
                let result = work(item);
                if result.is_err() {
                    next.store(items.len(), Ordering::Relaxed);
                }
                push(index, result);
            }
        });
        interrupt::check(stopped)?;
        let mut done = done.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        done.sort_unstable_by_key(|(index, _)| *index);
        done.into_iter().map(|(_, result)| result).collect()
    }
}

/// Calls `work` on every pool at once and waits for all.
fn on_each(pools: &[ThreadPool], work: &(impl Fn() + Sync)) {
    if let Some((first, others)) = pools.split_first() {
        first.in_place_scope(|scope| {
            scope.spawn(|_| work());
            on_each(others, work);
        });
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::Workers;

    #[test]
    fn every_item_is_done_once_and_kernels_stay_on_their_worker() {
        for threads in [1, 3] {
            let seen = Mutex::new(HashSet::new());
            let items: Vec<usize> = (0..100).collect();
            let double = |&item: &usize| {
                // A kernel asks this before it is split.
                assert_eq!(rayon::current_num_threads(), 1);
                seen.lock().unwrap().insert(std::thread::current().id());
                Ok(2 * item)
            };
            let doubled = Workers::new(threads).unwrap().map(&items, "stopped", double).unwrap();
            assert!(doubled.into_iter().eq((0..100).map(|item| 2 * item)));
            assert!(seen.into_inner().unwrap().len() <= threads);
        }
    }

    #[test]
    fn an_error_ends_the_work() {
        let calls = AtomicUsize::new(0);
        let work = |&item: &usize| {
            calls.fetch_add(1, Ordering::Relaxed);
            std::thread::sleep(std::time::Duration::from_millis(1));
            if item == 7 { anyhow::bail!("item {item}") } else { Ok(item) }
        };
        let items: Vec<usize> = (0..1000).collect();
        let error = Workers::new(2).unwrap().map(&items, "stopped", work).unwrap_err();
        assert_eq!(error.to_string(), "item 7");
        assert!(calls.load(Ordering::Relaxed) < 500, "the others are not begun");
    }
}
