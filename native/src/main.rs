//! `core`: pretrain, drop positions, recalibrate, evaluate.

#![warn(clippy::print_stderr, reason = "`eprintln!` panics where the error output is closed; `messages::say` does not")]

mod allocator;
mod arguments;
mod commands;
mod data;
mod device;
mod files;
mod interrupt;
mod machine;
mod messages;
mod progress;
mod queue;
mod reading;
mod threads;
mod timing;
mod training;

use clap::Parser;

use self::messages::say;

/// Exit code of every error that is reported in a sentence.
const FAILURE: i32 = 2;
/// What shells report of a program that SIGPIPE ended.
const OUTPUT_CLOSED: i32 = 141;

fn main() {
    // Burn panics on some failures of a device. Only the message is printed: a backtrace does not help the user.
    std::panic::set_hook(Box::new(|info| {
        let message = info.payload_as_str().unwrap_or_default();
        if let Some((_, reason)) = message.split_once("failed printing to stdout: ") {
            files::remove_temporaries();
            // The program that reads our output has closed the pipe, as `| head` does: the end that other programs have there.
            if reason.starts_with("Broken pipe") {
                std::process::exit(OUTPUT_CLOSED);
            }
            say(format_args!("error: cannot write the output ({reason}); check free space"));
            std::process::exit(FAILURE);
        }
        say(format_args!("error: {info}"));
    }));
    let outcome = std::panic::catch_unwind(|| {
        interrupt::listen()?;
        commands::execute(commands::Cli::parse())
    });
    match outcome {
        Ok(Ok(())) => {}
        Ok(Err(error)) => {
            say(format_args!("error: {error:#}"));
            std::process::exit(if error.is::<interrupt::Stopped>() { interrupt::EXIT_CODE } else { FAILURE });
        }
        Err(_) => std::process::exit(FAILURE),
    }
}
