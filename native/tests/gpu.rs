//! The same numbers on a GPU as on the CPU and in transformers; `cargo xtask gpu` runs this on Vulkan in software, and on an
//! NVIDIA card where there is one.
#![cfg(any(feature = "cuda", feature = "wgpu"))]

#[path = "common/mod.rs"]
mod common;
#[path = "../src/device.rs"]
#[allow(dead_code, reason = "the tool alone opens several devices")]
mod device;
#[path = "../../core/tests/parity/mod.rs"]
mod parity;

use std::time::Instant;

use burn::tensor::{Device, Tensor, TensorData};
use common::{Folder, RECIPE, core, refused, succeeds, text};
use device::{DeviceChoice, OpenDevice};
use drope_core::Error;
use drope_core::config::Config;
use drope_core::kernels::{AttentionBias, attend_in_chunks, gradients_in_chunks, linear};
use drope_core::model::{
    ComputeType, Model, NumberType, NumberTypes, SafetensorsFiles, WeightType, detect_subgroups, token_ids,
    use_subgroups,
};
use drope_core::positions::{Encoding, LayerPositions, Method};
use drope_core::train::{Batch, Hyperparameters, Memory, OptimizerKind, Schedule, Trainer};
use parity::{CASES, case, largest_difference};
use pollster::block_on;

/// Largest difference of logits, which are around 1, and of losses relative to the first loss. GPUs add the terms of a
/// product in another order, and AdamW divides each gradient by its own size, so that rounding can turn a weight's
/// first step around. Vulkan in software differs by 1.4e-5 and 2e-6; cards may round the factors of products to TF32.
const TOLERANCE: f32 = if cfg!(feature = "cuda") { 1e-3 } else { 1e-4 };
/// The same where keys and values are rounded to 16 bits.
const ROUNDED_TOLERANCE: f32 = 3e-3;
/// The same of the largest number, where factors are rounded to bf16.
const BF16_TOLERANCE: f32 = 2e-2;
const STEPS: usize = 10;

/// CUDA where it is built in, unless wgpu is too and is shown a driver.
fn choice() -> DeviceChoice {
    let takes_vulkan = cfg!(feature = "wgpu") && std::env::var_os("VK_DRIVER_FILES").is_some();
    if cfg!(feature = "cuda") && !takes_vulkan { DeviceChoice::Cuda } else { DeviceChoice::Wgpu }
}

