//! `core data`: text to shards of tokens, resumably, and what is said of them.

mod common;

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use common::{Folder, nano_rope, read_json, refused, run, succeeds, text};
use parquet::data_type::{ByteArray, ByteArrayType};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;

/// Arguments of `core data prepare` with nano-rope's tokenizer.
fn prepare(pattern: &str, out: &Path, more: &[&str]) -> Vec<String> {
    let model = nano_rope();
    let arguments = ["data", "prepare", "--text", pattern, "--tokenizer", text(&model), "--out", text(out)];
    [&arguments[..], more].concat().into_iter().map(str::to_owned).collect()
}

fn strs(arguments: &[String]) -> Vec<&str> {
    arguments.iter().map(String::as_str).collect()
}

/// A Parquet file with a column of texts beside one of numbers.
fn parquet(path: &Path, texts: &[&str]) {
    let schema = "message rows { REQUIRED INT64 number; REQUIRED BYTE_ARRAY body (UTF8); }";
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let file = std::fs::File::create(path).unwrap();
    let mut writer = SerializedFileWriter::new(file, schema, Default::default()).unwrap();
    let mut rows = writer.next_row_group().unwrap();
    let mut numbers = rows.next_column().unwrap().unwrap();
    let values: Vec<i64> = (0..texts.len() as i64).collect();
    numbers.typed::<parquet::data_type::Int64Type>().write_batch(&values, None, None).unwrap();
    numbers.close().unwrap();
    let mut bodies = rows.next_column().unwrap().unwrap();
    let values: Vec<ByteArray> = texts.iter().map(|&text| text.into()).collect();
    bodies.typed::<ByteArrayType>().write_batch(&values, None, None).unwrap();
    bodies.close().unwrap();
    rows.close().unwrap();
    writer.close().unwrap();
}

/// Reads shards as Megatron-LM does (`IndexedDataset`), by the format alone: the ids of every document.
const MEGATRON: &str = r#"
import array, json, struct, sys
prefix = sys.argv[1]
with open(prefix + ".idx", "rb") as file:
    assert file.read(9) == b"MMIDIDX\x00\x00"
    version, code, sequences, documents = struct.unpack("<QBQQ", file.read(25))
    assert version == 1
    kind = {4: "i", 8: "H"}[code]
    lengths = struct.unpack(f"<{sequences}i", file.read(4 * sequences))
    pointers = struct.unpack(f"<{sequences}q", file.read(8 * sequences))
    borders = struct.unpack(f"<{documents}q", file.read(8 * documents))
    assert not file.read()
with open(prefix + ".bin", "rb") as file:
    bin = file.read()
def sequence(index):
    ids = array.array(kind)
    ids.frombytes(bin[pointers[index]:pointers[index] + lengths[index] * ids.itemsize])
    return ids.tolist()
print(json.dumps([sum(map(sequence, range(a, b)), []) for a, b in zip(borders, borders[1:])]))
"#;

