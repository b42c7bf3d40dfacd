//! Packages that are built together.

/// These packages are always built together: cargo joins their features, and another set would compile Burn again.
pub const NATIVE: [&str; 12] = [
    "-p",
    "drope-instructions",
    "-p",
    "drope-core",
    "-p",
    "drope-native",
    "-p",
    "drope-report",
    "-p",
    "drope-tests",
    "-p",
    "xtask",
];
/// What runs in the browser but needs no browser for its unit tests. Burn is no part of it.
pub const PAGE: [&str; 4] = ["-p", "drope-page", "-p", "drope-protocol"];
