//! Records of files of text, one after the other: what a document is in each kind of file.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use flate2::read::MultiGzDecoder;
use serde_json::Value;

use super::columns;
use super::pieces::Pieces;
use super::record::{RecordOrReason, Records, TextRecord};
use crate::files;

/// A longer line is no record: it would have to be in memory as a whole.
const LONGEST_LINE: u64 = 256 << 20;

/// Kinds of files, by the ends of their names.
pub const KINDS: &str = ".txt, .md, .jsonl, .json, .parquet, and with .gz or .zst behind them all but .parquet";

/// The records of a file, whose kind its name says; `column` is the name of the field of a line or of the column that has the text.
/// Bytes of the file that were read, compressed as they are on disk, are added to `done`.
///
/// # Errors
/// If it cannot be opened, or its name is of no known kind.
pub fn records(path: &Path, column: &str, done: &Arc<AtomicU64>) -> Result<Records, String> {
    let name = files::name(path).to_lowercase();
    let open = || File::open(path).map_err(|error| format!("it cannot be read ({error})"));
    let counted = || open().map(|file| Counted { file, done: Arc::clone(done) });
    if name.ends_with(".parquet") {
        return columns::records(open()?, column, done);
    }
    let (name, bytes): (_, Box<dyn Read>) = if let Some(name) = name.strip_suffix(".gz") {
        (name, Box::new(MultiGzDecoder::new(BufReader::new(counted()?))))
    } else if let Some(name) = name.strip_suffix(".zst") {
        let decoder = zstd::Decoder::new(counted()?).map_err(|error| format!("it cannot be unpacked ({error})"))?;
        (name, Box::new(decoder))
    } else {
        (&*name, Box::new(counted()?))
    };
    match name.rsplit_once('.').map(|(_, kind)| kind) {
        Some("txt" | "md") => Ok(Box::new(Pieces::new(bytes))),
        Some("jsonl" | "json") => Ok(Box::new(Lines::new(BufReader::new(bytes), column))),
        _ => Err(format!("its name is of no known kind; known are {KINDS}")),
    }
}

/// A file that says how much of it was read.
struct Counted {
    file: File,
    done: Arc<AtomicU64>,
}

impl Read for Counted {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let read = self.file.read(into)?;
        self.done.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}

/// A JSON object a line.
struct Lines<R> {
    bytes: R,
    column: String,
    /// Number of the last line.
    line: usize,
    /// Whether nothing more can be read.
    is_over: bool,
}

impl<R: BufRead> Lines<R> {
    fn new(bytes: R, column: &str) -> Self {
        Self { bytes, column: column.to_owned(), line: 0, is_over: false }
    }

    fn record(&self, line: &[u8]) -> RecordOrReason {
        let fail = |reason: String| Err(format!("line {}: {reason}", self.line));
        match serde_json::from_slice::<Value>(line) {
            Ok(Value::Array(_)) => fail("it is a list; a file of JSON has one object a line".to_owned()),
            Ok(mut value) => match value.get_mut(&self.column).map(Value::take) {
                Some(Value::String(text)) => Ok(TextRecord { text, is_end: true }),
                Some(_) => fail(format!("its field {:?} is no text", self.column)),
                None => fail(format!("it has no field {:?}; name the field of the text with --column", self.column)),
            },
            Err(error) => fail(format!("it is not JSON ({error}); a file of JSON has one object a line")),
        }
    }
}

impl<R: BufRead> Iterator for Lines<R> {
    type Item = RecordOrReason;

    fn next(&mut self) -> Option<RecordOrReason> {
        while !self.is_over {
            let mut line = Vec::new();
            self.line += 1;
            match self.bytes.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line) {
                Ok(0) => self.is_over = true,
                Ok(_) if line.len() as u64 == LONGEST_LINE && !line.ends_with(b"\n") => {
                    self.is_over = true;
                    return Some(Err(format!("line {}: it is longer than {LONGEST_LINE} bytes", self.line)));
                }
                Ok(_) if line.iter().all(u8::is_ascii_whitespace) => {}
                Ok(_) => return Some(self.record(&line)),
                Err(error) => {
                    self.is_over = true;
                    return Some(Err(format!("line {}: the rest cannot be read ({error})", self.line)));
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::path::Path;
    use std::sync::Arc;
    use std::sync::atomic::Ordering;

    use super::{RecordOrReason, TextRecord, records};

    fn read(path: &Path) -> Vec<RecordOrReason> {
        let done = Arc::default();
        let found = records(path, "text", &done).unwrap().collect();
        assert_eq!(done.load(Ordering::Relaxed), path.metadata().unwrap().len(), "the whole file is done");
        found
    }

    fn document(text: &str) -> RecordOrReason {
        Ok(TextRecord { text: text.into(), is_end: true })
    }

    #[test]
    fn lines_are_records_and_wrong_ones_are_named_with_their_place() {
        let folder = tempfile::tempdir().unwrap();
        let lines = "{\"text\": \"a\"}\n\nno\n{\"text\": 1}\n{\"body\": \"b\"}\n{\"text\": \"c\", \"n\": 1}";
        let plain = folder.path().join("a.jsonl");
        std::fs::write(&plain, lines).unwrap();
        let found = read(&plain);
        assert_eq!((&found[0], found.last()), (&document("a"), Some(&document("c"))));
        let reasons: Vec<&String> = found.iter().filter_map(|record| record.as_ref().err()).collect();
        assert!(reasons[0].starts_with("line 3: it is not JSON"), "{reasons:?}");
        assert!(reasons[1].starts_with("line 4: its field \"text\" is no text"), "{reasons:?}");
        assert!(reasons[2].starts_with("line 5: it has no field \"text\""), "{reasons:?}");
        // The same, packed.
        let zst = folder.path().join("a.jsonl.zst");
        std::fs::write(&zst, zstd::encode_all(lines.as_bytes(), 1).unwrap()).unwrap();
        assert_eq!(read(&zst), found);
        let gz = folder.path().join("a.json.gz");
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packed.write_all(lines.as_bytes()).unwrap();
        let packed = packed.finish().unwrap();
        std::fs::write(&gz, &packed).unwrap();
        assert_eq!(read(&gz), found);
        // A file that was cut off.
        std::fs::write(&gz, &packed[..packed.len() / 2]).unwrap();
        let cut = read(&gz);
        assert!(cut.last().unwrap().as_ref().unwrap_err().contains("the rest cannot be read"), "{cut:?}");
        assert!(
            records(&folder.path().join("a.pdf"), "text", &Arc::default()).err().unwrap().contains("cannot be read")
        );
        std::fs::write(folder.path().join("a.pdf"), "").unwrap();
        assert!(
            records(&folder.path().join("a.pdf"), "text", &Arc::default()).err().unwrap().contains("known are .txt")
        );
    }
}
