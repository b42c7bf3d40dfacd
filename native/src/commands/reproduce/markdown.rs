//! Tables and pictures in Markdown.

/// A cell that is not measured.
pub const DASH: &str = "–";

/// A table.
pub fn table(header: &[String], rows: &[Vec<String>]) -> String {
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let rule = format!("|{}\n", "---|".repeat(header.len()));
    let rows: String = rows.iter().map(|row| line(row)).collect();
    format!("{}{rule}{rows}\n", line(header))
}

/// The header of a table with a column a length.
pub fn by_length(first: &str, extensions: &[usize]) -> Vec<String> {
    std::iter::once(first.to_owned()).chain(extensions.iter().map(|s| format!("{s}×"))).collect()
}

/// Words as a header or line of a table.
pub fn cells<const N: usize>(words: [&str; N]) -> Vec<String> {
    words.map(str::to_owned).to_vec()
}

/// A section with its title.
pub fn section(title: &str, text: &str) -> String {
    format!("## {title}\n\n{}\n", text.trim())
}

/// A picture with its caption.
pub fn picture(file: &str, caption: &str) -> String {
    format!("![{caption}]({file})\n\n*{caption}*\n\n")
}

/// A name, marked where it is not recorded which weights its results are of.
pub fn label(name: &str, is_of_known_weights: bool) -> String {
    format!("{name}{}", if is_of_known_weights { "" } else { " (model not kept)" })
}

/// A share in percent with one decimal, so that what is near the ceiling does not read as the ceiling.
pub fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
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

#[cfg(test)]
mod tests {
    use super::{list, percent};

    #[test]
    fn near_the_ceiling_is_not_the_ceiling() {
        assert_eq!((percent(0.9965).as_str(), percent(1.0).as_str()), ("99.7 %", "100.0 %"));
    }

    #[test]
    fn the_last_word_is_joined_by_and() {
        assert_eq!(
            (list(&["a"]), list(&["a", "b"]), list(&["a", "b", "c"])),
            ("a".into(), "a and b".into(), "a, b and c".into())
        );
    }
}
