//! Reads every file of the fuzz corpora again: the files that `cargo xtask fuzz` began with, and those that were added.

use std::fs;
use std::path::Path;

use drope_fuzz::READERS;

#[test]
fn every_file_of_the_corpora_is_read_or_refused() {
    let corpora = Path::new(env!("DROPE_ROOT")).join("fuzz/corpus");
    for (name, reader) in READERS {
        let folder = corpora.join(name);
        let files = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        let files: Vec<_> = files.map(|file| file.expect("a file").path()).collect();
        assert!(files.len() > 2, "{} has {} files", folder.display(), files.len());
        for file in files {
            let bytes = fs::read(&file).expect("a file");
            println!("{}", file.display());
            reader(&bytes);
        }
    }
}
