//! `--threads N`: N threads compute, whatever the command.
#![cfg(target_os = "linux")]

mod common;

use std::collections::BTreeSet;
use std::process::Stdio;

use common::{Folder, core, nano_rope, text};

/// Names of all threads that a command had, by their numbers.
fn threads_of(arguments: &[&str]) -> Vec<String> {
    let mut child = core(arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let tasks = format!("/proc/{}/task", child.id());
    let mut seen = BTreeSet::new();
    while child.try_wait().unwrap().is_none() {
        for task in std::fs::read_dir(&tasks).into_iter().flatten().flatten() {
            if let Ok(name) = std::fs::read_to_string(task.path().join("comm")) {
                seen.insert((task.file_name(), name.trim().to_owned()));
            }
        }
    }
    assert!(child.wait().unwrap().success(), "{arguments:?}");
    // A thread has the name of its parent until it gives itself one.
    let named = |(task, name): &(std::ffi::OsString, String)| {
        !seen.iter().any(|(other, later)| other == task && later != name && later != "core")
    };
    seen.iter().filter(|entry| named(entry)).map(|(_, name)| name.clone()).collect()
}

#[test]
fn a_command_has_as_many_computing_threads_as_it_was_given() {
    let folder = Folder::new("threads");
    let (model, out) = (nano_rope(), folder.path("out.safetensors"));
    let model = text(&model);
    let ids = (0..200).map(|id| (id % 480).to_string()).collect::<Vec<_>>().join(",");
    for threads in ["1", "3"] {
        let count: usize = threads.parse().unwrap();
        let samples: [&[&str]; 3] = [
            &["eval", "niah", "--trials", "12", "--extension", "1", "--method", "rope"],
            &["eval", "ppl", "--texts", "6", "--extension", "1", "--method", "rope"],
            &["probe", "--trials", "6", "--extension", "1", "--method", "rope"],
        ];
        let kernels: [&[&str]; 3] = [
            &["logits", "--ids", &ids, "--out", text(&out)],
            &["generate", "--prompt", "The", "--max-new-tokens", "40"],
            &["dope", "select", "--texts", "1", "--extension", "1"],
        ];
        let with = |command: &[&str]| {
            let names = threads_of(&[command, &["--model", model, "--threads", threads, "--device", "cpu"]].concat());
            let of = |kind: &str| names.iter().filter(|name| name.starts_with(kind)).count();
            // The other threads are the main thread, the one that waits for Ctrl-C, and the one that reports every half minute.
            let others = names.len() - of("worker-") - of("kernel-") - of("progress");
            assert!(others <= 2, "{command:?}: {names:?}");
            (of("worker-"), of("kernel-"))
        };
        for command in samples {
            assert_eq!(with(command), (count, 1), "{command:?}: kernels stay on their worker");
        }
        for command in kernels {
            assert_eq!(with(command), (0, count), "{command:?}");
        }
    }
}
