//! The recipes of the study: runs that are compared differ only in what the study varies.

use std::path::{Path, PathBuf};

use drope_core::language::{CopiesChange, CopiesOf, CopiesUnit, DocumentMix, tokenizer_corpus};
use drope_core::tokenizer::Tokenizer;
use drope_core::train::DocumentSource;

use drope_core::train::recipe::{Dropped, Recipe};

use super::{read, setting};

fn folder() -> PathBuf {
    Path::new(env!("DROPE_ROOT")).join("recipes/study")
}

/// Names and recipes of all runs that go on from a trunk.
fn recalibrations() -> Vec<(String, Recipe)> {
    let names = std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path());
    let name = |path: &Path| path.file_stem().unwrap().to_str().unwrap().to_owned();
    let recipes = names.map(|path| (name(&path), read(&path, &[]).unwrap()));
    let recipes: Vec<_> = recipes.filter(|(_, recipe)| recipe.drop.is_some()).collect();
    assert!(recipes.len() >= 8);
    recipes
}

#[test]
fn recalibrations_agree_in_all_but_what_the_study_varies() {
    let without_design = |recipe: &Recipe| {
        let mut recipe = Recipe { drop: None, scaling: None, ..recipe.clone() };
        recipe.documents.max_copies = 1.0;
        recipe
    };
    let recipes = recalibrations();
    for (name, recipe) in &recipes {
        assert_eq!(without_design(recipe), without_design(&recipes[0].1), "{name}");
        let drop = recipe.drop.as_ref().unwrap();
        assert_eq!((drop.cut, drop.attention_type), (None, None), "{name}");
        // The name says what the recipe varies.
        let parts: Vec<&str> = name.split('-').collect();
        let dropped = match parts[0] {
            "all" => Dropped::All,
            "low" => Dropped::Low,
            _ => Dropped::None,
        };
        assert_eq!(drop.positions, dropped, "{name}");
        assert_eq!(recipe.documents.max_copies > 1.0, parts.contains(&"copies"), "{name}");
        assert_eq!(drop.scalable_softmax, Some(parts.contains(&"ssmax")), "{name}");
        assert_eq!(recipe.scaling.is_some(), ["yarn", "pi"].contains(&parts[0]), "{name}");
    }
}

#[test]
fn recalibrations_with_one_seed_draw_the_same_documents() {
    let trunk = read(&folder().join("rope.toml"), &[]).unwrap();
    let tokenizer = Tokenizer::train(tokenizer_corpus(1, &trunk.documents)).unwrap();
    let batches = |recipe: &Recipe| {
        let source = recipe.documents(&tokenizer, tokenizer.bos());
        [0, 700, 2500, recipe.steps - 1].map(|step| source.batch(recipe.seed, step).unwrap())
    };
    let recipes = recalibrations();
    let first = batches(&recipes[0].1);
    for (name, recipe) in &recipes {
        for (ours, theirs) in batches(recipe).iter().zip(&first) {
            assert_eq!((&ours.ids, &ours.loss_weights), (&theirs.ids, &theirs.loss_weights), "{name}");
        }
    }
}

/// The settings that the second study's plan gives recipes of the first fit them.
#[test]
fn the_rivals_of_the_second_study_are_recipes() {
    let folder = folder().join("../..");
    let plan: toml::Table =
        toml::from_str(&std::fs::read_to_string(folder.join("recipes/study-2.toml")).unwrap()).unwrap();
    let commands = plan["job"].as_array().unwrap().iter().map(|job| job["command"].as_str().unwrap());
    let (mut rivals, mut other_copies) = (0, 0);
    for words in commands.map(|command| command.split_whitespace().collect::<Vec<_>>()) {
        let value = |name: &str| words.iter().position(|word| *word == name).map(|at| words[at + 1]);
        let (Some(recipe), Some(set)) = (value("--recipe"), value("--set")) else { continue };
        let settings: Vec<_> = set.split(',').map(|text| setting(text).unwrap()).collect();
        let recipe = read(&folder.join(recipe), &settings).unwrap();
        if recipe.documents.copies_unit != CopiesUnit::Sentence || recipe.documents.copies_of != CopiesOf::Filler {
            let documents = DocumentMix {
                copies_unit: CopiesUnit::Sentence,
                copies_of: CopiesOf::Filler,
                ..recipe.documents.clone()
            };
            let all_copies = read(&folder.join("recipes/study/all-copies.toml"), &[]).unwrap();
            assert_eq!(Recipe { documents, ..recipe }, all_copies, "{set}");
            other_copies += 1;
            continue;
        }
        let changes = recipe.documents.copies_change != CopiesChange::Both || recipe.longest == Some(2048);
        assert!(changes && recipe.drop.unwrap().positions == Dropped::None, "{set}");
        rivals += 1;
    }
    assert_eq!((rivals, other_copies), (7, 3));
}
