//! What a GPU does for a prompt and for a generated token, from the results of bench/gpu_launches.py.

use serde::Deserialize;

use crate::markdown::{or_dash, section, table};

/// Launches and bytes of a model whose weights, keys and values are of some types.
#[derive(Clone, Deserialize)]
pub struct GpuLaunches {
    model: String,
    weights: String,
    /// Type of keys and values.
    cache: String,
    /// Chunks of 256 tokens before the generated ones.
    chunks: usize,
    token_launches: f64,
    /// `None` where the prompt was shorter than two.
    chunk_launches: Option<f64>,
    matrices_bytes: f64,
    cache_bytes: f64,
}

/// The section; nothing where there are no results.
pub fn text(rows: &[GpuLaunches]) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let row = |row: &GpuLaunches| {
        let megabytes = |bytes: f64| format!("{:.1}", bytes / 1e6);
        vec![
            row.model.clone(),
            row.weights.clone(),
            row.cache.clone(),
            (256 * row.chunks).to_string(),
            format!("{:.0}", row.token_launches),
            megabytes(row.matrices_bytes),
            megabytes(row.cache_bytes),
            or_dash(row.chunk_launches.map(|launches| format!("{launches:.0}"))),
        ]
    };
    let header = [
        "model",
        "weights",
        "cache",
        "tokens before",
        "launches",
        "weights read (MB)",
        "cache read (MB)",
        "launches of a chunk",
    ];
    section(
        "What a GPU does for a token",
        &format!(
            "`python bench/gpu_launches.py`, with wgpu: counts, not times, the same for any card; CUDA reads chunks of 2,048 with other launches. Launches of a \
             generated token, from CubeCL's log; bytes that it reads, by count; launches of a chunk of 256 tokens of a prompt.\n\n{}",
            table(header, rows.iter().map(row))
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::{GpuLaunches, text};

    #[test]
    fn bytes_are_megabytes_and_chunks_tokens() {
        let row = GpuLaunches {
            model: "smollm2".to_owned(),
            weights: "q8".to_owned(),
            cache: "f16".to_owned(),
            chunks: 3,
            token_launches: 213.0,
            chunk_launches: Some(543.0),
            matrices_bytes: 151_300_000.0,
            cache_bytes: 35_389_440.0,
        };
        let text = text(&[row]);
        assert!(text.contains("| smollm2 | q8 | f16 | 768 | 213 | 151.3 | 35.4 | 543 |"), "{text}");
        assert_eq!(super::text(&[]), "");
    }
}
