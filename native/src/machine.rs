//! The machine that this program runs on.

use sysinfo::{CpuRefreshKind, MemoryRefreshKind, RefreshKind, System};

/// Its processor's name, and its memory in bytes.
pub fn processor_and_memory() -> (String, u64) {
    let kinds = RefreshKind::nothing().with_cpu(CpuRefreshKind::nothing()).with_memory(MemoryRefreshKind::everything());
    let system = System::new_with_specifics(kinds);
    let name = system.cpus().first().map_or("", |cpu| cpu.brand()).trim();
    (if name.is_empty() { std::env::consts::ARCH.to_owned() } else { name.to_owned() }, system.total_memory())
}

/// Most memory that this process had at once, in bytes; `None` where the system does not say.
pub fn peak_memory() -> Option<u64> {
    // What getrusage says begins with the memory of the process that started this one.
    #[cfg(target_os = "linux")]
    return of_status("VmHWM:");
    #[cfg(all(unix, not(target_os = "linux")))]
    {
        use nix::sys::resource::{UsageWho, getrusage};
        let size = getrusage(UsageWho::RUSAGE_SELF).ok()?.max_rss() as u64;
        // Apple's systems count in bytes, others in KiB.
        Some(if cfg!(target_vendor = "apple") { size } else { size * 1024 })
    }
    #[cfg(not(unix))]
    None
}

/// Memory that this process has now, in bytes; `None` where the system does not say.
pub fn resident_memory() -> Option<u64> {
    #[cfg(target_os = "linux")]
    return of_status("VmRSS:");
    #[cfg(not(target_os = "linux"))]
    None
}

/// Lets the peak begin again with what the process has now, where the system can do that.
pub fn forget_peak_memory() {
    // Refused only without /proc; the peak is then that of all before.
    #[cfg(target_os = "linux")]
    let _ = std::fs::write("/proc/self/clear_refs", "5");
}

/// Whether the process was started with a signal ignored, as far as the system says so.
#[cfg(unix)]
#[cfg_attr(not(target_os = "linux"), expect(unused_variables, reason = "only Linux has /proc"))]
pub fn ignores(signal: nix::sys::signal::Signal) -> bool {
    #[cfg(target_os = "linux")]
    {
        let mask = status("SigIgn:").and_then(|mask| u64::from_str_radix(&mask, 16).ok());
        mask.is_some_and(|mask| mask >> (signal as i32 - 1) & 1 == 1)
    }
    #[cfg(not(target_os = "linux"))]
    false
}

/// The number that a line of /proc/self/status gives in KiB, in bytes.
#[cfg(target_os = "linux")]
fn of_status(name: &str) -> Option<u64> {
    status(name)?.strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kib| 1024 * kib)
}

#[cfg(target_os = "linux")]
fn status(name: &str) -> Option<String> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    status.lines().find_map(|line| line.strip_prefix(name)).map(|value| value.trim().to_owned())
}
