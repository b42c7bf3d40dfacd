//! The committed results files: every one is read by its type, and writing it again gives the same bytes.
#![cfg(all(feature = "statistics", not(target_arch = "wasm32")))]

use std::path::PathBuf;

use drope_core::config::dope::DopeHeads;
use drope_core::perplexity::PerplexityCell;
use drope_core::probe::HeadCell;
use drope_core::results::{Cell, ResultCell, current, to_json};
use serde::Serialize;
use serde::de::DeserializeOwned;

fn results() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../docs/results")
}

/// The file as this program writes it.
fn rewritten(name: &str, text: &str) -> String {
    fn list<T: Serialize + DeserializeOwned>(text: &str) -> String {
        to_json(&serde_json::from_str::<Vec<T>>(text).unwrap()).unwrap()
    }
    match name {
        "probe.json" => list::<HeadCell>(text),
        "perplexity.json" => list::<PerplexityCell>(text),
        _ if name.starts_with("dope-heads") => {
            // A choice of heads, not cells: scores have all their digits, the last of which JSON does not keep.
            assert!(!serde_json::from_str::<DopeHeads>(text).unwrap().heads.is_empty());
            text.to_owned()
        }
        _ => list::<Cell>(text),
    }
}

#[test]
fn every_committed_file_is_written_again_as_it_is() {
    let mut files = 0;
    for entry in std::fs::read_dir(results()).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "json") {
            let (name, text) = (path.file_name().unwrap().to_str().unwrap(), std::fs::read_to_string(&path).unwrap());
            assert!(rewritten(name, &text) == text, "{name} changes when it is written again");
            files += 1;
        }
    }
    assert!(files > 10, "{files} files in {}", results().display());
}

/// The page and the README read several files: of a cell that was asked again with more questions, those count.
#[test]
fn of_cells_in_several_files_those_with_more_questions_count() {
    let read = |name: &str| -> Vec<Cell> {
        serde_json::from_str(&std::fs::read_to_string(results().join(name)).unwrap()).unwrap()
    };
    let files = ["niah.json", "niah-most.json", "niah-more.json", "niah-16x.json"];
    let cells: Vec<Cell> = files.into_iter().flat_map(read).filter(ResultCell::is_standard).collect();
    let kept = current(cells.clone(), |_| None);
    assert!(kept.len() < cells.len());
    for (index, cell) in kept.iter().enumerate() {
        assert!(kept[index + 1..].iter().all(|other| !cell.same_place(other)));
        let most = cells.iter().filter(|other| other.same_place(cell)).map(ResultCell::questions).max();
        assert_eq!(Some(cell.trials), most);
    }
}
