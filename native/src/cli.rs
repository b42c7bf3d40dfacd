//! Commands and their arguments.

use std::path::PathBuf;

use anyhow::Result;
use clap::{Args, Parser, Subcommand};

use drope_core::config::Config;
use drope_core::dope::{Criterion, From, Noise, Order, Parts, Removal, Stage};
use drope_core::language::Values;
use drope_core::niah::{Filler, Task};
use drope_core::positions::{Method, Positions};
use drope_core::results::Shard;

use crate::device::DeviceChoice;
use crate::recipe::PositionEmbedding;
use crate::{bench, dope, evaluate, fit_scale, generate, inspect, logits, perplexity, probe, reproduce, search, train};

/// Train language models, drop their position embeddings, and measure how far they read.
#[derive(Parser)]
#[command(name = "core", version)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Train a model from random weights.
    Pretrain {
        /// Position embedding instead of the recipe's.
        #[arg(long, value_enum)]
        pe: Option<PositionEmbedding>,
        #[command(flatten)]
        train: Train,
    },
    /// Drop the positions of a trained model and train it a little more, never beyond its context.
    Recalibrate {
        /// Folder of the trained model.
        #[arg(long)]
        from: PathBuf,
        #[command(flatten)]
        train: Train,
    },
    /// Fit the temperature β = 1 + c·ln s by the perplexity of answers in held-out text, and write c into the config.
    FitScale {
        /// Folder of the model.
        #[arg(long)]
        model: PathBuf,
        /// One temperature for all heads, or one for each.
        #[arg(long, value_enum, default_value = "uniform")]
        kind: fit_scale::Kind,
        /// Documents a length.
        #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u64).range(1..))]
        documents: u64,
        /// Seed of the documents.
        #[arg(long, default_value_t = 1)]
        seed: u64,
        /// Where to compute.
        #[arg(long, value_enum, default_value = "auto")]
        device: DeviceChoice,
    },
    /// Write the logits of token ids, to compare with other implementations.
    Logits {
        #[command(flatten)]
        reading: Reading,
        /// Token ids, separated by commas.
        #[arg(long, value_delimiter = ',', required = true)]
        ids: Vec<u32>,
        /// Safetensors file for the tensor `logits`, [seq, vocab] in f32.
        #[arg(long)]
        out: PathBuf,
    },
    /// Continue a prompt.
    Generate {
        #[command(flatten)]
        reading: Reading,
        /// Text to continue.
        #[arg(long)]
        prompt: String,
        /// Most tokens to generate.
        #[arg(long, default_value_t = 64)]
        max_new_tokens: usize,
        /// 0 takes the most likely token, above 0 samples.
        #[arg(long, default_value_t = 0.0)]
        temperature: f64,
        /// Seed of the sampling.
        #[arg(long, default_value_t = 0)]
        seed: u64,
        /// Tokens of prompt and answer that there is room for; default: the training context times --factor.
        #[arg(long)]
        context: Option<usize>,
    },
    /// Show the config, the number of parameters and the effective frequencies under a method.
    Inspect {
        #[command(flatten)]
        reading: Reading,
    },
    /// Time training, prefill and decoding; one line of JSON.
    Bench {
        /// Folder of the model.
        #[arg(long)]
        model: PathBuf,
        /// CPU threads of training; reading uses one.
        #[arg(long, default_value_t = 1)]
        threads: usize,
        /// Runs of each; the median counts.
        #[arg(long, default_value_t = 7, value_parser = clap::value_parser!(u64).range(1..))]
        repeats: u64,
        /// Where to compute.
        #[arg(long, value_enum, default_value = "cpu")]
        device: DeviceChoice,
    },
    /// Measure a model.
    #[command(subcommand)]
    Eval(Eval),
    /// Show what each head looks at when a question has been read: needle, other needles, first token, entropy.
    Probe {
        /// Folder of the model.
        #[arg(long)]
        model: PathBuf,
        /// Position methods, as for `eval niah`.
        #[arg(long, value_delimiter = ',', required = true)]
        method: Vec<Method>,
        /// Extension factors: multiples of the training context.
        #[arg(long, value_delimiter = ',', default_value = "1,2,4,8", value_parser = clap::value_parser!(u64).range(1..))]
        extension: Vec<u64>,
        /// Questions a length.
        #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u64).range(1..))]
        trials: u64,
        /// Seed of the questions.
        #[arg(long, default_value_t = 20_000)]
        seed: u64,
        /// File for the results, one entry a head.
        #[arg(long)]
        json: Option<PathBuf>,
        /// Where to compute.
        #[arg(long, value_enum, default_value = "auto")]
        device: DeviceChoice,
    },
    /// Denoising positional encoding (DoPE).
    #[command(subcommand)]
    Dope(Dope),
    /// Search for the parameters of a method.
    #[command(subcommand)]
    Search(Search),
    /// Make the papers' tables and figures at nano size: Markdown, JSON and SVG.
    Reproduce {
        /// Folder for the report.
        #[arg(long)]
        out: PathBuf,
        /// Minutes in place of hours: few questions, lengths up to 4x, nothing trained.
        #[arg(long)]
        quick: bool,
        /// Measure and train nothing: write again what can be made from the results files.
        #[arg(long, conflicts_with = "quick")]
        render: bool,
        /// Folder of results files, which are added to; what they hold is not measured again; default: data in --out.
        #[arg(long)]
        data: Option<PathBuf>,
        /// Folder of the models to begin with; those that are missing are trained into models in --out.
        #[arg(long, default_value = "models")]
        models: PathBuf,
        /// Folder of the recipes.
        #[arg(long, default_value = "recipes")]
        recipes: PathBuf,
        /// Only these sections: retrieval, loss, gradients, crop, frequencies, mass, dope, cut, passkey, drop-time, qk-norm,
        /// long.
        #[arg(long, value_delimiter = ',')]
        only: Vec<String>,
        /// Where to compute.
        #[arg(long, value_enum, default_value = "auto")]
        device: DeviceChoice,
        /// CPU threads of measuring; training uses one.
        #[arg(long, default_value_t = std::thread::available_parallelism().map_or(1, Into::into))]
        threads: usize,
    },
    /// Join the results of all shards into one file, as if they had been measured together.
    Merge {
        /// Files that `eval` wrote with --shard.
        #[arg(required = true)]
        files: Vec<PathBuf>,
        /// File for the whole.
        #[arg(long)]
        json: PathBuf,
    },
}

