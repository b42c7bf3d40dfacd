//! Updates: as in PyTorch, the same however a batch is split, and refused where they would break the model.
#![cfg(all(feature = "train", not(target_arch = "wasm32")))]

use std::collections::{BTreeMap, HashMap};

use burn::module::{Module, ModuleVisitor, Param};
use burn::optim::GradientsParams;
use burn::tensor::{Device, Tensor};
use drope_core::burn;
use drope_core::config::Config;
use drope_core::error::Error;
use drope_core::language::CopiesChange;
use drope_core::model::{ComputeType, Model};
use drope_core::positions::{Method, Positions};
use drope_core::train::{Batch, Hyperparameters, Memory, OptimizerKind, Schedule, Trainer, batch_gradients};
use pollster::block_on;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use safetensors::SafeTensors;

const CONFIG: &str = include_str!("../../tests/fixtures/rope/config.json");
const WEIGHTS: &[u8] = include_bytes!("../../tests/fixtures/rope/model.safetensors");
/// Written by tests/training_fixture.py; shapes [steps, rows, length].
const EXPECTED: &[u8] = include_bytes!("../../tests/fixtures/training/expected.safetensors");
const STEPS: usize = 5;
const ROWS: usize = 4;
const LENGTH: usize = 16;

fn config() -> Config {
    Config::from_json(CONFIG).unwrap()
}

fn model() -> Model {
    Model::from_safetensors(&config(), WEIGHTS, &Device::flex().autodiff()).unwrap()
}

fn positions() -> Positions {
    Method::Rope.positions(&config(), 1.0).unwrap()
}

fn words(file: &SafeTensors, name: &str) -> Vec<[u8; 4]> {
    file.tensor(name).unwrap().data().chunks_exact(4).map(|bytes| bytes.try_into().unwrap()).collect()
}

fn floats(file: &SafeTensors, name: &str) -> Vec<f32> {
    words(file, name).into_iter().map(f32::from_le_bytes).collect()
}

fn expected() -> SafeTensors<'static> {
    SafeTensors::deserialize(EXPECTED).unwrap()
}

fn batches() -> Vec<Batch> {
    let file = expected();
    let ids: Vec<u32> = words(&file, "ids").into_iter().map(u32::from_le_bytes).collect();
    let loss_weights = floats(&file, "loss_weights");
    let size = ROWS * LENGTH;
    let batch = |(ids, weights): (&[u32], &[f32])| Batch {
        loss_weights: weights.to_vec(),
        ..Batch::plain(ids.to_vec(), LENGTH)
    };
    ids.chunks(size).zip(loss_weights.chunks(size)).map(batch).collect()
}

fn hyperparameters(optimizer: OptimizerKind) -> Hyperparameters {
    let (_, metadata) = SafeTensors::read_metadata(EXPECTED).unwrap();
    let numbers: HashMap<String, String> = metadata.metadata().clone().unwrap();
    let number = |name: &str| numbers[name].parse::<f64>().unwrap();
    Hyperparameters {
        steps: STEPS,
        optimizer,
        weight_decay: number("weight_decay") as f32,
        schedule: Schedule::cosine(number("peak"), number("warmup") as usize, number("floor")),
        max_gradient_norm: number("max_norm"),
        compute: ComputeType::F32,
        memory: Memory::default(),
        guard: None,
    }
}

/// ‖a − b‖ / ‖b‖.
fn relative_error(a: &[f32], b: &[f32]) -> f64 {
    assert_eq!(a.len(), b.len());
    let norm = |values: &mut dyn Iterator<Item = f64>| values.map(|value| value * value).sum::<f64>().sqrt();
    let difference = norm(&mut a.iter().zip(b).map(|(a, b)| f64::from(*a) - f64::from(*b)));
    difference / norm(&mut b.iter().map(|&value| f64::from(value))).max(f64::MIN_POSITIVE)
}

/// Tensors of a safetensors file, by name.
fn tensors(bytes: &[u8]) -> BTreeMap<String, Vec<f32>> {
    let file = SafeTensors::deserialize(bytes).unwrap();
    file.names().into_iter().map(|name| (name.to_owned(), floats(&file, name))).collect()
}

