//! How long a thread works on what several threads would share. What is left of a program's time stays as long with any number of
//! threads (Amdahl 1967); measured on one thread.

use std::cell::Cell;
use std::time::{Duration, Instant};

thread_local! {
    /// So far, on this thread; `None` while nothing is counted, which is so inside of counted work too.
    static SHARED: Cell<Option<Duration>> = const { Cell::new(None) };
}

/// Counts from 0 on this thread.
pub fn count_shared_time() {
    SHARED.set(Some(Duration::ZERO));
}

/// What was counted on this thread; zero where nothing is counted.
pub fn shared_time() -> Duration {
    SHARED.get().unwrap_or_default()
}

/// The result of `work`, which several threads would share.
pub(super) fn counted<R>(work: impl FnOnce() -> R) -> R {
    let Some(before) = SHARED.take() else { return work() };
    let start = Instant::now();
    let result = work();
    SHARED.set(Some(before + start.elapsed()));
    result
}

#[cfg(test)]
mod tests {
    use std::thread::sleep;
    use std::time::{Duration, Instant};

    use super::super::parts::in_parts;
    use super::{count_shared_time, shared_time};

    #[test]
    fn only_work_that_is_worth_a_thread_counts_and_only_once() {
        let pause = Duration::from_millis(20);
        let inner = |products: usize| in_parts(products, [()], |()| sleep(pause));
        let on_one_thread = || {
            inner(usize::MAX);
            assert_eq!(shared_time(), Duration::ZERO, "nothing is counted before it is asked for");
            count_shared_time();
            inner(1);
            assert_eq!(shared_time(), Duration::ZERO, "too little for a second thread");
            let start = Instant::now();
            in_parts(usize::MAX, [(), ()], |()| inner(usize::MAX));
            let (counted, passed) = (shared_time(), start.elapsed());
            // Had the inner parts counted again, it would be four pauses.
            assert!((2 * pause..=passed).contains(&counted), "{counted:?} of {passed:?}");
        };
        rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap().install(on_one_thread);
    }
}
