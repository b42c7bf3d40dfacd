//! Losses of a few updates.

use std::time::Instant;

use burn::tensor::Device;
use drope_core::model::ComputeType;
use drope_core::train::{Batch, Hyperparameters, Memory, OptimizerKind, Schedule, Trainer};
use pollster::block_on;

use crate::device::OpenDevice;
use crate::parity::{case, largest_difference};
use crate::{TOLERANCE, gpu};

const STEPS: usize = 10;

/// What is trained: a fixture's weights, with keys that count several times or rows of two documents or without.
#[derive(Clone, Copy, Debug)]
pub struct Training {
    pub name: &'static str,
    pub optimizer: OptimizerKind,
    pub has_copies: bool,
    pub has_documents: bool,
}

/// Mean losses of ten updates, whose batches the devices share, and the seconds that they took. The first device has the weights.
pub fn losses(
    Training { name, optimizer, has_copies, has_documents }: Training,
    devices: &[Device],
    memory: Memory,
) -> (Vec<f32>, f64) {
    let devices: Vec<Device> = devices.iter().map(|device| device.clone().autodiff()).collect();
    let hyperparameters = Hyperparameters {
        steps: STEPS,
        optimizer,
        weight_decay: 0.1,
        schedule: Schedule::cosine(3e-3, 2, 0.1),
        max_gradient_norm: 1.0,
        compute: ComputeType::F32,
        memory,
        guard: None,
    };
    let case = case(name);
    let mut trainer = Trainer::new(case.model(&devices[0]), case.positions(), hyperparameters).with_devices(devices);
    let ids: Vec<u32> = (0..64).map(|i| i * i % 48).collect();
    let keys = if has_copies { ids.iter().map(|id| 1.0 + (id % 5) as f32).collect() } else { Vec::new() };
    let starts = if has_documents { (0..64).map(|i| if i % 16 < 7 { 0 } else { 7 }).collect() } else { Vec::new() };
    let batch = Batch { multiplicity: keys, document_starts: starts, ..Batch::plain(ids, 16) };
    let (start, mut losses) = (Instant::now(), Vec::new());
    for _ in 0..STEPS {
        let (next, report) = block_on(trainer.step(&batch)).unwrap();
        losses.push(report.token_losses.iter().sum::<f32>() / report.token_losses.len() as f32);
        trainer = next;
    }
    (losses, start.elapsed().as_secs_f64())
}

#[test]
fn ten_training_steps_have_the_losses_of_the_cpu() {
    let Some(OpenDevice { device, .. }) = gpu("ten training steps") else { return };
    let of = |name, optimizer, has_copies, has_documents| Training { name, optimizer, has_copies, has_documents };
    for training in [
        of("rope", OptimizerKind::AdamW, false, false),
        of("drope", OptimizerKind::Muon, true, false),
        of("rnope-swa", OptimizerKind::AdamW, false, true),
        of("alibi", OptimizerKind::AdamW, true, true),
    ] {
        let (expected, _) = losses(training, &[Device::flex()], Memory::default());
        println!("{training:?}, CPU: {expected:.5?}");
        assert!(expected[STEPS - 1] < 0.9 * expected[0], "ten steps learn something");
        let in_chunks = Memory { recompute: true, attention_queries: Some(6), ..Memory::default() };
        // Alone, and sharing each batch with the CPU, as several cards would.
        for (devices, memory) in [
            (vec![device.clone()], Memory::default()),
            (vec![device.clone()], in_chunks),
            (vec![device.clone(), Device::flex()], in_chunks),
        ] {
            let (found, seconds) = losses(training, &devices, memory);
            println!("{training:?}, {} devices, {memory:?}: {found:.5?} in {seconds:.1} s", devices.len());
            let difference = largest_difference(&found, &expected);
            assert!(difference < TOLERANCE * expected[0], "{training:?}: {difference}");
        }
    }
}
