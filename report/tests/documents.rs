//! The documents of this repository are those of its results files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;
use tempfile::TempDir;

fn root() -> PathBuf {
    PathBuf::from(env!("DROPE_ROOT"))
}

/// Every text file of a folder.
fn files(folder: &Path) -> BTreeMap<String, String> {
    let paths = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let name = |path: &Path| path.file_name().unwrap().to_string_lossy().into_owned();
    paths.filter_map(|path| Some((name(&path), std::fs::read_to_string(&path).ok()?))).collect()
}

#[test]
fn documents_are_those_of_the_results_files() {
    let folder = TempDir::new().unwrap();
    let out = folder.path();
    std::fs::create_dir_all(out.join("docs/results")).unwrap();
    for document in ["README.md", "docs/results/README.md", "docs/paper.md"] {
        std::fs::copy(root().join(document), out.join(document)).unwrap();
    }
    let data = root().join("docs/results");
    drope_report::write_reproduction(&data, &out.join("docs/reproduction")).unwrap();
    drope_report::write_documents(&data, out).unwrap();
    let mut compared = 0;
    for folder in ["", "docs", "docs/results", "docs/reproduction"] {
        let committed = files(&root().join(folder));
        for (name, text) in files(&out.join(folder)) {
            assert!(
                committed.get(&name) == Some(&text),
                "{folder}/{name} is not that of the results: run `cargo xtask table`"
            );
            compared += 1;
        }
    }
    assert!(compared >= 38, "{compared}");
}

/// Results with these cells and what is known of nano-rope, and what a section makes of them.
struct Results(TempDir);

impl Results {
    fn new() -> Self {
        let folder = TempDir::new().unwrap();
        std::fs::copy(root().join("docs/results/models.json"), folder.path().join("models.json")).unwrap();
        Self(folder)
    }

    fn section(&self, file: &str, cells: &[Value], section: &str) -> String {
        std::fs::write(self.0.path().join(file), serde_json::to_string(cells).unwrap()).unwrap();
        let out = self.0.path().join("out");
        drope_report::write_reproduction(self.0.path(), &out).unwrap();
        std::fs::read_to_string(out.join(format!("{section}.md"))).unwrap()
    }
}

#[test]
fn of_two_results_the_present_models_counts() {
    let known: Vec<Value> =
        serde_json::from_str(&std::fs::read_to_string(root().join("docs/results/niah.json")).unwrap()).unwrap();
    let is_wanted = |cell: &&Value| {
        (&cell["model"], &cell["task"], &cell["values"])
            == (&"nano-drope".into(), &"multi-key".into(), &"numbers".into())
    };
    let present: Vec<Value> = known.iter().filter(is_wanted).cloned().collect();
    assert_eq!(present.len(), 4);
    let with = |cells: &[Value], changes: &[(&str, Value)]| -> Vec<Value> {
        let mut cells = cells.to_vec();
        for cell in &mut cells {
            changes.iter().for_each(|(field, value)| cell[*field] = value.clone());
        }
        cells
    };
    let results = Results::new();
    // Results of another model do not count, whether they stand before or after those of the present model.
    let others = with(&present, &[("fingerprint", "another".into()), ("accuracy", 0.123.into())]);
    let text = results.section("niah.json", &[&others[..], &present, &others].concat(), "retrieval");
    assert!(text.contains("| DroPE (copies + SSMax) | 99.6 [") && !text.contains("12.3 ["), "{text}");
    // If the model is not known, the later result counts.
    let unknown = with(&[&present[..], &others].concat(), &[("model", "drope-plain".into())]);
    assert!(results.section("ablation.json", &unknown, "retrieval").contains("12.3 ["));
}

#[test]
fn what_is_not_measured_is_named_and_nothing_is_claimed() {
    let results = Results::new();
    let text = results.section("niah.json", &[], "README");
    assert!(text.contains("Not measured so far: retrieval, tasks, loss, gradients, crop, mass,"), "{text}");
    // PI halves every frequency, and so does YaRN as the paper prints it.
    assert!(
        text.contains("](frequencies.md): ") && text.contains("That the printed formula of YaRN is PI holds here"),
        "{text}"
    );
    let text = results.section("niah.json", &[], "frequencies");
    assert!(text.contains("| PI | 0.500 | 0.500 | 0.500 |") && text.contains("| YaRN | 1.000 |"), "{text}");
    let svg = std::fs::read_to_string(results.0.path().join("out/frequencies-2x.svg")).unwrap();
    assert!(svg.starts_with("<svg") && svg.contains("polyline"));
    std::fs::write(results.0.path().join("cut.json"), "[{}]").unwrap();
    let refused = drope_report::write_reproduction(results.0.path(), &results.0.path().join("out")).unwrap_err();
    assert!(refused.to_string().contains("cut.json does not hold such results"), "{refused:#}");
}
