//! `core recalibrate --engine torch`: PyTorch trains the same batches to the same model.

mod common;

use std::path::Path;
use std::process::Command;

use common::{Folder, data_of, nano_rope, read_json, refused, shards, succeeds, text};
use drope_tests::python;
use safetensors::SafeTensors;

const STEPS: usize = 20;

/// Twenty updates of four windows.
fn recipe(folder: &Folder, positions: &str, more: &str) -> std::path::PathBuf {
    let data = data_of(&shards(folder, "shards", 4));
    folder.write(
        "recipe.toml",
        format!(
            "seed = 3\ncontext = 64\nsteps = {STEPS}\ntokens_per_step = 256\nweight_decay = 0.1\nmax_gradient_norm = 1.0\n\
             optimizer = \"adamw\"\n{more}\n[schedule]\npeak = 1e-3\nwarmup = 5\nfloor = 0.1\n{data}\n[drop]\npositions = \"{positions}\"\n"
        ),
    )
}

fn numbers(file: &SafeTensors, name: &str) -> Vec<f32> {
    file.tensor(name).unwrap().data().as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect()
}

/// Largest difference of two models' weights, relative to the largest change that training made.
fn difference([ours, theirs, base]: [&Path; 3]) -> f32 {
    let read = |folder: &Path| std::fs::read(folder.join("model.safetensors")).unwrap();
    let files = [read(ours), read(theirs), read(base)];
    let [ours, theirs, base] = files.each_ref().map(|bytes| SafeTensors::deserialize(bytes).unwrap());
    let (mut apart, mut moved) = (0f32, 0f32);
    for name in ours.names() {
        let [ours, theirs, base] = [&ours, &theirs, &base].map(|file| numbers(file, name));
        for ((ours, theirs), base) in ours.iter().zip(&theirs).zip(&base) {
            apart = apart.max((ours - theirs).abs());
            moved = moved.max((ours - base).abs());
        }
    }
    apart / moved
}

#[test]
fn two_processes_of_pytorch_train_as_core_does() {
    let Some(python) = python("torch, transformers, accelerate, safetensors") else { return };
    for (positions, sharing) in [("all", "--fsdp"), ("low", "--rows=2")] {
        let folder = Folder::new(&format!("torch-{positions}"));
        let (recipe, base) = (recipe(&folder, positions, ""), nano_rope());
        let [ours, theirs] = ["ours", "theirs"].map(|name| folder.path(name));
        let arguments = |out| ["recalibrate", "--from", text(&base), "--recipe", text(&recipe), "--out", out];
        succeeds(&[&arguments(text(&ours))[..], &["--device", "cpu", "--threads", "1"]].concat());
        let said = succeeds(&[&arguments(text(&theirs))[..], &["--engine", "torch"]].concat());
        assert!(said.contains("train.py"), "{said}");
        refused(&[&arguments(text(&theirs))[..], &["--engine", "torch"]].concat(), "such a folder already");

        let mut command = Command::new(&python);
        command.args(["-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2"]);
        command.arg(theirs.join("train.py")).args(["--cpu", sharing]).env("OMP_NUM_THREADS", "1");
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));

        // The line of the curve at step 20 is the mean of the updates until then.
        let curve = std::fs::read_to_string(ours.join("loss.jsonl")).unwrap();
        let line: serde_json::Value = serde_json::from_str(curve.lines().last().unwrap()).unwrap();
        let losses = std::fs::read_to_string(theirs.join("losses.jsonl")).unwrap();
        let losses: Vec<f64> = losses
            .lines()
            .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()["loss"].as_f64().unwrap())
            .collect();
        assert_eq!((losses.len(), line["step"].as_u64()), (STEPS, Some(STEPS as u64)));
        let mean = losses.iter().sum::<f64>() / STEPS as f64;
        let expected = line["loss"].as_f64().unwrap();
        assert!((mean - expected).abs() < 1e-3, "{positions}: {mean} in PyTorch, {expected} here");
        assert!(losses[STEPS - 1] < losses[0], "the model learns: {losses:?}");

        let trained = theirs.join("trained");
        let apart = difference([&ours, &trained, &base]);
        assert!(apart < 0.05, "{positions}: weights differ by {apart} of what training moved them");
        assert_eq!(read_json(&trained.join("config.json")), read_json(&ours.join("config.json")));
        succeeds(&["inspect", "--model", text(&trained)]);
    }
}

#[test]
fn what_pytorch_does_not_do_is_refused() {
    let folder = Folder::new("torch-refused");
    let (base, out) = (nano_rope(), folder.path("out"));
    let refuse = |settings: &str, words: &str| {
        let recipe = recipe(&folder, "all", "");
        let arguments = ["recalibrate", "--from", text(&base), "--recipe", text(&recipe), "--out", text(&out)];
        refused(&[&arguments[..], &["--engine", "torch", "--set", settings]].concat(), words);
        assert!(!out.join("plan.json").exists());
        let _ = std::fs::remove_dir_all(folder.path("shards"));
    };
    refuse("optimizer=muon", "AdamW");
    refuse("data.mask_documents=true", "mask_documents");
    refuse("data.copies.max=8,data.copies.filler=spans", "data.copies");
    refuse("data.synthetic=1.0", "synthetic");
}
