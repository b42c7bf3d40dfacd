//! The documents beside the page, as pages of their own: what it shows is of them, and can be checked there.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use pulldown_cmark::{CowStr, Event, HeadingLevel, Options, Parser, Tag, TagEnd, html};

/// What is beside the page; the rest is about the checkout, which a visitor does not have.
const FILES: [&str; 14] = [
    "study.md",
    "study-why.md",
    "paper.md",
    "protocol.md",
    "protocol-2.md",
    "findings.md",
    "real-models.md",
    "speed.md",
    "benchmarks.md",
    "recalibration.md",
    "protocol-real.md",
    "teaching.md",
    "results/README.md",
    "study.json",
];

/// What there is once the second study is measured.
const OF_SECOND_STUDY: [&str; 2] = ["study-2.md", "study-2-why.md"];

/// Writes the documents, their drawings and the study's results into the folder of the page.
pub fn write(root: &Path, page: &Path) -> Result<()> {
    let (from, to) = (root.join("docs"), page.join("docs"));
    let style = style_of(page)?;
    let is_drawing = |path: &Path| path.extension().is_some_and(|kind| kind == "svg");
    let drawings = entries(&from)?.into_iter().filter(|path| is_drawing(path));
    let data = entries(&from.join("results/study"))?.into_iter().filter(|path| path.is_file());
    let second = OF_SECOND_STUDY.map(|file| from.join(file)).into_iter().filter(|path| path.exists());
    for path in FILES.map(|file| from.join(file)).into_iter().chain(second).chain(drawings).chain(data) {
        let target = to.join(path.strip_prefix(&from)?);
        std::fs::create_dir_all(target.parent().context("a file is in a folder")?)?;
        if path.extension().is_some_and(|kind| kind == "md") {
            let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
            let folder = path.strip_prefix(&from)?.parent().unwrap_or(Path::new(""));
            std::fs::write(target.with_extension("html"), document(&text, folder, &style))?;
        } else {
            std::fs::copy(&path, &target).with_context(|| format!("cannot copy {}", path.display()))?;
        }
    }
    Ok(())
}

/// What a folder holds, in the order of names.
pub fn entries(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let mut paths = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    paths.sort();
    Ok(paths)
}

/// The name of the page's style sheet, which has a hash in it.
fn style_of(page: &Path) -> Result<String> {
    let names = entries(page)?.into_iter().filter_map(|path| Some(path.file_name()?.to_string_lossy().into_owned()));
    let mut styles = names.filter(|name| name.starts_with("style-") && name.ends_with(".css"));
    styles.next().context("the page has no style sheet yet")
}

/// A page of its own: headings that can be linked to, links between documents, and none to what is not there.
fn document(markdown: &str, folder: &Path, style: &str) -> String {
    let up = "../".repeat(1 + folder.components().count());
    let mut events: Vec<Event> = Parser::new_ext(markdown, Options::ENABLE_TABLES).collect();
    let mut title = String::new();
    for at in 0..events.len() {
        let (before, behind) = events.split_at_mut(at + 1);
        let Event::Start(Tag::Heading { level, id, .. }) = &mut before[at] else { continue };
        let heading = behind.iter().take_while(|event| !matches!(event, Event::End(TagEnd::Heading(_))));
        let text: String = heading.map(text_of).collect();
        *id = Some(slug(&text).into());
        if *level == HeadingLevel::H1 && title.is_empty() {
            title = text.replace('&', "&amp;").replace('<', "&lt;");
        }
    }
    let mut is_linked = Vec::new();
    let events = events.into_iter().filter_map(|event| match event {
        Event::Start(Tag::Link { link_type, dest_url, title, id }) => {
            let target = target_of(&dest_url, folder);
            is_linked.push(target.is_some());
            Some(Event::Start(Tag::Link { link_type, dest_url: target?, title, id }))
        }
        Event::End(TagEnd::Link) if is_linked.pop() == Some(false) => None,
        event => Some(event),
    });
    let mut body = String::new();
    html::push_html(&mut body, events);
    let body = body.replace("<table>", "<div class=\"scroll\"><table>").replace("</table>", "</table></div>");
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\" />\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\" />\n\
         <title>{title}</title>\n<link rel=\"stylesheet\" href=\"{up}{style}\" />\n<body class=\"document\">\n<p><a href=\"{up}./\">To the models</a></p>\n\
         <main>\n{body}</main>\n</body>\n</html>\n"
    )
}

/// The words of an event.
pub fn text_of<'a>(event: &'a Event<'_>) -> &'a str {
    match event {
        Event::Text(text) | Event::Code(text) => text,
        _ => "",
    }
}

/// The address of a heading, as hosts of repositories make it.
fn slug(heading: &str) -> String {
    let letters =
        heading.to_lowercase().chars().map(|letter| if letter == ' ' { '-' } else { letter }).collect::<String>();
    letters.chars().filter(|letter| letter.is_alphanumeric() || "-_".contains(*letter)).collect()
}

/// Where a link of a document in `folder` (of `docs/`) leads beside the page, if it leads anywhere.
fn target_of(address: &str, folder: &Path) -> Option<CowStr<'static>> {
    if address.starts_with("https:") || address.starts_with('#') {
        return Some(address.to_owned().into());
    }
    let (path, place) = address.find('#').map_or((address, ""), |at| address.split_at(at));
    let file = from_folder(folder, path)?;
    let is_drawing = file.extension().is_some_and(|kind| kind == "svg") && file.components().count() == 1;
    let is_there = is_drawing || FILES.iter().chain(&OF_SECOND_STUDY).any(|known| file == Path::new(known));
    let shown = path.strip_suffix(".md").map_or(path.to_owned(), |name| format!("{name}.html"));
    is_there.then(|| format!("{shown}{place}").into())
}

/// The file to which a relative address in `folder` leads; `None` if it lies above the top.
pub fn from_folder(folder: &Path, address: &str) -> Option<PathBuf> {
    let mut file = folder.to_path_buf();
    for part in address.split('/').filter(|part| *part != ".") {
        if part != ".." {
            file.push(part);
        } else if !file.pop() {
            return None;
        }
    }
    Some(file)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::document;

    #[test]
    fn links_lead_to_documents_that_are_there() {
        let text = "# The *study*\n\nSee [why](study-why.md#the-heads), [the code](../core/src/lib.rs) and [a paper](https://arxiv.org/abs/1).\n\n## Two keys, `at` once\n";
        let page = document(text, Path::new(""), "style-1.css");
        for part in [
            "<title>The study</title>",
            "<a href=\"study-why.html#the-heads\">why</a>, the code and <a href=\"https://arxiv.org/abs/1\">a paper</a>.",
            "<h2 id=\"two-keys-at-once\">",
            "href=\"../style-1.css\"",
        ] {
            assert!(page.contains(part), "{part} in {page}");
        }
        let below =
            document("[rules](../protocol.md), [models](../../models/README.md)", Path::new("results"), "style-1.css");
        for part in ["<a href=\"../protocol.html\">rules</a>, models", "href=\"../../style-1.css\""] {
            assert!(below.contains(part), "{part} in {below}");
        }
    }
}