fn weights(model: &Model) -> BTreeMap<String, Vec<f32>> {
    tensors(&block_on(model.to_safetensors()).unwrap())
}

/// Gradients by Hugging Face's names, in their layout.
struct Named<'a> {
    gradients: &'a GradientsParams,
    path: Vec<String>,
    found: BTreeMap<String, Vec<f32>>,
}

impl ModuleVisitor for Named<'_> {
    fn enter_module(&mut self, name: &str, _: &str) {
        self.path.push(name.to_owned());
    }

    fn exit_module(&mut self, _: &str, _: &str) {
        self.path.pop();
    }

    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        let gradient = self.gradients.get::<D>(param.id).expect("every parameter has a gradient");
        // What holds a weight has no name in Hugging Face's files.
        let parts = self.path.iter().map(String::as_str).filter(|part| !["linear", "embedding"].contains(part));
        let path = parts.collect::<Vec<_>>().join(".").replace(".gamma", ".weight");
        let name = if path.starts_with("lm_head") { path } else { format!("model.{path}") };
        let is_transposed = name.contains("_proj") || name.starts_with("lm_head");
        let gradient = if is_transposed { gradient.transpose() } else { gradient };
        self.found.insert(name, gradient.into_data().iter::<f32>().collect());
    }
}

fn named_gradients(model: &Model, gradients: &GradientsParams) -> BTreeMap<String, Vec<f32>> {
    let mut named = Named { gradients, path: Vec::new(), found: BTreeMap::new() };
    model.visit(&mut named);
    named.found
}

/// Rows of the batch at once, with and without computing blocks again, and with attention in chunks that do not fit the length.
fn memories() -> [Memory; 5] {
    let memory = |rows: Option<usize>, recompute| Memory {
        micro_batch_tokens: rows.map(|rows| rows * LENGTH),
        recompute,
        attention_queries: None,
    };
    let in_chunks = Memory { attention_queries: Some(5), ..memory(None, true) };
    [memory(None, false), memory(None, true), memory(Some(3), false), memory(Some(1), true), in_chunks]
}

/// The CPU, as often as devices share a batch.
fn cpus(devices: usize) -> Vec<Device> {
    vec![Device::flex().autodiff(); devices]
}

#[test]
fn gradients_are_those_of_pytorch() {
    let (file, model) = (expected(), model());
    let names: Vec<&str> = file.names().into_iter().filter_map(|name| name.strip_prefix("gradient.")).collect();
    for memory in memories() {
        for devices in [1, 3, ROWS, ROWS + 1] {
            let found = batch_gradients(&model, &cpus(devices), &batches()[0], &positions(), memory);
            let found = named_gradients(&model, &found.gradients);
            assert_eq!((names.len(), found.len()), (weights(&model).len(), names.len()));
            for name in &names {
                let error = relative_error(&found[*name], &floats(&file, &format!("gradient.{name}")));
                assert!(error < 1e-5, "{name} with {memory:?}: {error:e}");
            }
        }
    }
}

#[test]
fn losses_come_in_the_order_of_the_rows_however_they_are_computed() {
    let (model, batch) = (model(), batches().remove(0));
    let copies = Batch { multiplicity: (0..ROWS * LENGTH).map(|at| (at % 3 + 1) as f32).collect(), ..batch.clone() };
    for batch in [batch, copies] {
        let [first, others @ ..] = memories().map(|memory| {
            let [one, shared] = [1, 2].map(|devices| {
                let found = batch_gradients(&model, &cpus(devices), &batch, &positions(), memory);
                Tensor::cat(found.token_losses, 0).into_data().iter::<f32>().collect::<Vec<_>>()
            });
            assert!(relative_error(&shared, &one) < 1e-6, "{memory:?}");
            one
        });
        assert_eq!(first.len(), ROWS * (LENGTH - 1));
        assert!(others.iter().all(|losses| relative_error(losses, &first) < 1e-6));
    }
}

