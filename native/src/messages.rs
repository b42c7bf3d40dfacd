//! Lines for people: what is said beside the output, such as progress, notes, warnings and errors, on the error output; and what is
//! shown before a result is written.

use std::fmt::Display;
use std::io::Write;

/// Writes a line. Where nobody reads it any more (a closed pipe, a full disk), the work goes on without it: `eprintln!` would panic.
pub fn say(line: impl Display) {
    let _ = writeln!(std::io::stderr().lock(), "{line}");
}

/// Writes a line to the output, before a result is written that is more than the line. Where nobody reads it any more the result is written
/// nevertheless: `println!` would end the program.
pub fn show(line: impl Display) {
    let _ = writeln!(std::io::stdout().lock(), "{line}");
}
