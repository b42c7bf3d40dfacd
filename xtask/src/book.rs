//! The documents as a book, by mdBook, to stand beside the page.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use pulldown_cmark::{Event, Parser, Tag, TagEnd};

use crate::documents::{entries, from_folder, text_of};
use crate::shell::run;
use crate::tools::mdbook;
use crate::workplace::Workplace;

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

/// mdBook's list of chapters: the documents that lists of the contents link to, under their headings, each followed by the other documents
/// of its folder where it is the first of one.
fn summary(root: &Path) -> Result<String> {
    let contents = fs::read_to_string(root.join(CONTENTS))?;
    let mut summary = "[DroPE playground](README.md)\n".to_owned();
    let mut listed = vec![PathBuf::from(CONTENTS)];
    let (mut lists, mut words, mut target) = (0, String::new(), None);
    for event in Parser::new(&contents) {
        match event {
            Event::Start(Tag::List(_)) => lists += 1,
            Event::End(TagEnd::List(_)) => lists -= 1,
            Event::Start(Tag::Strong) => words.clear(),
            Event::End(TagEnd::Strong) if lists == 0 => summary += &format!("\n# {words}\n\n"),
            Event::Start(Tag::Link { dest_url, .. }) => {
                words.clear();
                target = from_folder(Path::new("docs"), &dest_url).filter(|_| lists > 0);
            }
            Event::End(TagEnd::Link) => {
                let Some(path) = target.take().filter(|path| is_document(path) && root.join(path).is_file()) else {
                    continue;
                };
                if !listed.contains(&path) {
                    summary += &chapter("", &words, &path);
                    listed.push(path.clone());
                    if path.ends_with("README.md") {
                        summary += &others_beside(root, &path, &mut listed)?;
                    }
                }
            }
            event => words += text_of(&event),
        }
    }
    Ok(summary + "\n---\n\n[Changes](CHANGELOG.md)\n")
}

/// Chapters of the documents in the folder of `path` that are not listed yet, by their own titles.
fn others_beside(root: &Path, path: &Path, listed: &mut Vec<PathBuf>) -> Result<String> {
    let mut chapters = String::new();
    for other in documents(&root.join(path.parent().unwrap_or(Path::new(""))))? {
        let path = other.strip_prefix(root)?.to_owned();
        if !listed.contains(&path) {
            let text = fs::read_to_string(&other)?;
            let title = text.lines().find_map(|line| line.trim_start_matches('#').strip_prefix(' '));
            chapters += &chapter("  ", title.unwrap_or("More"), &path);
            listed.push(path);
        }
    }
    Ok(chapters)
}

/// A line of the list, with a capital.
fn chapter(indent: &str, title: &str, path: &Path) -> String {
    let (first, rest) = title.split_at(title.chars().next().map_or(0, char::len_utf8));
    format!("{indent}- [{}{rest}]({})\n", first.to_uppercase(), path.display())
}

fn is_document(path: &Path) -> bool {
    path.extension().is_some_and(|kind| kind == "md")
}

/// Markdown files of a folder, in the order of their names.
fn documents(folder: &Path) -> Result<Vec<PathBuf>> {
    Ok(entries(folder)?.into_iter().filter(|path| is_document(path)).collect())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use pulldown_cmark::{Event, Parser, Tag};

    use super::{COPIED, documents, from_folder, summary};

    fn root() -> &'static Path {
        Path::new(env!("DROPE_ROOT"))
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
                for event in Parser::new(&text) {
                    let Event::Start(Tag::Link { dest_url: target, .. }) = event else { continue };
                    let is_elsewhere = target.is_empty() || target.starts_with('#') || target.contains("://");
                    let address = target.split('#').next().unwrap_or_default();
                    let is_there = from_folder(Path::new(folder), address).is_some_and(|path| {
                        COPIED.iter().any(|copied| path.starts_with(copied)) && root().join(path).exists()
                    });
                    if !(is_elsewhere || is_there) {
                        broken.push(format!("{}: {target}", document.display()));
                    }
                }
            }
        }
        assert!(broken.is_empty(), "{broken:#?}");
    }
}