/// With and without a logarithm of the keys seen in the logits.
#[test]
fn packed_documents_have_the_losses_that_they_have_alone() {
    for scalable_softmax in [false, true] {
        let device = Device::flex().autodiff();
        let model = Model::random(&Config { scalable_softmax, ..config() }, 5, &device);
        let losses = |batch: &Batch, memory| {
            let losses = batch_gradients(&model, &cpus(1), batch, &positions(), memory).token_losses;
            Tensor::cat(losses, 0).into_data().iter::<f32>().collect::<Vec<_>>()
        };
        // Documents of 5 and of the other tokens.
        let Batch { ids, .. } = batches().remove(0);
        let row = &ids[..LENGTH];
        let document_starts = [vec![0; 5], vec![5; LENGTH - 5]].concat();
        let packed = Batch { document_starts, ..Batch::plain(row.to_vec(), LENGTH) };
        let alone = |ids: &[u32]| losses(&Batch::plain(ids.to_vec(), ids.len()), Memory::default());
        let (first, second) = (alone(&row[..5]), alone(&row[5..]));
        for memory in memories() {
            let found = losses(&packed, memory);
            // Loss 4 is that of the second document's first token.
            assert!(relative_error(&found[..4], &first) < 1e-5 && relative_error(&found[5..], &second) < 1e-5);
        }
        let seen = losses(&Batch::plain(row.to_vec(), LENGTH), Memory::default());
        assert!(relative_error(&seen[5..], &second) > 1e-3, "without a mask the first document is seen");
    }
}

/// Everything agrees within 1e-5, also what training changed, which is a hundredth of the weights.
fn five_updates_are_those_of_pytorch(kind: OptimizerKind, name: &str) {
    let file = expected();
    let losses = floats(&file, &format!("{name}.token_losses"));
    let norms = floats(&file, &format!("{name}.norms"));
    let rates = floats(&file, "learning_rates");
    let hyperparameters = hyperparameters(kind);
    let is_clipped = |norm: &f32| f64::from(*norm) > hyperparameters.max_gradient_norm;
    assert!(norms.iter().any(is_clipped) && !norms.iter().all(is_clipped), "both cases occur");
    let before = weights(&model());
    let mut trainer = Trainer::new(model(), positions(), hyperparameters);
    for (step, batch) in batches().iter().enumerate() {
        let report;
        (trainer, report) = block_on(trainer.step(batch)).unwrap();
        let expected = &losses[step * ROWS * (LENGTH - 1)..][..ROWS * (LENGTH - 1)];
        let error = relative_error(&report.token_losses, expected);
        assert!(error < 1e-5, "losses of step {step}: {error:e}");
        let error = (report.gradient_norm / f64::from(norms[step]) - 1.0).abs();
        assert!(error < 1e-5, "norm of step {step}: {error:e}");
        assert!((report.learning_rate / f64::from(rates[step]) - 1.0).abs() < 1e-6, "step {step}");
    }
    for (tensor, found) in weights(trainer.model()) {
        let expected = floats(&file, &format!("{name}.{tensor}"));
        let change = |after: &[f32]| after.iter().zip(&before[&tensor]).map(|(a, b)| a - b).collect::<Vec<_>>();
        let error = relative_error(&change(&found), &change(&expected));
        assert!(error < 1e-5, "change of {tensor}: {error:e}");
    }
}

#[test]
fn five_updates_of_adamw_are_those_of_pytorch() {
    five_updates_are_those_of_pytorch(OptimizerKind::AdamW, "adamw");
}

#[test]
fn five_updates_of_muon_are_those_of_pytorch() {
    five_updates_are_those_of_pytorch(OptimizerKind::Muon, "muon");
}

#[test]
fn a_run_goes_on_where_its_optimizer_was() {
    let batches = batches();
    let train = |trainer: Trainer, batches: &[Batch]| {
        batches.iter().fold(trainer, |trainer, batch| block_on(trainer.step(batch)).unwrap().0)
    };
    let begin = |model| Trainer::new(model, positions(), hyperparameters(OptimizerKind::AdamW));
    let whole = train(begin(model()), &batches);
    let half = train(begin(model()), &batches[..2]);
    let saved = block_on(half.model().to_safetensors()).unwrap();
    let loaded = Model::from_safetensors(&config(), &saved, &Device::flex().autodiff()).unwrap();
    let resumed = begin(loaded).resumed(2, half.optimizer().to_bytes().unwrap(), half.guard().clone()).unwrap();
    assert_eq!(weights(train(resumed, &batches[2..]).model()), weights(whole.model()));
}

