//! `core completions`: what a shell needs to complete commands and options.

use anyhow::Result;
use clap::{Args, Command};
use clap_complete::{Shell, generate};

/// Arguments of `core completions`.
#[derive(Args)]
pub struct CompletionsArgs {
    /// The shell: bash, elvish, fish, powershell or zsh.
    shell: Shell,
}

/// Prints the completions of the command line.
pub fn completions(CompletionsArgs { shell }: &CompletionsArgs, mut command: Command) -> Result<()> {
    let mut script = Vec::new();
    let name = command.get_name().to_owned();
    generate(*shell, &mut command, name, &mut script);
    print!("{}", String::from_utf8(script)?);
    Ok(())
}
