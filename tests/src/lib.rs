//! Tests that cross crates are in `tests/`; this library is empty.