#[test]
fn gradients_that_are_not_finite_end_the_run() {
    let mut batch = batches().remove(0);
    batch.loss_weights[3] = f32::INFINITY;
    let trainer = Trainer::new(model(), positions(), hyperparameters(OptimizerKind::Muon));
    assert!(matches!(block_on(trainer.step(&batch)), Err(Error::Diverged(1))));
}

#[test]
fn a_batch_without_loss_weights_moves_nothing_but_by_decay() {
    let mut batch = batches().remove(0);
    batch.loss_weights.fill(0.0);
    let hyperparameters = Hyperparameters { weight_decay: 0.0, ..hyperparameters(OptimizerKind::AdamW) };
    let (trainer, report) = block_on(Trainer::new(model(), positions(), hyperparameters).step(&batch)).unwrap();
    assert_eq!(report.gradient_norm, 0.0);
    assert_eq!(weights(trainer.model()), weights(&model()));
}

/// Sequences that count on, and start anew at some tokens.
fn counting(seed: u64, vocabulary: u32) -> Batch {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut at = 0;
    let mut next = || {
        at = if rng.random_bool(0.2) { rng.random_range(0..vocabulary) } else { (at + 1) % vocabulary };
        at
    };
    Batch::plain((0..ROWS * LENGTH).map(|_| next()).collect(), LENGTH)
}

#[test]
fn training_in_bf16_follows_training_in_f32() {
    const STEPS: usize = 200;
    let mean_of_last = |compute| {
        let schedule = Schedule::cosine(3e-3, 10, 0.1);
        let hyperparameters =
            Hyperparameters { steps: STEPS, schedule, compute, ..hyperparameters(OptimizerKind::AdamW) };
        let mut trainer = Trainer::new(model(), positions(), hyperparameters);
        let mut losses = Vec::new();
        for step in 0..STEPS {
            let report;
            (trainer, report) = block_on(trainer.step(&counting(step as u64, config().vocab_size as u32))).unwrap();
            losses.push(report.token_losses.iter().sum::<f32>() / report.token_losses.len() as f32);
        }
        let mean = |losses: &[f32]| losses.iter().sum::<f32>() / losses.len() as f32;
        (mean(&losses[..20]), mean(&losses[STEPS - 20..]), weights(trainer.model()))
    };
    let (first, full, of_full) = mean_of_last(ComputeType::F32);
    let (_, half, of_half) = mean_of_last(ComputeType::Bf16);
    assert!(full < 0.8 * first, "the model learns: {first} to {full}");
    assert!((half / full - 1.0).abs() < 0.02, "{half} in bf16, {full} in f32");
    assert_ne!(of_half, of_full, "bf16 is not f32");
}

/// Losses of a batch whose tokens count up to four times.
fn losses_with_copies(positions: &Positions, copies_change: CopiesChange) -> Vec<f32> {
    let plain = batches().swap_remove(0);
    let multiplicity = (0..plain.ids.len()).map(|token| if token / 4 % 2 == 0 { 1.0 } else { 4.0 }).collect();
    let batch = Batch { multiplicity, copies_change, ..plain };
    let device = Device::flex().autodiff();
    let found = batch_gradients(&model(), &[device], &batch, positions, Memory::default());
    found.token_losses.into_iter().flat_map(|losses| losses.into_data().iter::<f32>().collect::<Vec<_>>()).collect()
}

#[test]
fn copies_change_what_a_recipe_says() {
    let losses = |positions: &Positions| CopiesChange::ALL.map(|change| losses_with_copies(positions, change));
    let [both, counts, skips] = losses(&positions());
    for (a, b) in [(&both, &counts), (&both, &skips), (&counts, &skips)] {
        assert!(relative_error(a, b) > 1e-3);
    }
    // Without positions only the counts are left.
    let [both, counts, skips] = losses(&Positions::none());
    assert_eq!(both, counts);
    let plain =
        batch_gradients(&model(), &[Device::flex().autodiff()], &batches()[0], &Positions::none(), Memory::default());
    let plain = plain.token_losses.into_iter().flat_map(|losses| losses.into_data().iter::<f32>().collect::<Vec<_>>());
    assert_eq!(skips, plain.collect::<Vec<f32>>());
}
