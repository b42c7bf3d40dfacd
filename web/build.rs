//! Names of functions are a third of the wasm and serve no visitor.

pub fn main() {
    println!("cargo::rerun-if-changed=../build.rs");
    if std::env::var("CARGO_CFG_TARGET_ARCH").is_ok_and(|arch| arch == "wasm32") {
        println!("cargo::rustc-link-arg-bins=--strip-all");
    }
}
