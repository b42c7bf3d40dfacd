//! nano-rope in Hugging Face transformers: it opens as a plain Llama and computes our logits.
//!
//! Runs where a Python with torch and transformers is: `$DROPE_PYTHON`, or `python3`. Elsewhere it says so,
//! and `cargo xtask test` counts it as not run.

use std::path::Path;
use std::process::Command;

use burn::tensor::{Device, Int, Tensor, TensorData};
use drope_core::config::Config;
use drope_core::model::Model;
use drope_core::positions::Method;
use safetensors::SafeTensors;

const SCRIPT: &str = r#"
import sys, torch
from safetensors.torch import save_file
from transformers import LlamaForCausalLM
model = LlamaForCausalLM.from_pretrained(sys.argv[1], dtype=torch.float32).eval()
ids = torch.tensor([[int(i) for i in sys.argv[3].split(",")]])
with torch.no_grad():
    save_file({"logits": model(ids).logits[0].contiguous()}, sys.argv[2])
"#;

#[test]
fn transformers_computes_our_logits_for_nano_rope() {
    let python = std::env::var("DROPE_PYTHON").unwrap_or_else(|_| "python3".into());
    let has = Command::new(&python).args(["-c", "import torch, transformers, safetensors"]).output();
    if !has.is_ok_and(|output| output.status.success()) {
        println!("NOT RUN: no Python with torch and transformers; set DROPE_PYTHON to one");
        return;
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../models/nano-rope");
    let config = Config::from_json(&std::fs::read_to_string(folder.join("config.json")).unwrap()).unwrap();
    let ids: Vec<u32> = (0..200).map(|i| (i * 37 + 11) % config.vocab_size as u32).collect();
    let out = tempfile::tempdir().unwrap();
    let file = out.path().join("logits.safetensors");
    let list = ids.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
    let status = Command::new(&python).args(["-c", SCRIPT]).arg(&folder).arg(&file).arg(list).status().unwrap();
    assert!(status.success(), "transformers cannot open nano-rope");
    let bytes = std::fs::read(&file).unwrap();
    let logits = SafeTensors::deserialize(&bytes).unwrap();
    let theirs: Vec<f32> =
        logits.tensor("logits").unwrap().data().as_chunks().0.iter().map(|v| f32::from_le_bytes(*v)).collect();

    let weights = std::fs::read(folder.join("model.safetensors")).unwrap();
    let device = Device::flex();
    let model = Model::from_safetensors(&config, &weights, &device).unwrap();
    let positions = Method::Rope.positions(&config, 1.0).unwrap();
    let values: Vec<i32> = ids.iter().map(|&id| id as i32).collect();
    let input = Tensor::<2, Int>::from_data(TensorData::new(values, [1, ids.len()]), &device);
    let ours = model.forward(input, &positions, None).into_data();
    let ours: Vec<f32> = ours.iter::<f32>().collect();
    assert_eq!(ours.len(), theirs.len());
    // Not "no difference is large": NaN must not pass.
    let is_close = ours.iter().zip(&theirs).all(|(a, b)| (a - b).abs() < 1e-3);
    let largest = ours.iter().zip(&theirs).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    assert!(is_close, "logits differ by {largest}");
}
