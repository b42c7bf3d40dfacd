//! How much of the page a visit loads.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use flate2::Compression;
use flate2::write::GzEncoder;

/// Prints the size of every program and style of the page: as it is, and as servers send it.
pub fn print(dist: &Path) -> Result<()> {
    let entries = std::fs::read_dir(dist).with_context(|| format!("cannot read {}", dist.display()))?;
    let mut paths = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<PathBuf>>>()?;
    let is_compressed = |path: &Path| path.extension().is_some_and(|kind| kind == "br" || kind == "gz");
    paths.retain(|path| path.is_file() && !is_compressed(path));
    paths.sort();
    println!("{:40} {:>12} {:>12} {:>12}", "bytes of", "raw", "gzip", "brotli");
    for path in paths {
        let bytes = std::fs::read(&path)?;
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        // Compressing takes minutes, and `dist` has done it.
        let beside = |ending: &str| std::fs::metadata(with_ending(&path, ending)).map(|file| file.len());
        let gzip = beside("gz").or_else(|_| gzip(&bytes).map(|packed| packed.len() as u64))?;
        let brotli = beside("br").or_else(|_| brotli(&bytes).map(|packed| packed.len() as u64))?;
        println!("{name:40} {:>12} {gzip:>12} {brotli:>12}", bytes.len());
    }
    Ok(())
}

/// The path of a compressed file beside another.
pub fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".");
    name.push(ending);
    name.into()
}

/// As small as gzip makes it.
pub fn gzip(bytes: &[u8]) -> Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes)?;
    Ok(encoder.finish()?)
}

/// As small as brotli makes it.
pub fn brotli(bytes: &[u8]) -> Result<Vec<u8>> {
    let (best_quality, window_bits) = (11, 22);
    let mut encoder = brotli::CompressorWriter::new(Vec::new(), 1 << 16, best_quality, window_bits);
    encoder.write_all(bytes)?;
    Ok(encoder.into_inner())
}
