//! A result to hand on: a sentence with a link that restores it, and a picture.

use leptos::prelude::*;

use super::whole;
use crate::parts::picture::save_picture;
use crate::parts::share::copy_text;
use crate::state::column::Finished;
use crate::state::story::Story;

/// Width and height of the picture, which are those that sites show of a link.
const SIZE: [u32; 2] = [1200, 630];

/// What a row says.
#[derive(Clone, Debug, PartialEq)]
struct CardRow {
    name: String,
    answer: String,
    is_right: Option<bool>,
    share: String,
}

/// The buttons, one of which says what became of the sentence.
#[component]
pub fn Card(story: Story) -> impl IntoView {
    let copied = RwSignal::new(None::<bool>);
    Effect::new(move || {
        story.asked.track();
        copied.set(None);
    });
    let copy = move |_| {
        let text = format!("{} {}", sentence(story.extension.get_untracked(), &card_rows(story)), address());
        leptos::task::spawn_local(async move { copied.set(Some(copy_text(&text).await.is_some())) });
    };
    let label = move || match copied.get() {
        None => "Copy this result",
        Some(true) => "Result copied",
        Some(false) => "This browser copies nothing",
    };
    let save = move |_| {
        let drawn = drawing(story.extension.get_untracked(), story.depth.get_untracked(), &card_rows(story));
        save_picture("drope.png", SIZE, &drawn);
    };
    view! {
        <p class="buttons">
            <button id="copy-result" type="button" class="quiet" on:click=copy><span aria-live="polite">{label}</span></button>
            <button id="save-card" type="button" class="quiet" on:click=save>"Save as a picture"</button>
        </p>
    }
}

fn address() -> String {
    window().location().href().unwrap_or_default()
}

fn card_rows(story: Story) -> Vec<CardRow> {
    let extension = story.extension.get_untracked();
    let row = |row: crate::state::column::Column| {
        let line = &Story::lines()[row.key];
        let point = line.points.iter().find(|point| point.extension == extension);
        let answer = row.answer.get_untracked();
        CardRow {
            name: line.name.clone(),
            answer: answer.text.trim().to_owned(),
            is_right: answer.finished.and_then(|Finished { is_right, .. }| is_right),
            share: point.map_or_else(String::new, |point| whole(point.mean)),
        }
    };
    untrack(|| story.rows()).into_iter().map(row).collect()
}

/// `Trained on texts of 256 tokens, asked for a number in a text 8 times as long: RoPE wrong, YaRN right.`
fn sentence(extension: usize, rows: &[CardRow]) -> String {
    let outcome = |row: &CardRow| match row.is_right {
        Some(true) => format!("{} right", row.name),
        Some(false) => format!("{} wrong", row.name),
        None => format!("{} not asked", row.name),
    };
    let outcomes: Vec<String> = rows.iter().map(outcome).collect();
    format!(
        "Trained on texts of 256 tokens, asked for a number in a text {extension} times as long: {}.",
        outcomes.join(", ")
    )
}

/// The rows as a drawing (SVG).
fn drawing(extension: usize, depth: u32, rows: &[CardRow]) -> String {
    let [width, height] = SIZE;
    let ribbon = 1080.0;
    let (trained, needle) = (ribbon / extension as f64, 60.0 + ribbon * f64::from(depth) / 100.0);
    let mut body = format!(
        "<rect width=\"{width}\" height=\"{height}\" fill=\"#fbfaf7\"/>\
         <text x=\"60\" y=\"92\" font-size=\"46\" font-weight=\"700\">Trained on texts of 256 tokens. How far can it read?</text>\
         <rect x=\"60\" y=\"130\" width=\"{ribbon}\" height=\"44\" rx=\"8\" fill=\"#e5e1d8\"/>\
         <rect x=\"60\" y=\"130\" width=\"{trained:.1}\" height=\"44\" fill=\"#d9a585\"/>\
         <rect x=\"{:.1}\" y=\"122\" width=\"12\" height=\"60\" rx=\"6\" fill=\"#e0a100\"/>\
         <text x=\"60\" y=\"212\" font-size=\"24\" fill=\"#5e5a53\">a text {extension} times as long as any in training</text>\
         <text x=\"1140\" y=\"212\" font-size=\"24\" text-anchor=\"end\" fill=\"#5e5a53\">right in the study</text>",
        needle - 6.0
    );
    for (place, row) in rows.iter().enumerate() {
        let y = 240 + 84 * place;
        let colour = match row.is_right {
            Some(true) => "#0b6b3a",
            Some(false) => "#b3261e",
            None => "#5e5a53",
        };
        body.push_str(&format!(
            "<rect x=\"60\" y=\"{y}\" width=\"10\" height=\"70\" fill=\"{colour}\"/>\
             <text x=\"90\" y=\"{}\" font-size=\"28\">{}</text>\
             <text x=\"500\" y=\"{}\" font-size=\"30\" font-family=\"monospace\" fill=\"{colour}\">{}</text>\
             <text x=\"1140\" y=\"{}\" font-size=\"34\" font-weight=\"700\" text-anchor=\"end\">{}</text>",
            y + 45,
            escaped(&row.name),
            y + 45,
            escaped(&shortened(&row.answer)),
            y + 45,
            row.share
        ));
    }
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" \
         font-family=\"sans-serif\" fill=\"#1c1b19\">{body}</svg>"
    )
}

/// As much as fits.
fn shortened(answer: &str) -> String {
    const MOST: usize = 28;
    if answer.chars().count() <= MOST { answer.to_owned() } else { answer.chars().take(MOST).chain(['…']).collect() }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

#[cfg(test)]
mod tests {
    use super::{CardRow, drawing, sentence};

    fn rows() -> Vec<CardRow> {
        let row = |name: &str, answer: &str, is_right| CardRow {
            name: name.into(),
            answer: answer.into(),
            is_right,
            share: "85 %".into(),
        };
        vec![
            row("RoPE", "a < b & so on and on and on and on", Some(false)),
            row("YaRN", "12.", Some(true)),
            row("X", "", None),
        ]
    }

    #[test]
    fn a_result_is_a_sentence_and_a_picture_of_all_rows() {
        let said = sentence(8, &rows());
        assert!(said.ends_with("8 times as long: RoPE wrong, YaRN right, X not asked."), "{said}");
        let drawn = drawing(8, 30, &rows());
        assert!(drawn.contains("a &lt; b &amp; so on and on and on …"), "{drawn}");
        assert!(drawn.contains("width=\"135.0\""), "an eighth is shaded");
        assert_eq!(drawn.matches("85 %").count(), 3);
    }
}
