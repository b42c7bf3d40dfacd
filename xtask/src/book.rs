//! The documents as a book, by mdBook, to stand beside the page.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::Workplace;
use crate::shell::run;
use crate::tools::mdbook;

/// Contents of the book: its list of documents becomes the chapters.
const CONTENTS: &str = "docs/README.md";

/// What documents link to, beside each other.
const COPIED: [&str; 8] = [
    "README.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "docs",
    "models/README.md",
    "recipes",
    "python/README.md",
];

const SETTINGS: &str = "\
[book]
title = \"DroPE playground\"
language = \"en\"
src = \"src\"
[build]
build-dir = \"book\"
create-missing = false
";

/// Writes the book into dist/book, which a page that was built before keeps.
pub fn write() -> Result<()> {
    let place = Workplace::find()?;
    let folder = tempfile::tempdir()?;
    let source = folder.path().join("src");
    for name in COPIED {
        copy(&place.root.join(name), &source.join(name))?;
    }
    fs::write(source.join("SUMMARY.md"), summary(&place.root)?)?;
    fs::write(folder.path().join("book.toml"), SETTINGS)?;
    run(Command::new(mdbook(&place)?).arg("build").arg(folder.path()))?;
    let book = place.root.join("dist/book");
    if book.exists() {
        fs::remove_dir_all(&book)?;
    }
    copy(&folder.path().join("book"), &book)?;
    println!("{}", book.join("index.html").display());
    Ok(())
}

/// Copies a file, or a folder with all that is in it.
fn copy(from: &Path, to: &Path) -> Result<()> {
    if from.is_dir() {
        for entry in fs::read_dir(from)? {
            let entry = entry?;
            copy(&entry.path(), &to.join(entry.file_name()))?;
        }
        return Ok(());
    }
    fs::create_dir_all(to.parent().context("a file lies in a folder")?)?;
    fs::copy(from, to).with_context(|| format!("cannot copy {}", from.display()))?;
    Ok(())
}

/// mdBook's list of chapters: the documents that the contents link to, under its headings, each followed by the other documents of its
/// folder where it is the first of one.
fn summary(root: &Path) -> Result<String> {
    let contents = fs::read_to_string(root.join(CONTENTS))?;
    let mut summary = "[DroPE playground](README.md)\n".to_owned();
    let mut listed = vec![PathBuf::from(CONTENTS)];
    for line in contents.lines() {
        if let Some(heading) = line.strip_prefix("**").and_then(|line| line.strip_suffix("**")) {
            summary += &format!("\n# {heading}\n\n");
        }
        // Items of its lists, which may take several lines.
        for (title, target) in links(line).filter(|_| line.starts_with("- ") || line.starts_with("  ")) {
            let path = below(Path::new("docs"), target);
            if path.extension().is_none_or(|kind| kind != "md") || listed.contains(&path) || !root.join(&path).is_file()
            {
                continue;
            }
            let (first, rest) = title.split_at(title.chars().next().map_or(0, char::len_utf8));
            summary += &format!("- [{}{rest}]({})\n", first.to_uppercase(), path.display());
            listed.push(path.clone());
            if path.ends_with("README.md") {
                for other in documents(&root.join(path.parent().unwrap_or(Path::new(""))))? {
                    let other = other.strip_prefix(root)?.to_owned();
                    if !listed.contains(&other) {
                        let text = fs::read_to_string(root.join(&other))?;
                        let title = text.lines().find_map(|line| line.trim_start_matches('#').strip_prefix(' '));
                        summary += &format!("  - [{}]({})\n", title.unwrap_or("More"), other.display());
                        listed.push(other);
                    }
                }
            }
        }
    }
    Ok(summary + "\n---\n\n[Changes](CHANGELOG.md)\n")
}

/// Markdown files of a folder, in the order of their names.
fn documents(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    let mut documents: Vec<PathBuf> =
        entries.into_iter().filter(|path| path.extension().is_some_and(|kind| kind == "md")).collect();
    documents.sort();
    Ok(documents)
}

/// Titles and targets of a line's links.
fn links(line: &str) -> impl Iterator<Item = (&str, &str)> {
    line.split('[').skip(1).filter_map(|part| {
        let (title, rest) = part.split_once("](")?;
        Some((title, rest.split_once(')')?.0))
    })
}

/// A link's target from the top of the checkout.
fn below(folder: &Path, target: &str) -> PathBuf {
    let target = target.split('#').next().unwrap_or_default();
    match target.strip_prefix("../") {
        Some(above) => below(folder.parent().unwrap_or(Path::new("")), above),
        None => folder.join(target),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{COPIED, below, documents, links, summary};

    fn root() -> &'static Path {
        Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
    }

    #[test]
    fn the_book_has_every_document() {
        let summary = summary(root()).unwrap();
        for document in documents(&root().join("docs")).unwrap() {
            let name = document.file_name().unwrap().to_string_lossy().into_owned();
            assert!(
                name == "README.md" || summary.contains(&format!("(docs/{name})")),
                "{name} is not in docs/README.md"
            );
        }
    }

    #[test]
    fn links_of_documents_lead_to_what_the_book_has() {
        let mut broken = Vec::new();
        for folder in ["", "docs", "docs/reproduction", "docs/results", "models"] {
            for document in documents(&root().join(folder)).unwrap() {
                let text = std::fs::read_to_string(&document).unwrap();
                for (_, target) in text.lines().flat_map(links) {
                    let is_elsewhere = target.is_empty() || target.starts_with('#') || target.contains("://");
                    let path = below(Path::new(folder), target);
                    let is_copied = COPIED.iter().any(|copied| path.starts_with(copied));
                    if !(is_elsewhere || is_copied && root().join(&path).exists()) {
                        broken.push(format!("{}: {target}", document.display()));
                    }
                }
            }
        }
        assert!(broken.is_empty(), "{broken:#?}");
    }
}