#[derive(Subcommand)]
enum Search {
    /// Factors for LongRoPE by evolution, with critical dimension (LongRoPE2).
    Longrope2 {
        /// Folder of the model.
        #[arg(long)]
        model: PathBuf,
        /// Folder for the model with the factors in its config, and for the state of the search; a search that was stopped
        /// goes on.
        #[arg(long)]
        out: PathBuf,
        /// Extension factor.
        #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u64).range(2..))]
        factor: u64,
        /// Generations of 64 candidates.
        #[arg(long, default_value_t = 40, value_parser = clap::value_parser!(u64).range(1..))]
        generations: u64,
        /// Documents that candidates are judged by.
        #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u64).range(1..))]
        texts: u64,
        /// Seed of the search and of the documents.
        #[arg(long, default_value_t = 1)]
        seed: u64,
        /// Where to compute.
        #[arg(long, value_enum, default_value = "auto")]
        device: DeviceChoice,
    },
}

#[derive(Subcommand)]
enum Dope {
    /// Choose the heads whose position encoding DoPE removes, by the truncated matrix entropy of their queries or keys.
    Select {
        /// Folder of the model.
        #[arg(long)]
        model: PathBuf,
        /// How many heads, of all layers together.
        #[arg(long, default_value_t = 3)]
        heads: usize,
        /// What is judged: query, key.
        #[arg(long, default_value = "query")]
        from: From,
        /// Where: pre_ntk (as projected), post_ntk (turned by the scaled frequencies), post_rope (by those of training).
        #[arg(long, default_value = "post_ntk")]
        stage: Stage,
        /// r: eigenvalues that count; 0: all.
        #[arg(long, default_value_t = 16)]
        rank: usize,
        /// Which end of the ranking: ascending (lowest scores), descending.
        #[arg(long, default_value = "ascending")]
        order: Order,
        /// Extension factor of the texts and of the NTK scaling.
        #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u64).range(1..))]
        extension: u64,
        /// What removing means: identity (vectors are not turned), zero (as printed in the paper).
        #[arg(long, default_value = "identity")]
        removal: Removal,
        /// What dope-parts removes: low (frequencies below 2π/C), high (as printed in the paper).
        #[arg(long, default_value = "low")]
        parts: Parts,
        /// Variance of dope-gaussian's noise: matched, unit.
        #[arg(long, default_value = "matched")]
        noise: Noise,
        /// Documents that heads are judged on.
        #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u64).range(1..))]
        texts: u64,
        /// Seed of the documents.
        #[arg(long, default_value_t = 1)]
        seed: u64,
        /// File for the choice, for `eval niah --heads`.
        #[arg(long)]
        json: Option<PathBuf>,
        /// Write the choice into the model's config, where every reader finds it.
        #[arg(long)]
        save: bool,
        /// Where to compute.
        #[arg(long, value_enum, default_value = "auto")]
        device: DeviceChoice,
    },
}

