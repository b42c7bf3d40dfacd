//! Removes the names of functions from the wasm: they are a third of its size, and the page does not need them.

pub fn main() {
    println!("cargo::rerun-if-changed=../build.rs");
    if std::env::var("CARGO_CFG_TARGET_ARCH").is_ok_and(|arch| arch == "wasm32") {
        println!("cargo::rustc-link-arg-bins=--strip-all");
    }
}
