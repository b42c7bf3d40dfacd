//! The processes of a browser, as Linux lists them, and that they end with the test.

use std::collections::HashMap;
use std::time::Duration;

use anyhow::{Result, ensure};

use super::driver::Browser;

/// A process and its start time, which tells it from a later one of the same number.
pub type Process = (u32, String);

/// Processes that have not ended, with their parents.
fn living() -> HashMap<Process, u32> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    numbers
        .filter_map(|number| {
            let line = std::fs::read_to_string(format!("/proc/{number}/stat")).ok()?;
            // The name in parentheses may hold spaces: state, parent and the 20th field behind it, start time.
            let fields: Vec<&str> = line.rsplit_once(')')?.1.split_whitespace().collect();
            let has_ended = matches!(fields[0], "Z" | "X");
            (!has_ended).then(|| Some(((number, fields[19].to_owned()), fields[1].parse().ok()?)))?
        })
        .collect()
}

/// A process and all that it has started.
pub fn family(root: u32) -> Vec<Process> {
    let living = living();
    let mut numbers = vec![root];
    let mut family = Vec::new();
    while let Some(number) = numbers.pop() {
        family.extend(living.keys().filter(|process| process.0 == number).cloned());
        numbers.extend(living.iter().filter(|(_, parent)| **parent == number).map(|(process, _)| process.0));
    }
    family
}

/// Those that have not ended.
pub fn still_living(processes: &[Process]) -> Vec<Process> {
    let living = living();
    processes.iter().filter(|process| living.contains_key(process)).cloned().collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_browser_ends_with_a_test_that_panics() -> Result<()> {
    let (send, receive) = std::sync::mpsc::channel();
    let failed = tokio::spawn(async move {
        let browser = Browser::open(800, false).await.expect("a browser");
        browser.client.goto("data:text/html,<p>hello</p>").await.expect("a page");
        send.send(family(browser.driver_id())).expect("the test waits");
        panic!("on purpose: what a failing test does");
    });
    assert!(failed.await.is_err_and(|error| error.is_panic()));
    let family = receive.recv()?;
    ensure!(family.len() > 3, "ChromeDriver and Chromium with its helpers, but {family:?}");
    // Helpers take a moment to notice.
    for _ in 0..600 {
        if still_living(&family).is_empty() {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    anyhow::bail!("{:?} of {} processes still run", still_living(&family), family.len())
}
