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
    #[cfg(target_os = "linux")]
    {
        // What getrusage says begins with the memory of the process that started this one.
        let status = std::fs::read_to_string("/proc/self/status").ok()?;
        let kib = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?.trim().strip_suffix("kB")?;
        kib.trim().parse::<u64>().ok().map(|kib| 1024 * kib)
    }
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