/// The GPU; without an NVIDIA card `None`, and a line about what could not be run. Vulkan in software always exists.
fn gpu(what: &str) -> Option<OpenDevice> {
    match device::open(choice()) {
        Ok(chosen) => {
            assert!(!chosen.is_cpu);
            Some(chosen)
        }
        Err(error) if choice() == DeviceChoice::Cuda => {
            println!("NOT RUN: {what}: {error}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// Burn's default device is a card here, also where the machine has none.
#[test]
fn a_run_on_the_cpu_is_resumed_where_there_is_no_card() {
    let folder = Folder::new("no-card");
    let (recipe, out) = (folder.write("recipe.toml", RECIPE.replace("steps = 60", "steps = 4")), folder.path("run"));
    let pretrain = ["pretrain", "--recipe", text(&recipe), "--out", text(&out), "--device", "cpu", "--threads", "1"];
    succeeds(&[&pretrain[..], &["--until", "2"]].concat());
    let mut resumed = core(&[&pretrain[..], &["--resume"]].concat());
    resumed.env("CUDA_VISIBLE_DEVICES", "").env("VK_DRIVER_FILES", "/dev/null").env("VK_ICD_FILENAMES", "/dev/null");
    let resumed = resumed.output().unwrap();
    assert!(resumed.status.success(), "{}", String::from_utf8_lossy(&resumed.stderr));
}

#[test]
fn logits_equal_those_of_transformers() {
    let Some(OpenDevice { device, .. }) = gpu("logits against transformers") else { return };
    let mut largest = 0f32;
    for case in CASES.iter() {
        let difference = block_on(case.difference(&device));
        println!("{}: largest difference of logits {difference:.1e}", case.name);
        assert!(difference < TOLERANCE, "{}: {difference}", case.name);
        largest = largest.max(difference);
    }
    println!("{} checkpoints: largest difference of logits {largest:.1e}", CASES.len());
}

#[test]
fn reading_through_the_cache_changes_nothing() {
    let Some(OpenDevice { device, .. }) = gpu("logits through the cache") else { return };
    for name in ["rope", "yarn", "drope", "dynamic-ntk", "rnope-swa", "alibi", "qwen2"] {
        let difference = block_on(case(name).cache_difference(&device, 36));
        println!("{name}: largest difference through the cache {difference:.1e}");
        assert!(difference < TOLERANCE, "{name}: {difference}");
    }
}

#[test]
fn long_texts_have_the_logits_of_the_cpu() {
    let Some(chosen) = gpu("logits of long texts") else { return };
    compare_long_texts(&chosen.device, NumberType::F32, TOLERANCE);
    // Both devices round keys and values; those in the middle between two numbers may be rounded to different ones.
    for cache in [NumberType::F16, NumberType::Bf16] {
        match chosen.checked(NumberTypes { cache, ..NumberTypes::default() }) {
            Ok(types) => {
                compare_long_texts(&chosen.device, cache, ROUNDED_TOLERANCE);
                // Its keys are rotated when they are read.
                let difference = block_on(case("dynamic-ntk").packed_difference(types, &chosen.device));
                assert!(difference < ROUNDED_TOLERANCE, "dynamic-ntk, {} cache: {difference}", cache.name());
            }
            Err(error) => println!("NOT RUN: {error}"),
        }
    }
    assert!(chosen.checked(NumberTypes { cache: NumberType::Q8, ..NumberTypes::default() }).is_err());
}

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
            let (found, _) = losses(training, &[device.clone()], memory);
            let difference = largest_difference(&found, &expected);
            assert!(difference < TOLERANCE * expected[0], "losses with subgroups of {size}: {difference}");
        }
    }
    if choice() == DeviceChoice::Wgpu {
        assert_eq!(block_on(use_subgroups(&device, 16)), 1, "subgroups that are smaller are not used");
    }
    assert_eq!(block_on(detect_subgroups(&device)), found_by_itself);
}

/// Prompts in tiles, then few tokens with a cache of several spans: heads in groups of 1, 3, 7 and 4, with up to 128 numbers; a window;
/// ALiBi. Keys and values are kept as `cache`.
fn compare_long_texts(device: &Device, cache: NumberType, tolerance: f32) {
    let shapes = [
        ("nano-rope", [2, 2, 128]),
        ("nano-rope", [6, 2, 20]),
        ("nano-drope", [7, 1, 64]),
        ("nano-rnope-swa", [4, 1, 32]),
        ("nano-alibi", [8, 2, 32]),
    ];
    let ids: Vec<u32> = (0..720).map(|place| place * place % 61).collect();
    for (model, shape) in shapes {
        let json = std::fs::read_to_string(common::fixtures().join("../../models").join(model).join("config.json"));
        let mut config = Config::from_json(&json.unwrap()).unwrap();
        [config.num_attention_heads, config.num_key_value_heads, config.head_dim] = shape;
        (config.hidden_size, config.dope_heads) = (48, None);
        config.check().unwrap();
        let positions = Method::of(&config).positions(&config, 1.0).unwrap();
        let weights = block_on(Model::random(&config, 5, &Device::flex()).to_safetensors()).unwrap();
        let logits = |device: &Device| {
            let types = NumberTypes { cache, ..NumberTypes::default() };
            let weights = SafetensorsFiles::from_bytes(&weights).unwrap();
            let (model, _) = Model::load_as(&config, &weights, types, device).unwrap();
            let mut cache = model.cache(&config, &positions, ids.len());
            let mut parts = Vec::new();
            let mut rest = ids.as_slice();
            for count in [300, 100, 300, 5, 8, 6, 1] {
                let (part, others) = rest.split_at(count);
                rest = others;
                let ids = token_ids(part, [1, count], device);
                let logits = model.forward(ids, &positions, Some(&mut cache));
                parts.extend(block_on(logits.into_data_async()).unwrap().iter::<f32>());
            }
            parts
        };
        let difference = largest_difference(&logits(device), &logits(&Device::flex()));
        println!("{model}, {shape:?}, {} cache: largest difference of logits {difference:.1e}", cache.name());
        assert!(difference < tolerance, "{model}, {shape:?}, {} cache: {difference}", cache.name());
    }
}

/// Over more keys than a workgroup has units: two texts of two documents each, whose keys count several times, with a window or slopes.
#[test]
fn attention_in_chunks_has_the_values_and_gradients_of_the_cpu() {
    const SEQ: usize = 600;
    let Some(OpenDevice { device, .. }) = gpu("attention in chunks") else { return };
    let computed = |layer: &LayerPositions, device: &Device, compute: ComputeType| {
        let numbers = |shape: [usize; 4], seed: usize| {
            let values =
                (0..shape.iter().product()).map(|i: usize| ((i * i + seed * i + seed) % 251) as f32 / 125.0 - 1.0);
            Tensor::<4>::from_data(TensorData::new(values.collect::<Vec<f32>>(), shape), device)
        };
        let inputs = [(4, 1), (2, 2), (2, 3)].map(|(heads, seed)| numbers([2, heads, SEQ, 32], seed));
        let logs = Tensor::from_inner(numbers([2, 1, 1, SEQ], 5));
        let starts: Vec<usize> = (0..2 * SEQ).map(|i| if i % SEQ < 350 { 0 } else { 350 }).collect();
        let bias = AttentionBias::new(layer, 0..SEQ, Some(&logs)).with_documents(Some(starts.into()));
        let output = attend_in_chunks(inputs.clone(), &bias, 256, compute);
        let [of_q, of_k, of_v] = gradients_in_chunks(inputs, &bias, 256, compute, &numbers([2, 4, SEQ, 32], 7));
        [output, of_q, of_k, of_v].map(|tensor| tensor.into_data().iter::<f32>().collect::<Vec<f32>>())
    };
    let slopes = Encoding::Alibi { slopes: vec![0.5, 0.25, 0.125, 0.0625] };
    for layer in [
        LayerPositions { encoding: Encoding::None, window: Some(300) },
        LayerPositions { encoding: slopes, window: None },
    ] {
        let expected = computed(&layer, &Device::flex(), ComputeType::F32);
        for (compute, tolerance) in [(ComputeType::F32, TOLERANCE), (ComputeType::Bf16, BF16_TOLERANCE)] {
            if !compute.is_native_to(&device) {
                println!("NOT RUN: attention in {}, which this device does not multiply", compute.name());
                continue;
            }
            for (found, expected) in computed(&layer, &device, compute).iter().zip(&expected) {
                let largest = expected.iter().fold(0f32, |most, number| most.max(number.abs()));
                let difference = largest_difference(found, expected) / largest;
                println!("{layer:?} in {}: largest difference {difference:.1e} of the largest number", compute.name());
                assert!(difference < tolerance, "{layer:?} in {}: {difference}", compute.name());
            }
        }
    }
}

/// Of so many tokens that the sum of a gradient of weights is cut into parts, which do not divide them; with a matrix and its transpose.
#[test]
fn products_in_bf16_have_the_values_and_gradients_of_the_cpu() {
    let Some(OpenDevice { device, .. }) = gpu("products in bf16") else { return };
    if !ComputeType::Bf16.is_native_to(&device) {
        println!("NOT RUN: products in bf16, which this device does not multiply");
        return;
    }
    let computed = |is_transposed: bool, device: &Device, compute: ComputeType| {
        let device = device.clone().autodiff();
        let numbers = |count: usize, seed: usize| -> Vec<f32> {
            (0..count).map(|i| ((i * i + seed * i + seed) % 251) as f32 / 125.0 - 1.0).collect()
        };
        let x = Tensor::<3>::from_data(TensorData::new(numbers(2 * 701 * 40, 1), [2, 701, 40]), &device).require_grad();
        let shape = if is_transposed { [72, 40] } else { [40, 72] };
        let weights = Tensor::<2>::from_data(TensorData::new(numbers(40 * 72, 2), shape), &device).require_grad();
        let matrix = if is_transposed { weights.clone().transpose() } else { weights.clone() };
        let output = linear(x.clone(), matrix, compute);
        let factors = Tensor::from_data(TensorData::new(numbers(2 * 701 * 72, 3), [2, 701, 72]), &device);
        let mut gradients = (output.clone() * factors).sum().backward();
        let values = |data: TensorData| data.iter::<f32>().collect::<Vec<f32>>();
        [
            values(output.inner().into_data()),
            values(x.grad_remove(&mut gradients).unwrap().into_data()),
            values(weights.grad_remove(&mut gradients).unwrap().into_data()),
        ]
    };
    for is_transposed in [false, true] {
        let expected = computed(is_transposed, &Device::flex(), ComputeType::F32);
        let found = computed(is_transposed, &device, ComputeType::Bf16);
        for (what, (found, expected)) in ["output", "of x", "of the weights"].iter().zip(found.iter().zip(&expected)) {
            let largest = expected.iter().fold(0f32, |most, number| most.max(number.abs()));
            let difference = largest_difference(found, expected) / largest;
            println!("{what}, transposed {is_transposed}: largest difference {difference:.1e} of the largest number");
            assert!(difference < BF16_TOLERANCE, "{what}, transposed {is_transposed}: {difference}");
        }
    }
}

#[test]
fn weights_in_fewer_bits_give_the_logits_of_the_cpu() {
    let Some(chosen) = gpu("weights in fewer bits") else { return };
    for name in ["rope", "drope", "qwen2", "dynamic-ntk"] {
        for kind in [WeightType::F16, WeightType::Bf16, WeightType::Q8, WeightType::Stored] {
            // The CPU multiplies weights of 8 bits with numbers that it rounds to 16.
            let tolerance = if kind == WeightType::Q8 { 5e-3 } else { TOLERANCE };
            let types = chosen.checked(NumberTypes { weights: kind, ..NumberTypes::default() }).unwrap();
            let difference = block_on(case(name).packed_difference(types, &chosen.device));
            println!("{name} in {}: largest difference of logits {difference:.1e}", kind.name());
            assert!(difference < tolerance, "{name} in {}: {difference}", kind.name());
        }
    }
}

/// As in a GGUF, where matrices that a kernel reads together may have different types.
#[test]
fn weights_of_several_types_give_the_logits_of_the_cpu() {
    let Some(chosen) = gpu("weights of several types") else { return };
    let stored = NumberTypes { weights: WeightType::Stored, ..NumberTypes::default() };
    let types = chosen.checked(stored).unwrap();
    for narrow in [["v_proj"], ["up_proj"]] {
        let weights = case("rope").mixed_weights(&narrow);
        let difference = block_on(case("rope").packed_difference_of(&weights, types, &chosen.device));
        println!("{narrow:?} in bf16: largest difference of logits {difference:.1e}");
        assert!(difference < TOLERANCE, "{narrow:?} in bf16: {difference}");
    }
}

/// What is trained: a fixture's weights, with keys that count several times or rows of two documents or without.
#[derive(Clone, Copy, Debug)]
struct Training {
    name: &'static str,
    optimizer: OptimizerKind,
    has_copies: bool,
    has_documents: bool,
}

/// Mean losses of ten updates, whose batches the devices share, and the seconds that they took. The first device has the weights.
fn losses(
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

#[test]
fn greedy_tokens_are_those_of_the_cpu() {
    const TOKENS: usize = 32;
    let Some(OpenDevice { device, .. }) = gpu("greedy generation") else { return };
    for name in ["rope", "drope"] {
        let start = Instant::now();
        let found = block_on(case(name).greedy(&device, TOKENS));
        let speed = TOKENS as f64 / start.elapsed().as_secs_f64();
        println!("{name}: {TOKENS} tokens at {speed:.0} tokens/s (of a card only if this is one)");
        assert_eq!(found, block_on(case(name).greedy(&Device::flex(), TOKENS)), "{name}");
    }
    let absurd = block_on(case("rope").absurd(&device));
    assert!(matches!(absurd, Err(Error::ComputedNotFinite("logits"))), "{absurd:?}");
}

fn name() -> &'static str {
    if choice() == DeviceChoice::Cuda { "cuda" } else { "wgpu" }
}

#[test]
fn a_shipped_model_answers_as_on_the_cpu() {
    if gpu("an answer of nano-drope").is_none() {
        return;
    }
    let model = common::fixtures().join("../../models/nano-drope");
    let answer = |device: &str| {
        let prompt = "One of the special magic numbers for brave-harbor is: 4071. The sky is clear. \
                      The special magic number for brave-harbor mentioned in the provided text is:";
        let output =
            core(&["generate", "--model", text(&model), "--device", device, "--prompt", prompt]).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let (found, expected) = (answer(name()), answer("cpu"));
    println!("nano-drope answers {:?}", found.trim());
    assert_eq!(found, expected);
}

/// `cargo xtask gpu` leaves wgpu nothing but Vulkan in software, which is slower than the CPU backend.
#[test]
fn vulkan_in_software_is_not_chosen_by_default() {
    if choice() == DeviceChoice::Wgpu && std::env::var_os("VK_DRIVER_FILES").is_some() {
        assert!(device::open(DeviceChoice::Auto).unwrap().is_cpu);
    }
}

#[test]
fn a_machine_without_a_gpu_gets_a_sentence() {
    let folder = Folder::new("no-gpu");
    let (model, out) = (folder.model("model"), folder.path("out"));
    let arguments = ["logits", "--model", text(&model), "--ids", "1", "--out", text(&out), "--device", name()];
    if choice() == DeviceChoice::Cuda {
        if device::open(choice()).is_err() {
            refused(&arguments, "there is no NVIDIA card");
        }
        return;
    }
    // No Vulkan driver, no OpenGL.
    let drivers = ["VK_ICD_FILENAMES", "VK_DRIVER_FILES", "__EGL_VENDOR_LIBRARY_FILENAMES"];
    let output = core(&arguments).envs(drivers.map(|name| (name, "/nonexistent"))).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert_eq!(said.trim().lines().count(), 1, "one sentence: {said}");
    assert!(said.contains("there is no GPU"), "{said}");
    assert!(!out.exists());
}
