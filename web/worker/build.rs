//! Does what the build scripts of all the page's programs do, and writes the recipes of recalibration as JSON, for
//! which the worker already contains a parser.

use std::path::Path;

#[path = "../build.rs"]
mod strip;

fn main() {
    strip::main();
    println!("cargo::rerun-if-changed=build.rs");
    let out = std::env::var("OUT_DIR").expect("cargo sets it");
    for name in ["nano-drope", "nano-p-drope"] {
        let path = format!("../../recipes/{name}.toml");
        println!("cargo::rerun-if-changed={path}");
        let text = std::fs::read_to_string(&path).expect("the recipe is in the repository");
        let recipe: toml::Value = toml::from_str(&text).expect("the recipe is TOML");
        let json = serde_json::to_string(&recipe).expect("every TOML value can be written as JSON");
        std::fs::write(Path::new(&out).join(format!("{name}.json")), json).expect("the output folder can be written");
    }
}
