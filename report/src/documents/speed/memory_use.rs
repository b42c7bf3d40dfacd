//! Where the memory goes that reading takes, from the results of bench/memory.py.

use serde::Deserialize;

use super::aims::Measured;
use super::rounds::of_threads;
use crate::markdown::{list, section, table};

/// Bytes of the parts, with weights and cache of some types.
#[derive(Clone, Deserialize)]
pub struct MemoryUse {
    model: String,
    /// Name of the type of the weights.
    bits: String,
    cache_type: String,
    threads: usize,
    prompt: usize,
    program: f64,
    weights: f64,
    loaded: f64,
    cache: f64,
    reading: f64,
    peak: f64,
}

/// The section; nothing where there are no results.
pub fn text(rows: &[MemoryUse]) -> String {
    let Some(first) = rows.first() else { return String::new() };
    let row = |row: &MemoryUse| {
        let parts = [row.program, row.weights, row.loaded, row.cache, row.reading, row.peak];
        let names = [row.model.clone(), row.bits.clone(), row.cache_type.clone(), row.threads.to_string()];
        let by_weights = format!("{:.2}", row.peak / row.weights);
        names.into_iter().chain(parts.map(megabytes)).chain([by_weights]).collect::<Vec<String>>()
    };
    let header = [
        "model",
        "weights",
        "cache",
        "threads",
        "program",
        "weights (MB)",
        "beside them",
        "keys and values",
        "reading",
        "peak",
        "/ weights",
    ];
    section(
        "Where the memory goes",
        &format!(
            "`python bench/memory.py`: a prompt of {} tokens and 64 behind it, in megabytes. Weights, keys and values are counted, the others \
             are what the process took beyond. *Beside them*: the allocator's size classes, up to an eighth larger than a matrix, and what \
             loading left. *Reading*: activations, and each thread's copy of keys and values, in the order in which the attention of a prompt reads them.\n\n{}",
            first.prompt,
            table(header, rows.iter().map(row))
        ),
    )
}

fn megabytes(bytes: f64) -> String {
    format!("{:.0}", bytes / 1e6)
}

/// Bytes of the page's worker, of bench/browser_memory.py.
#[derive(Clone, Deserialize)]
pub struct TabMemory {
    bits: u32,
    prompt: usize,
    threads: usize,
    bytes: f64,
    /// Of keys and values among them.
    cache: f64,
}

/// A paragraph behind the section; nothing where there are no results.
pub fn of_a_tab(rows: &[TabMemory]) -> String {
    let Some(first) = rows.first() else { return String::new() };
    let row = |row: &TabMemory| {
        let beside = megabytes(row.bytes - row.cache);
        format!("{} MB with {}, {beside} beside keys and values", megabytes(row.bytes), of_threads(row.threads))
    };
    format!(
        "In a tab (`python bench/browser_memory.py`, Chromium's own count) the page's worker has SmolLM2 in {} bits and a prompt of {} tokens in \
         {}; the import of the file and JavaScript's memory are in it.\n",
        first.bits,
        first.prompt,
        list(&rows.iter().map(row).collect::<Vec<_>>())
    )
}

/// What a tab takes without keys and values, in bytes.
pub fn beside_the_cache(rows: &[TabMemory]) -> Vec<Measured> {
    let measured = |row: &TabMemory| {
        let value = row.bytes - row.cache;
        Measured { place: of_threads(row.threads), value, text: format!("{} MB", megabytes(value)) }
    };
    rows.iter().map(measured).collect()
}

#[cfg(test)]
mod tests {
    use super::{MemoryUse, TabMemory, of_a_tab, text};

    #[test]
    fn a_tab_is_counted_with_and_without_its_cache() {
        let row =
            |threads| TabMemory { bits: 4, prompt: 2048, threads, bytes: 219e6 + 1e6 * threads as f64, cache: 49e6 };
        let text = of_a_tab(&[row(1), row(2)]);
        let expected = "in 220 MB with 1 thread, 171 beside keys and values and 221 MB with 2 threads, 172 beside keys and values;";
        assert!(text.contains(expected), "{text}");
    }

    #[test]
    fn parts_are_megabytes_and_the_peak_a_ratio() {
        let row = MemoryUse {
            model: "SmolLM2".to_owned(),
            bits: "f32".to_owned(),
            cache_type: "f16".to_owned(),
            threads: 1,
            prompt: 2048,
            program: 16e6,
            weights: 538e6,
            loaded: 45.4e6,
            cache: 48.7e6,
            reading: 28e6,
            peak: 689e6,
        };
        let expected = "| SmolLM2 | f32 | f16 | 1 | 16 | 538 | 45 | 49 | 28 | 689 | 1.28 |";
        assert!(text(&[row]).contains(expected));
    }
}
