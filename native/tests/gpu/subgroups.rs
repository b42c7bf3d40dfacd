//! Kernels that join numbers by subgroups.

use burn::tensor::Device;
use drope_core::model::{NumberType, detect_subgroups, use_subgroups};
use drope_core::train::{Memory, OptimizerKind};
use pollster::block_on;

use crate::device::{DeviceChoice, OpenDevice};
use crate::logits::compare_long_texts;
use crate::parity::{CASES, case, largest_difference};
use crate::training::{Training, losses};
use crate::{TOLERANCE, choice, gpu};

/// Kernels join numbers by subgroups of these sizes, and of one that Vulkan in software does not have.
#[test]
fn with_subgroups_logits_and_losses_are_those_of_the_cpu() {
    let Some(OpenDevice { device, .. }) = gpu("sums by subgroups") else { return };
    let found_by_itself = block_on(detect_subgroups(&device));
    let sizes: &[usize] = if choice() == DeviceChoice::Cuda { &[8, 32] } else { &[2, 8] };
    for &size in sizes {
        assert_eq!(block_on(use_subgroups(&device, size)), size);
        for case in CASES.iter() {
            let difference = block_on(case.difference(&device));
            assert!(difference < TOLERANCE, "{} with subgroups of {size}: {difference}", case.name);
        }
        for name in ["drope", "alibi", "qwen2"] {
            let difference = block_on(case(name).cache_difference(&device, 36));
            assert!(difference < TOLERANCE, "{name} through the cache with subgroups of {size}: {difference}");
        }
        compare_long_texts(&device, NumberType::F32, TOLERANCE);
        let training =
            Training { name: "rope", optimizer: OptimizerKind::AdamW, has_copies: false, has_documents: false };
        let (expected, _) = losses(training, &[Device::flex()], Memory::default());
        let in_chunks = Memory { recompute: true, attention_queries: Some(6), ..Memory::default() };
        for memory in [Memory::default(), in_chunks] {
            let (found, _) = losses(training, std::slice::from_ref(&device), memory);
            let difference = largest_difference(&found, &expected);
            assert!(difference < TOLERANCE * expected[0], "losses with subgroups of {size}: {difference}");
        }
    }
    if choice() == DeviceChoice::Wgpu {
        assert_eq!(block_on(use_subgroups(&device, 16)), 1, "subgroups that are smaller are not used");
    }
    assert_eq!(block_on(detect_subgroups(&device)), found_by_itself);
}
