//! `core plan`: memory, operations and hours of a recalibration, before anyone pays for it.

mod cards;

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use burn::tensor::Device;
use clap::Args;
use drope_core::config::Config;
use drope_core::model::ComputeType;
use drope_core::train::cost::{Engine, MemoryPart, MicroBatch, memory, operations_per_token};
use drope_core::train::recipe::Recipe;

use self::cards::Cards;
use crate::arguments::at_least_one;
use crate::files::{self, model_folder, weights_files};
use crate::timing::products_per_second;
use crate::training::recipe::{self, Settings};
use crate::{machine, threads};

/// Shares of the speed of products alone that whole updates reached where `core` was measured (docs/benchmarks.md).
const SHARE_F32: [f64; 2] = [0.6, 0.85];
const SHARE_BF16: [f64; 2] = [0.3, 0.45];
/// Shares of a card's peak that others report for models of this size under FSDP, which was not run here.
const SHARE_OF_CARDS: [f64; 2] = [0.25, 0.45];

/// Arguments of `core plan`.
#[derive(Args)]
pub struct PlanArgs {
    /// Recipe, a TOML file.
    #[arg(long)]
    recipe: PathBuf,
    /// Fields of the recipe in place of its own, as in `core recalibrate`.
    #[arg(long, value_name = "FIELD=VALUE", value_parser = recipe::settings)]
    set: Vec<Settings>,
    /// Folder of the model, a GGUF, or a config.json; by default the file beside the recipe that has its name and ends with .json.
    #[arg(long)]
    from: Option<PathBuf>,
    /// Cards and their number, such as h100:8: what PyTorch's FSDP needs on them. Without it, what `core` needs on this machine.
    #[arg(long)]
    gpu: Option<Cards>,
    /// With --gpu: rows that go through the model at once on a card.
    #[arg(long, default_value = "4", value_parser = at_least_one, requires = "gpu")]
    rows: usize,
    /// With --gpu: price of an hour of one card, in any currency.
    #[arg(long, requires = "gpu")]
    price: Option<f64>,
    /// CPU threads that compute.
    #[arg(long, default_value_t = threads::available(), value_parser = at_least_one)]
    threads: usize,
}

/// Prints the plan.
pub fn plan(args: &PlanArgs) -> Result<()> {
    let recipe = recipe::read(&args.recipe, &args.set.concat())?;
    let config = config(args)?;
    let tokens = recipe.steps as f64 * recipe.tokens_of_update() as f64;
    println!(
        "{} parameters, {} updates of {} tokens",
        config.num_parameters(),
        recipe.steps,
        recipe.tokens_of_update()
    );
    match &args.gpu {
        Some(cards) => on_cards(args, &recipe, &config, cards, tokens),
        None => on_this_machine(args, &recipe, &config, tokens),
    }
}

fn config(args: &PlanArgs) -> Result<Config> {
    let path = match &args.from {
        Some(model) if model.is_dir() || weights_files::is_gguf(model) => return model_folder::config(model),
        Some(file) => file.clone(),
        None => {
            let beside = args.recipe.with_extension("json");
            ensure!(beside.exists(), "say with --from which model the recipe is for; there is no {}", beside.display());
            beside
        }
    };
    Config::from_json(&files::read_text(&path)?).with_context(|| path.display().to_string())
}