#[derive(Subcommand)]
enum Eval {
    /// Needles in a haystack, at multiples of the training context.
    Niah(Niah),
    /// Perplexity over a sliding window, at multiples of the training context.
    Ppl(Ppl),
}

#[derive(Args)]
struct Ppl {
    /// Folder of the model.
    #[arg(long)]
    model: PathBuf,
    /// Position methods, as for `eval niah`.
    #[arg(long, value_delimiter = ',', required = true)]
    method: Vec<Method>,
    /// Extension factors: windows in multiples of the training context.
    #[arg(long, value_delimiter = ',', default_value = "1,2,4,8", value_parser = clap::value_parser!(u64).range(1..))]
    extension: Vec<u64>,
    /// Tokens from window to window; default: half a window.
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    stride: Option<u64>,
    /// A text file to predict; default: held-out documents of the synthetic language.
    #[arg(long)]
    text: Option<PathBuf>,
    /// Texts, each as long as the longest window.
    #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u64).range(1..))]
    texts: u64,
    /// Seed of the documents.
    #[arg(long, default_value_t = 20_000)]
    seed: u64,
    /// Read only this part of the texts, such as 3/16; `core merge` joins the parts.
    #[arg(long, default_value = "1/1")]
    shard: Shard,
    /// Temperature of the logits instead of the config's 1 + c·ln s.
    #[arg(long)]
    beta: Option<f64>,
    /// For p-drope: frequencies below this, in radians a token, are dropped; default: the config's, else 2π/C.
    #[arg(long)]
    cut: Option<f64>,
    /// File for the results; cells that it already holds are not run again.
    #[arg(long)]
    json: Option<PathBuf>,
    /// Where to compute.
    #[arg(long, value_enum, default_value = "auto")]
    device: DeviceChoice,
}

#[derive(Args)]
struct Niah {
    /// Folder of the model.
    #[arg(long)]
    model: PathBuf,
    /// Position methods: rope, crop, pi, ntk, dynamic-ntk, yarn, yarn-as-printed, llama3, longrope, dope-parts,
    /// dope-all, dope-gaussian, drope, p-drope, nope, alibi, rnope-swa.
    #[arg(long, value_delimiter = ',', required = true)]
    method: Vec<Method>,
    /// Tasks: single, multi-key, multi-query, multi-value, passkey.
    #[arg(long, value_delimiter = ',', default_value = "multi-key")]
    task: Vec<Task>,
    /// Values: numbers, words.
    #[arg(long, value_delimiter = ',', default_value = "numbers")]
    values: Vec<Values>,
    /// Extension factors: multiples of the training context.
    #[arg(long, value_delimiter = ',', default_value = "1,2,4,8", value_parser = clap::value_parser!(u64).range(1..))]
    extension: Vec<u64>,
    /// Questions a cell.
    #[arg(long, default_value_t = 500, value_parser = clap::value_parser!(u64).range(1..))]
    trials: u64,
    /// Seed of the questions.
    #[arg(long, default_value_t = 20_000)]
    seed: u64,
    /// Ask only this part of the questions, such as 3/16; `core merge` joins the parts.
    #[arg(long, default_value = "1/1")]
    shard: Shard,
    /// Temperature of the logits instead of the config's 1 + c·ln s.
    #[arg(long)]
    beta: Option<f64>,
    /// For p-drope: frequencies below this, in radians a token, are dropped; default: the config's, else 2π/C.
    #[arg(long)]
    cut: Option<f64>,
    /// Depths of the needle, 0 (start of the haystack) to 1 (end), a cell each; default: at random.
    #[arg(long, value_delimiter = ',', value_parser = share)]
    depth: Vec<f64>,
    /// What needles are hidden in: prose, or grass (Wang's repeated sentences); default: grass for passkey, else prose.
    #[arg(long)]
    filler: Option<Filler>,
    /// Attention-sink tokens (beginning of text) right behind each needle that is asked for: DoPE's noisy setting.
    #[arg(long, default_value_t = 0)]
    sinks: usize,
    /// For dope-*: heads that `core dope select` wrote; default: dope.json in the model's folder.
    #[arg(long)]
    heads: Option<PathBuf>,
    /// File for the results; cells that it already holds are not run again.
    #[arg(long)]
    json: Option<PathBuf>,
    /// Where to compute.
    #[arg(long, value_enum, default_value = "auto")]
    device: DeviceChoice,
    /// CPU threads.
    #[arg(long, default_value_t = std::thread::available_parallelism().map_or(1, Into::into))]
    threads: usize,
}

