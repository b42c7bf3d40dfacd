//! What is said beside the output: progress, notes, warnings and errors, on the error output.

use std::fmt::Display;
use std::io::Write;

/// Writes a line. Where nobody reads it any more (a closed pipe, a full disk), the work goes on without it: `eprintln!` would panic.
pub fn say(line: impl Display) {
    let _ = writeln!(std::io::stderr().lock(), "{line}");
}