fn documents(out: &Path, shard: &str) -> Vec<Vec<u32>> {
    let output = Command::new("python3").args(["-c", MEGATRON, text(&out.join(shard))]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn every_kind_of_file_becomes_documents_that_megatron_reads() {
    let folder = Folder::new("data-kinds");
    folder.write("corpus/a.txt", "the special magic number");
    folder.write("corpus/b/c.md", "the words are provided");
    folder.write("corpus/d.jsonl", "{\"body\": \"the text\"}\nbroken\n{\"body\": \"all numbers\"}\n");
    let packed = zstd::encode_all(&b"{\"body\": \"in the text\"}\n"[..], 1).unwrap();
    folder.write("corpus/e.jsonl.zst", packed);
    parquet(&folder.path("corpus/f.parquet"), &["for all words", "the number"]);
    folder.write("corpus/g.pdf", "no text");
    let out = folder.path("shards");
    let pattern = folder.path("corpus/**/*");
    let said = succeeds(&strs(&prepare(text(&pattern), &out, &["--column", "body", "--threads", "2"])));
    assert!(said.contains("7 documents of 6 files") && said.contains("2 records were skipped"), "{said}");
    let skipped = std::fs::read_to_string(out.join("skipped.txt")).unwrap();
    assert!(
        skipped.contains("d.jsonl: line 2: it is not JSON") && skipped.contains("g.pdf: its name is of no known kind")
    );

    let vocabulary = read_json(&nano_rope().join("tokenizer.json"))["model"]["vocab"].clone();
    let ids = |words: &str| -> Vec<u32> {
        let id = |word: &str| vocabulary[format!("▁{word}")].as_u64().unwrap() as u32;
        std::iter::once(1).chain(words.split(' ').map(id)).collect()
    };
    let expected = [
        "the special magic number",
        "the words are provided",
        "the text",
        "all numbers",
        "in the text",
        "for all words",
        "the number",
    ];
    assert_eq!(documents(&out, "00000"), expected.map(ids));
    let said = succeeds(&["data", "inspect", text(&out), "--verify", "--show", "7"]);
    assert!(said.contains("shard 00000: 7 documents, 27 tokens of 2 bytes"), "{said}");
    assert!(said.contains("tokens of a document: 3 to 5") && said.contains("document 6: \"the number\""), "{said}");
    assert!(said.contains("all files are as they were written"), "{said}");
}

#[test]
fn a_run_that_is_killed_goes_on_and_ends_with_the_same_files() {
    let folder = Folder::new("data-killed");
    let lines: String =
        (0..60_000).map(|line| format!("{{\"text\": \"the magic number is: {}\"}}\n", line % 10)).collect();
    for file in 0..4 {
        folder.write(&format!("corpus/{file}.jsonl"), &lines);
    }
    let pattern = folder.path("corpus/*");
    let small = ["--shard-size", "1", "--threads", "1"];
    let (whole, parts) = (folder.path("whole"), folder.path("parts"));
    succeeds(&strs(&prepare(text(&pattern), &whole, &small)));
    let arguments = prepare(text(&pattern), &parts, &small);
    let mut kills = 0;
    for delay in [30, 60, 90, 120, 150, 200] {
        let mut child = common::core(&strs(&arguments)).spawn().unwrap();
        std::thread::sleep(std::time::Duration::from_millis(delay));
        // SIGKILL: nothing is saved.
        child.kill().unwrap();
        kills += usize::from(!child.wait().unwrap().success());
    }
    assert!(kills > 0);
    if !parts.join("index.json").exists() {
        succeeds(&strs(&arguments));
    }
    let names = |folder: &Path| -> Vec<String> {
        let names = folder.read_dir().unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.filter(|name| !name.starts_with('.')).collect();
        names.sort();
        names
    };
    assert_eq!(names(&parts), names(&whole));
    assert!(names(&whole).len() > 4, "{:?}", names(&whole));
    for name in names(&whole) {
        let bytes = |folder: &Path| std::fs::read(folder.join(&name)).unwrap();
        assert!(bytes(&parts) == bytes(&whole), "{name}");
    }
}

#[test]
fn a_file_that_two_patterns_name_is_read_once_and_the_shards_themselves_never() {
    let folder = Folder::new("data-twice");
    folder.write("corpus/a.txt", "the text of a");
    folder.write("corpus/b.txt", "the text of b");
    let (all, one, out) = (folder.path("**/*"), folder.path("corpus/a.txt"), folder.path("out"));
    let arguments = prepare(text(&all), &out, &[]);
    for own in ["skipped.txt", "00000.bin.part", "00000.lengths.part"] {
        folder.write(&format!("out/{own}"), "no text to train on");
    }
    let said = succeeds(&[&strs(&arguments)[..], &["--text", text(&one)]].concat());
    assert_eq!(documents(&out, "00000").len(), 2, "{said}");
}

/// A file is known by its number, so that another one among them would be read twice or never.
#[test]
fn a_run_does_not_go_on_with_other_files() {
    let folder = Folder::new("data-others");
    let lines: String = (0..200_000).map(|line| format!("{{\"text\": \"the number is: {}\"}}\n", line % 10)).collect();
    for file in 1..4 {
        folder.write(&format!("corpus/{file}.jsonl"), &lines);
    }
    let out = folder.path("out");
    let arguments = prepare(text(&folder.path("corpus/*")), &out, &["--shard-size", "1", "--threads", "1"]);
    let mut child = common::core(&strs(&arguments)).spawn().unwrap();
    while !out.join("progress.json").exists() {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    folder.write("corpus/0.jsonl", &lines);
    refused(&strs(&arguments), "other files (names or sizes)");
}

#[test]
fn what_cannot_be_used_is_told_in_a_sentence() {
    let folder = Folder::new("data-refused");
    folder.write("a.txt", "the text");
    let (pattern, out) = (folder.path("a.txt"), folder.path("out"));
    let none = folder.path("none/*.txt");
    refused(&strs(&prepare(text(&none), &out, &[])), "no file has a name like");
    succeeds(&strs(&prepare(text(&pattern), &out, &[])));
    refused(&strs(&prepare(text(&pattern), &out, &[])), "holds shards already; choose another --out");
    refused(&["data", "inspect", text(&folder.path("none"))], "holds no data shards");
    // Changed and cut off shards.
    let bin = out.join("00000.bin");
    let bytes = std::fs::read(&bin).unwrap();
    std::fs::write(&bin, [&bytes[..2], &[9, 9], &bytes[4..]].concat()).unwrap();
    refused(&["data", "inspect", text(&out), "--verify"], "00000.bin was changed since it was written");
    std::fs::write(&bin, &bytes[2..]).unwrap();
    refused(&["data", "inspect", text(&out)], "00000.idx: the index of tokens is damaged");
    std::fs::remove_file(&bin).unwrap();
    refused(&["data", "inspect", text(&out)], "00000.bin");
    // A folder without any text.
    folder.write("empty.txt", "");
    let nothing = run(&strs(&prepare(text(&folder.path("empty.txt")), &folder.path("nothing"), &[])));
    assert_eq!(nothing.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&nothing.stderr).contains("the files hold no text"));
}
