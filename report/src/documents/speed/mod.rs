//! docs/speed.md: how fast a real model is read and trained, and in what memory, from the results of bench/; what was aimed at first.

mod aims;
mod bits;
mod browser_speed;
mod cache_cost;
mod card_speed;
mod gpu_launches;
mod memory_use;
mod reading_speed;
mod roofline;
mod rounds;
mod training_speed;

use std::path::Path;

use anyhow::Result;
use serde::de::DeserializeOwned;

use self::aims::Aim;
use crate::files;

/// Writes the document; nothing where there are no results.
pub fn write(folder: &Path, root: &Path) -> Result<()> {
    let speeds = results(folder, "speed")?;
    let bits = results(folder, "bits")?;
    let rooflines = results(folder, "roofline")?;
    let of_a_tab = results(folder, "tab-memory")?;
    let of_browsers = results(folder, "browser")?;
    let [prompt, generation] = reading_speed::beside_llama_cpp(&speeds);
    let [products_of_prompts, reading, products_of_updates] = roofline::shares(&rooflines);
    let aims = [
        Aim::at_least(1.2, "a prompt with weights in 8 and 4 bits, at least 1.2 times as fast as by llama.cpp", prompt),
        Aim::at_least(
            1.2,
            "generation with weights in 8 and 4 bits, at least 1.2 times as fast as by llama.cpp",
            generation,
        ),
        Aim::at_most(0.005, "8 bits, at most 0.5 % above the perplexity of 32", bits::of_8_bits(&bits)),
        Aim::at_least(0.8, "a prompt, at least 80 % of the peak of f32 products", products_of_prompts),
        Aim::at_least(0.8, "generation, at least 80 % of the memory bandwidth", reading),
        Aim::at_least(0.6, "an update, at least 60 % of the peak of f32 products", products_of_updates),
        Aim::at_most(
            160e6,
            "4 bits in a tab, at most 160 MB beside keys and values",
            memory_use::beside_the_cache(&of_a_tab),
        ),
        Aim::at_least(
            0.5,
            "the page, a prompt of 16,384 tokens, or of the longest that was measured, at half its speed on 1,024 or more",
            browser_speed::of_long_prompts(&of_browsers),
        ),
    ];
    let sections = [
        aims::text(&aims),
        reading_speed::text(&speeds),
        bits::text(&bits),
        section(folder, "cache", cache_cost::text)?,
        training_speed::text(&results(folder, "training")?, &results(folder, "operations")?),
        roofline::text(&rooflines),
        section(folder, "memory", memory_use::text)?,
        memory_use::of_a_tab(&of_a_tab),
        section(folder, "launches", gpu_launches::text)?,
        section(folder, "card", card_speed::text)?,
        browser_speed::text(&of_browsers),
    ];
    let sections: Vec<String> = sections.into_iter().filter(|section| !section.is_empty()).collect();
    if sections.is_empty() {
        return Ok(());
    }
    let title = "# Speed and memory\n\nWritten by `cargo xtask table` from docs/results/real-models; do not edit. Of nano-rope: \
                 [benchmarks.md](benchmarks.md). Why it is built so, and what was tried: [design.md](design.md).\n\n";
    files::write(&root.join("docs/speed.md"), &(title.to_owned() + sections.join("\n").trim_end() + "\n"))
}

fn results<T: DeserializeOwned>(folder: &Path, name: &str) -> Result<Vec<T>> {
    files::cells(&folder.join(format!("{name}.json")))
}

/// The section on a file of results.
fn section<T: DeserializeOwned>(folder: &Path, name: &str, text: fn(&[T]) -> String) -> Result<String> {
    Ok(text(&results(folder, name)?))
}