/// A model and how to read it.
#[derive(Args)]
struct Reading {
    /// Folder of the model.
    #[arg(long)]
    model: PathBuf,
    /// Position method: rope, crop, pi, ntk, dynamic-ntk, yarn, yarn-as-printed, llama3, longrope, dope-parts,
    /// dope-all, dope-gaussian, drope, p-drope, nope, alibi, rnope-swa; default: what the config says.
    #[arg(long)]
    method: Option<Method>,
    /// Extension factor: how many times the training context is to be read; default: what the config's own scaling says.
    #[arg(long)]
    factor: Option<f64>,
    /// Temperature of the logits instead of the config's 1 + c·ln s.
    #[arg(long)]
    beta: Option<f64>,
    /// For p-drope: frequencies below this, in radians a token, are dropped; default: the config's, else 2π/C.
    #[arg(long)]
    cut: Option<f64>,
    /// Where to compute.
    #[arg(long, value_enum, default_value = "auto")]
    device: DeviceChoice,
}

impl Reading {
    fn method(&self, config: &Config) -> Method {
        self.method.unwrap_or_else(|| Method::of(config))
    }

    /// A config's scaling is part of the model as long as its own method reads it.
    fn factor(&self, config: &Config) -> f64 {
        let own = if self.method(config) == Method::of(config) { config.rope.scaling.factor() } else { 1.0 };
        self.factor.unwrap_or(own)
    }

    fn positions(&self, config: &Config) -> Result<Positions> {
        let config = &config.clone().with_cut(self.cut);
        let positions = self.method(config).positions(config, self.factor(config))?;
        Ok(match self.beta {
            Some(beta) => positions.with_logit_scale(beta),
            None => positions,
        })
    }
}

#[derive(Args)]
struct Train {
    /// Recipe, a TOML file.
    #[arg(long)]
    recipe: PathBuf,
    /// Folder for the model, its loss curve and, until it is done, the checkpoint.
    #[arg(long)]
    out: PathBuf,
    /// Go on from the checkpoint in --out.
    #[arg(long)]
    resume: bool,
    /// Where to compute.
    #[arg(long, value_enum, default_value = "auto")]
    device: DeviceChoice,
    /// CPU threads; the result depends on it in the last bits.
    #[arg(long, default_value_t = std::thread::available_parallelism().map_or(1, Into::into))]
    threads: usize,
    /// Updates between checkpoints.
    #[arg(long, default_value_t = 200)]
    save_every: usize,
    /// Pause after this update: the model so far is in the folder `checkpoint` in --out, and --resume goes on.
    #[arg(long)]
    until: Option<usize>,
}

impl Train {
    fn options(&self) -> train::Options<'_> {
        train::Options {
            recipe: &self.recipe,
            out: &self.out,
            resume: self.resume,
            device: self.device,
            threads: self.threads,
            save_every: self.save_every.max(1),
            until: self.until,
        }
    }
}

