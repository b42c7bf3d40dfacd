//! `core`: pretrain, drop positions, recalibrate, evaluate.

mod answer;
mod bench;
mod benchmarks;
mod cli;
mod convert;
mod device;
mod dope;
mod evaluate;
mod files;
mod fit_scale;
mod generate;
mod held_out;
mod inspect;
mod interrupt;
mod logits;
mod measure;
mod model_folder;
mod perplexity;
mod probe;
mod recipe;
mod reproduce;
mod results_file;
mod search;
mod study;
mod sweep;
mod threads;
mod train;
mod tune;
mod tuned;
mod weights_files;

use clap::Parser;

/// The system's allocator hands every large tensor back to the kernel when it is dropped, and a third of a training step
/// went into getting the same pages again.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Exit code of every error that has a sentence to say.
const FAILURE: i32 = 2;

fn main() {
    // Burn panics on some failures of a device; its message is the sentence, the backtrace is noise.
    std::panic::set_hook(Box::new(|info| {
        let message = info.payload_as_str().unwrap_or_default();
        // What reads our output has seen enough of it (`| head`).
        if message.contains("failed printing to stdout") {
            std::process::exit(0);
        }
        eprintln!("error: {info}");
    }));
    let outcome = std::panic::catch_unwind(|| cli::execute(cli::Cli::parse()));
    match outcome {
        Ok(Ok(())) => {}
        Ok(Err(error)) => {
            eprintln!("error: {error:#}");
            std::process::exit(if error.is::<interrupt::Stopped>() { interrupt::EXIT_CODE } else { FAILURE });
        }
        Err(_) => std::process::exit(FAILURE),
    }
}
