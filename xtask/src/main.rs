//! `cargo xtask play` builds and serves the page; `cargo xtask test` checks everything.
//!
//! Both install what is missing on the machine (see [`toolchain`] and [`tools`]).

mod arm;
mod book;
mod build_name;
mod debian_text;
mod dist;
mod documents;
mod download;
mod fetch;
mod fuzz;
mod gpu;
mod half_weights;
mod packages;
mod page;
mod peer;
mod programs;
mod shell;
mod sizes;
mod table;
mod tally;
mod test;
mod toolchain;
mod tools;
mod workplace;

use clap::{Parser, Subcommand};

use self::workplace::Workplace;

#[derive(Parser)]
#[command(name = "cargo xtask", about = "Set up, serve and test the project")]
struct Cli {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Build the playground in release and serve it on 127.0.0.1.
    Play {
        /// Port to serve on.
        #[arg(long, default_value_t = 8080)]
        port: u16,
        /// Open the page in the default browser.
        #[arg(long)]
        open: bool,
    },
    /// Build the playground into dist/, to be served by any web server, and print how much a visit loads.
    Page,
    /// The same, with compressed files and headers for hosts of static files.
    Dist,
    /// Make a book of the documents in dist/book, to stand beside the page.
    Book,
    /// Build the worker's other programs into the page that Trunk is making, with its models and documents; Trunk calls this.
    #[command(hide = true)]
    Programs,
    /// Format, lint, unit, integration, WebGPU and end-to-end tests.
    Test {
        /// Only what takes less than five minutes once everything is compiled: no browser, no PyTorch.
        #[arg(long)]
        quick: bool,
    },
    /// Build `core` for GPUs and compare it with the CPU, on Vulkan in software and on an NVIDIA card if there is one.
    Gpu,
    /// Search with cargo-fuzz for files that make a reader fail.
    Fuzz {
        /// Minutes for each of the five readers.
        #[arg(long, default_value_t = 10)]
        minutes: u64,
    },
    /// Download what tests and measurements need from package registries, and print where it is.
    Fetch {
        /// What to download.
        what: fetch::Fetched,
    },
    /// Write the report, the tables and the findings of the documents again from docs/results.
    Table,
}

fn main() {
    let result = match Cli::parse().task {
        Task::Play { port, open } => page::play(port, open),
        Task::Page => page::write(),
        Task::Dist => dist::write(),
        Task::Book => book::write(),
        Task::Test { quick: true } => test::quick(),
        Task::Test { quick: false } => test::all(),
        Task::Programs => Workplace::find().and_then(|place| programs::build_for_trunk(&place)),
        Task::Gpu => gpu::compare(),
        Task::Fuzz { minutes } => fuzz::search(minutes),
        Task::Fetch { what } => {
            Workplace::find().and_then(|place| what.path(&place)).map(|path| println!("{}", path.display()))
        }
        Task::Table => Workplace::find().and_then(|place| table::write(&place)),
    };
    if let Err(error) = result {
        eprintln!("error: {error:#}");
        std::process::exit(2);
    }
}
