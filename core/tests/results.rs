//! The committed results files: every one is read by its type, and writing it again gives the same fields and numbers.
#![cfg(all(feature = "statistics", not(target_arch = "wasm32")))]

use std::path::PathBuf;

use drope_core::config::dope::DopeHeads;
use drope_core::perplexity::PerplexityCell;
use drope_core::probe::{GradientRecord, HeadCell};
use drope_core::results::{ModelRecord, ResultCell, RetrievalCell, append, current, to_json};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

fn results() -> PathBuf {
    PathBuf::from(env!("DROPE_ROOT")).join("docs/results")
}

/// The file as this program writes it.
fn rewritten(name: &str, text: &str) -> String {
    fn list<T: Serialize + DeserializeOwned>(text: &str) -> String {
        to_json(&serde_json::from_str::<Vec<T>>(text).unwrap()).unwrap()
    }
    match name {
        "models.json" => list::<ModelRecord>(text),
        "gradients.json" => list::<GradientRecord>(text),
        "probe.json" => list::<HeadCell>(text),
        "perplexity.json" => list::<PerplexityCell>(text),
        _ if name.starts_with("dope-heads") => {
            serde_json::to_string_pretty(&serde_json::from_str::<DopeHeads>(text).unwrap()).unwrap() + "\n"
        }
        _ => list::<RetrievalCell>(text),
    }
}

/// Whether two JSON texts say the same, in whatever order objects have their fields, but for the last of 17 digits, which
/// reading JSON does not keep.
fn almost_same(a: &str, b: &str) -> bool {
    fn same(a: &Value, b: &Value) -> bool {
        match (a, b) {
            (Value::Number(a), Value::Number(b)) => {
                let (a, b) = (a.as_f64().unwrap(), b.as_f64().unwrap());
                (a - b).abs() <= 4.0 * f64::EPSILON * a.abs()
            }
            (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
            (Value::Object(a), Value::Object(b)) => {
                a.len() == b.len() && a.iter().all(|(name, a)| b.get(name).is_some_and(|b| same(a, b)))
            }
            _ => a == b,
        }
    }
    same(&serde_json::from_str(a).unwrap(), &serde_json::from_str(b).unwrap())
}

#[test]
fn every_committed_file_is_written_again_as_it_is() {
    let mut files = 0;
    for entry in std::fs::read_dir(results()).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "json") {
            let (name, text) = (path.file_name().unwrap().to_str().unwrap(), std::fs::read_to_string(&path).unwrap());
            let again = rewritten(name, &text);
            assert!(almost_same(&again, &text), "{name} changes when it is written again");
            files += 1;
        }
    }
    assert!(files > 10, "{files} files in {}", results().display());
}

#[test]
fn cells_are_added_without_a_change_to_those_before() {
    let text = std::fs::read_to_string(results().join("probe.json")).unwrap();
    let cells: Vec<HeadCell> = serde_json::from_str(&text).unwrap();
    let longer = append(&text, &cells[..2]).unwrap();
    let held = text.strip_suffix("\n]\n").unwrap();
    assert!(longer.starts_with(held), "the cells of before have changed");
    assert_eq!(serde_json::from_str::<Vec<HeadCell>>(&longer).unwrap().len(), cells.len() + 2);
    for empty in ["", "[]", "[\n\n]\n"] {
        assert_eq!(append(empty, &cells[..1]).unwrap(), to_json(&cells[..1]).unwrap());
    }
    assert_eq!(to_json::<HeadCell>(&[]).unwrap(), "[\n\n]\n");
    assert!(append("{}", &cells[..1]).is_err());
}

/// The page and the README read several files: of a cell that was asked again with more questions, those count.
#[test]
fn of_cells_in_several_files_those_with_more_questions_count() {
    let read = |name: &str| -> Vec<RetrievalCell> {
        serde_json::from_str(&std::fs::read_to_string(results().join(name)).unwrap()).unwrap()
    };
    let mut cells: Vec<RetrievalCell> =
        ["niah.json", "niah-16x.json"].into_iter().flat_map(read).filter(ResultCell::is_standard).collect();
    let again = RetrievalCell { trials: cells[0].trials + 1, ..cells[0].clone() };
    cells.insert(0, again);
    let kept = current(cells.clone(), |_| None);
    assert!(kept.len() < cells.len());
    for (index, cell) in kept.iter().enumerate() {
        assert!(kept[index + 1..].iter().all(|other| !cell.same_place(other)));
        let most = cells.iter().filter(|other| other.same_place(cell)).map(ResultCell::questions).max();
        assert_eq!(Some(cell.trials), most);
    }
}
