//! Tables, pictures and lists in Markdown.

/// A cell that is not measured.
pub const DASH: &str = "–";

/// A table.
pub fn table(
    header: impl IntoIterator<Item = impl Into<String>>,
    rows: impl IntoIterator<Item = Vec<String>>,
) -> String {
    let header: Vec<String> = header.into_iter().map(Into::into).collect();
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let rows: String = rows.into_iter().map(|row| line(&row)).collect();
    format!("{}|{}\n{rows}\n", line(&header), "---|".repeat(header.len()))
}

/// A line of a table: its first cell and the others.
pub fn line(first: impl Into<String>, others: impl IntoIterator<Item = String>) -> Vec<String> {
    std::iter::once(first.into()).chain(others).collect()
}

/// The header of a table with a column a length.
pub fn by_length(first: &str, extensions: &[usize]) -> Vec<String> {
    line(first, extensions.iter().map(|s| format!("{s}×")))
}

/// What is measured, or a dash.
pub fn or_dash(text: Option<String>) -> String {
    text.unwrap_or_else(|| DASH.to_owned())
}

/// A section with its title.
pub fn section(title: &str, text: &str) -> String {
    format!("## {title}\n\n{}\n", text.trim())
}

/// A picture with its caption.
pub fn picture(file: &str, caption: &str) -> String {
    format!("![{caption}]({file})\n\n*{caption}*\n\n")
}

/// A share in percent with one decimal, so that what is near the ceiling does not read as the ceiling.
pub fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

/// With a capital at the beginning.
pub fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(char::to_uppercase).into_iter().flatten().chain(letters).collect()
}

/// `a, b and c`
pub fn list(words: &[impl AsRef<str>]) -> String {
    let words: Vec<&str> = words.iter().map(AsRef::as_ref).collect();
    match words.split_last() {
        None => String::new(),
        Some((last, [])) => (*last).to_owned(),
        Some((last, others)) => format!("{} and {last}", others.join(", ")),
    }
}

/// The texts with something between them.
pub fn joined(texts: impl IntoIterator<Item = String>, between: &str) -> String {
    texts.into_iter().collect::<Vec<_>>().join(between)
}

#[cfg(test)]
mod tests {
    use super::{list, percent};

    #[test]
    fn near_the_ceiling_is_not_the_ceiling_and_the_last_word_is_joined_by_and() {
        assert_eq!((percent(0.9965).as_str(), percent(1.0).as_str()), ("99.7 %", "100.0 %"));
        assert_eq!((list(&["a"]), list(&["a", "b", "c"])), ("a".into(), "a, b and c".into()));
    }
}