/// A number from 0 to 1.
fn share(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().ok().filter(|share| (0.0..=1.0).contains(share));
    number.ok_or_else(|| "a depth is a number from 0 to 1".to_owned())
}

/// Runs a command.
pub fn run(cli: Cli) -> Result<()> {
    match cli.command {
        Command::Pretrain { pe, train } => train::pretrain(pe, &train.options()),
        Command::Recalibrate { from, train } => train::recalibrate(&from, &train.options()),
        Command::FitScale { model, kind, documents, seed, device } => {
            fit_scale::run(&model, kind, documents as usize, seed, device)
        }
        Command::Logits { reading, ids, out } => {
            logits::write(&reading.model, &ids, |config| reading.positions(config), &out, reading.device)
        }
        Command::Generate { reading, prompt, max_new_tokens, temperature, seed, context } => {
            let request = generate::Request {
                folder: &reading.model,
                prompt: &prompt,
                max_new_tokens,
                temperature,
                seed,
                context,
                device: reading.device,
            };
            generate::run(&request, |config| {
                Ok((reading.method(config), reading.positions(config)?, reading.factor(config)))
            })
        }
        Command::Inspect { reading } => inspect::print(&reading.model, |config| {
            Ok((reading.positions(config)?, reading.method(config), reading.factor(config)))
        }),
        Command::Bench { model, threads, repeats, device } => bench::run(&model, threads, repeats as usize, device),
        Command::Eval(Eval::Ppl(ppl)) => perplexity::run(&perplexity::Request {
            model: ppl.model,
            methods: ppl.method,
            extensions: ppl.extension.into_iter().map(|factor| factor as usize).collect(),
            stride: ppl.stride.map(|stride| stride as usize),
            text: ppl.text,
            texts: ppl.texts as usize,
            seed: ppl.seed,
            shard: ppl.shard,
            beta: ppl.beta,
            cut: ppl.cut,
            json: ppl.json,
            device: ppl.device,
        })
        .map(|_| ()),
        Command::Probe { model, method, extension, trials, seed, json, device } => probe::run(&probe::Request {
            model,
            methods: method,
            extensions: extension.into_iter().map(|factor| factor as usize).collect(),
            trials: trials as usize,
            seed,
            json,
            device,
        })
        .map(|_| ()),
        Command::Dope(Dope::Select {
            model,
            heads,
            from,
            stage,
            rank,
            order,
            extension,
            removal,
            parts,
            noise,
            texts,
            seed,
            json,
            save,
            device,
        }) => dope::select(&dope::Request {
            model,
            heads,
            criterion: Criterion { from, stage, rank: (rank > 0).then_some(rank), order },
            extension: extension as usize,
            removal,
            parts,
            noise,
            texts: texts as usize,
            seed,
            json,
            save,
            device,
        })
        .map(|_| ()),
        Command::Search(Search::Longrope2 { model, out, factor, generations, texts, seed, device }) => {
            search::longrope2(&search::Request {
                model,
                out,
                factor: factor as usize,
                generations: generations as usize,
                texts: texts as usize,
                seed,
                device,
            })
        }
        Command::Reproduce { out, quick, render, data, models, recipes, only, device, threads } => {
            let data = data.unwrap_or_else(|| out.join("data"));
            reproduce::run(&reproduce::Request { out, data, models, recipes, quick, render, only, device, threads })
        }
        Command::Merge { files, json } => evaluate::merge(&files, &json),
        Command::Eval(Eval::Niah(niah)) => evaluate::niah(&evaluate::Request {
            model: niah.model,
            methods: niah.method,
            tasks: niah.task,
            values: niah.values,
            extensions: niah.extension.into_iter().map(|factor| factor as usize).collect(),
            trials: niah.trials as usize,
            seed: niah.seed,
            depths: if niah.depth.is_empty() { vec![None] } else { niah.depth.into_iter().map(Some).collect() },
            filler: niah.filler,
            sinks: niah.sinks,
            heads: niah.heads,
            shard: niah.shard,
            beta: niah.beta,
            cut: niah.cut,
            json: niah.json,
            device: niah.device,
            threads: niah.threads,
        })
        .map(|_| ()),
    }
}