fn on_cards(args: &PlanArgs, recipe: &Recipe, config: &Config, cards: &Cards, tokens: f64) -> Result<()> {
    let rows = args.rows.min((recipe.rows_of_update() / cards.count).max(1));
    let micro_batch =
        MicroBatch { context: recipe.context, tokens: rows * recipe.context, recompute: recipe.memory.recompute };
    let need = |tokens: usize| {
        memory(config, recipe.optimizer, Engine::Torch { devices: cards.count }, MicroBatch { tokens, ..micro_batch })
    };
    println!("memory of each of {} {} under FSDP, {rows} rows of {} at once:", cards.count, cards.name, recipe.context);
    print_memory(need, micro_batch, cards.memory, "give fewer --rows");
    let operations = operations_per_token(config, micro_batch) * tokens;
    let seconds = SHARE_OF_CARDS.map(|share| operations / (cards.count as f64 * cards.bf16_peak * share));
    print_time(operations, tokens, seconds);
    if let Some(price) = args.price {
        let [most, least] = seconds.map(|seconds| seconds / 3600.0 * cards.count as f64 * price);
        println!("price: {least:.0} to {most:.0}");
    }
    println!(
        "The peak is the vendor's ({:.0} TFLOP/s), its share 25 to 45 % what others report; neither was measured by this project. `core` \
         itself keeps weights and optimizer whole on every card (--gpus); a model that is too large for one runs under `core recalibrate --engine torch`.",
        cards.bf16_peak / 1e12
    );
    Ok(())
}

fn on_this_machine(args: &PlanArgs, recipe: &Recipe, config: &Config, tokens: f64) -> Result<()> {
    let (processor, total) = machine::processor_and_memory();
    let at_once =
        recipe.memory.micro_batch_tokens.unwrap_or(usize::MAX).min(recipe.tokens_per_step).max(recipe.context);
    let micro_batch = MicroBatch { context: recipe.context, tokens: at_once, recompute: recipe.memory.recompute };
    println!("memory of `core` on the CPU, {at_once} tokens at once:");
    let need = |tokens: usize| memory(config, recipe.optimizer, Engine::Core, MicroBatch { tokens, ..micro_batch });
    print_memory(need, micro_batch, total, "lower memory.micro_batch_tokens");
    let peak = threads::with_shared_kernels(args.threads, || products_per_second(recipe.compute, &Device::flex()))?;
    let is_native = recipe.compute == ComputeType::Bf16 && recipe.compute.is_native_to(&Device::flex());
    let shares = if is_native { SHARE_BF16 } else { SHARE_F32 };
    let operations = operations_per_token(config, micro_batch) * tokens;
    print_time(operations, tokens, shares.map(|share| operations / (peak * share)));
    println!(
        "{processor}, {} threads: products in {} reach {:.0} GFLOP/s, measured now; updates reached {:.0} to {:.0} % of such a speed where \
         they were measured.",
        args.threads,
        recipe.compute,
        peak / 1e9,
        100.0 * shares[0],
        100.0 * shares[1]
    );
    Ok(())
}

/// The parts that so many tokens at once need, and what to do where they do not fit.
fn print_memory(need: impl Fn(usize) -> Vec<MemoryPart>, micro_batch: MicroBatch, available: u64, fewer_at_once: &str) {
    let sum_of = |parts: &[MemoryPart]| parts.iter().map(|part| part.bytes).sum::<u64>() as f64;
    let fits = |bytes: f64| bytes <= 0.9 * available as f64;
    let parts = need(micro_batch.tokens);
    let sum = sum_of(&parts);
    for part in &parts {
        println!("  {:28} {:>9.2} GB", part.name, part.bytes as f64 / 1e9);
    }
    println!("  {:28} {:>9.2} GB of {:.0} GB", "in all", sum / 1e9, available as f64 / 1e9);
    if fits(sum) {
        return;
    }
    let of_model = sum_of(&need(0));
    if !fits(of_model) {
        println!(
            "  This does not fit, whatever the batch: {:.2} GB do not depend on it; plan for several cards (--gpu h100:8)",
            of_model / 1e9
        );
    } else if micro_batch.recompute {
        println!("  This does not fit: {fewer_at_once}.");
    } else {
        println!("  This does not fit: set memory.recompute = true, or {fewer_at_once}.");
    }
}

/// `seconds` at the lower and at the higher speed.
fn print_time(operations: f64, tokens: f64, seconds: [f64; 2]) {
    println!("{tokens:.3e} tokens, {operations:.2e} floating-point operations");
    let [slow, fast] = seconds.map(|seconds| seconds / 3600.0);
    println!("time: {fast:.1} to {slow:.1} hours, {:.0} to {:.0} tokens/s", tokens / seconds[0], tokens / seconds[1]);
}
