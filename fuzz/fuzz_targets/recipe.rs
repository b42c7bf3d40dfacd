#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| drope_fuzz::recipe(bytes));
