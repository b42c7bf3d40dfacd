//! Threads that stay awake between the kernels of a token: there are some hundred of these, a tenth of a millisecond apart, and to wake a
//! sleeping thread takes up to half of that.

#[cfg(feature = "threads")]
use std::sync::atomic::{AtomicBool, Ordering};

use burn::tensor::Device;

/// Looks for work until a thread goes to sleep after all; each takes some ten nanoseconds.
#[cfg(feature = "threads")]
const LOOKS: usize = 10_000;

/// Calls `work`, which computes on a device. If that is the CPU, the other threads of the caller's pool look for parts of kernels meanwhile
/// without a pause, unless there are none for long; a GPU has threads of its own.
#[cfg_attr(not(feature = "threads"), allow(unused_variables, reason = "there is one thread"))]
pub(crate) fn with_threads_awake<R>(device: &Device, work: impl FnOnce() -> R) -> R {
    #[cfg(feature = "threads")]
    if super::is_cpu(device)
        && rayon::current_num_threads() > 1
        && let Some(caller) = rayon::current_thread_index()
    {
        return beside_searching_threads(caller, work);
    }
    work()
}

/// The same, called by the thread of this index.
#[cfg(feature = "threads")]
fn beside_searching_threads<R>(caller: usize, work: impl FnOnce() -> R) -> R {
    let is_done = AtomicBool::new(false);
    rayon::in_place_scope(|scope| {
        scope.spawn_broadcast(|_, context| {
            if context.index() != caller {
                look_for_work(&is_done);
            }
        });
        let _done = SetOnDrop(&is_done);
        work()
    })
}

/// Takes parts of kernels, until nothing is left to be done.
#[cfg(feature = "threads")]
fn look_for_work(is_done: &AtomicBool) {
    let mut looks = 0;
    while looks < LOOKS && !is_done.load(Ordering::Relaxed) {
        if rayon::yield_now() == Some(rayon::Yield::Executed) {
            looks = 0;
        } else {
            looks += 1;
            std::hint::spin_loop();
        }
    }
}

/// Says that the work is done, also where it panics.
#[cfg(feature = "threads")]
struct SetOnDrop<'a>(&'a AtomicBool);

#[cfg(feature = "threads")]
impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[cfg(all(test, feature = "threads"))]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use burn::tensor::Device;

    use super::with_threads_awake;
    use crate::kernels::parts::in_parts;

    /// A text whose model fails must not leave threads that look for work for ever, and a program that has no pool must not need one.
    #[test]
    fn parts_are_done_and_a_panic_ends_the_waiting() {
        let sum = || in_parts(usize::MAX, 0..100_u32, |part| part).iter().sum::<u32>();
        let device = Device::flex();
        assert_eq!(with_threads_awake(&device, sum), 4950);
        for threads in [1, 3] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            for _ in 0..10 {
                assert_eq!(pool.install(|| with_threads_awake(&device, sum)), 4950);
            }
            let fail = || pool.install(|| with_threads_awake(&device, || panic!("a kernel fails")));
            let failed = catch_unwind(AssertUnwindSafe(fail));
            assert!(failed.is_err());
            assert_eq!(pool.install(sum), 4950, "the threads take other work");
        }
    }
}
