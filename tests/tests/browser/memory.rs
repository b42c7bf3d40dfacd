//! The memory of a browser's processes, as Linux counts it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::task::JoinHandle;

use super::driver::Browser;
use super::processes::family;

/// The most memory that one process of a browser has taken for itself.
///
/// Pages of the browser's program, which its processes map and share, do not count, as in Chromium's task manager.
pub struct PeakMemory {
    most: Arc<AtomicU64>,
    watching: JoinHandle<()>,
}

impl PeakMemory {
    /// Looks twenty times a second.
    pub fn watch(browser: &Browser) -> Self {
        let most = Arc::new(AtomicU64::new(0));
        let (root, found) = (browser.driver_id(), most.clone());
        let watching = tokio::spawn(async move {
            loop {
                let largest = family(root).into_iter().filter_map(|(number, _)| private(number)).max();
                found.fetch_max(largest.unwrap_or(0), Ordering::Relaxed);
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        });
        Self { most, watching }
    }

    /// Bytes until now.
    pub fn bytes(&self) -> u64 {
        self.most.load(Ordering::Relaxed)
    }
}

impl Drop for PeakMemory {
    fn drop(&mut self) {
        self.watching.abort();
    }
}

/// Bytes that are no file's, resident or swapped out.
fn private(number: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{number}/status")).ok()?;
    let kilobytes = |name: &str| -> Option<u64> {
        let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        line.split_whitespace().next()?.parse().ok()
    };
    Some(1024 * (kilobytes("RssAnon")? + kilobytes("RssShmem")? + kilobytes("VmSwap")?))
}
