//! A folder that any web host can serve below any path: compressed files beside the others, and headers for hosts that
//! read them.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::page::build;
use crate::sizes::{brotli, gzip, print, with_ending};
use crate::tools::Tools;
use crate::workplace::Workplace;

/// File types worth compressing; weights are not.
const COMPRESSED: [&str; 6] = ["css", "html", "js", "json", "svg", "wasm"];

/// For Netlify and Cloudflare Pages. Names with a hash never change; the others are looked at again each time.
const HEADERS: &str = "\
/*
  Cache-Control: no-cache
  X-Content-Type-Options: nosniff
  Referrer-Policy: no-referrer
  Cross-Origin-Opener-Policy: same-origin
  Cross-Origin-Embedder-Policy: require-corp
/page-*
  Cache-Control: public, max-age=31536000, immutable
/style-*
  Cache-Control: public, max-age=31536000, immutable
";

/// Builds the page into dist/ and adds what hosts want.
pub fn write() -> Result<()> {
    let place = Workplace::find()?;
    build(&place, &Tools::for_page(&place)?, true)?;
    let dist = place.root.join("dist");
    finish(&dist)?;
    print(&dist)
}

/// Adds `.br` and `.gz` files, headers, and `.nojekyll`, with which GitHub Pages serves all files.
fn finish(dist: &Path) -> Result<()> {
    for path in files_below(dist)? {
        let is_compressed = path.extension().is_some_and(|kind| COMPRESSED.iter().any(|known| kind == *known));
        if is_compressed {
            let bytes = std::fs::read(&path)?;
            std::fs::write(with_ending(&path, "br"), brotli(&bytes)?)?;
            std::fs::write(with_ending(&path, "gz"), gzip(&bytes)?)?;
        }
    }
    std::fs::write(dist.join("_headers"), HEADERS)?;
    std::fs::write(dist.join(".nojekyll"), "")?;
    Ok(())
}

fn files_below(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))? {
        let path = entry?.path();
        if path.is_dir() {
            files.extend(files_below(&path)?);
        } else {
            files.push(path);
        }
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::finish;

    #[test]
    fn compressed_files_hold_what_they_stand_beside() {
        let dist = tempfile::tempdir().unwrap();
        std::fs::create_dir(dist.path().join("models")).unwrap();
        let text = "{\"a\": 1}".repeat(100);
        for name in ["index.html", "models/config.json", "models/model.safetensors"] {
            std::fs::write(dist.path().join(name), &text).unwrap();
        }
        finish(dist.path()).unwrap();
        for name in ["index.html", "models/config.json"] {
            let read = |ending| std::fs::read(dist.path().join(format!("{name}.{ending}"))).unwrap();
            let mut plain = String::new();
            flate2::read::GzDecoder::new(&read("gz")[..]).read_to_string(&mut plain).unwrap();
            assert_eq!(plain, text);
            let mut plain = Vec::new();
            brotli::Decompressor::new(&read("br")[..], 4096).read_to_end(&mut plain).unwrap();
            assert_eq!(plain, text.as_bytes());
        }
        assert!(!dist.path().join("models/model.safetensors.br").exists());
        assert!(dist.path().join("_headers").exists() && dist.path().join(".nojekyll").exists());
    }
}
