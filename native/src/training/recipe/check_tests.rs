//! Every field of a recipe, with values that are refused and values that are not.

use std::collections::BTreeSet;

use super::from_toml;

/// Every table and field that a recipe can have.
const WHOLE: &str = r#"
seed = 1
context = 64
longest = 512
steps = 10
tokens_per_step = 256
weight_decay = 0.1
max_gradient_norm = 1.0
optimizer = "muon"
compute = "f32"
[schedule]
shape = "cosine"
peak = 1e-3
warmup = 5
floor = 0.1
decay = 0.5
[curriculum]
min_length = 32
grow = 0.5
at_context = 0.5
[curriculum.easy]
until = 0.5
facts = 0.8
max_needles = 3
[documents]
lists = 0.1
copies_change = "both"
copies_of = "filler"
copies_unit = "sentence"
separate_copies = true
hold_out_selection = true
seven_digits = 0.5
sharing = 0.5
decoys = 0.5
needles_only = 0.25
tracking = 0.25
latest = 0.25
[data]
shards = [{ folder = "shards", weight = 2.0 }]
held_out = 0.1
synthetic = 1.0
mask_documents = true
[data.copies]
max = 8.0
filler = "spans"
[evaluation]
every = 10
windows = 4
keep_best = true
needles = 2
sample = 8
[guard]
spike = 10.0
stop_after = 5
[memory]
micro_batch_tokens = 64
recompute = true
[model]
hidden_size = 16
intermediate_size = 32
num_hidden_layers = 2
num_attention_heads = 2
num_key_value_heads = 1
rope_theta = 1e4
pe = "cope"
clipped_pairs = 1
[drop]
positions = "low"
cut = 0.1
attention_type = "nope"
scalable_softmax = false
[scaling]
method = "yarn"
factor = 8.0
"#;

/// The whole recipe with one field set to `value`, a TOML value.
fn with(field: &str, value: &str) -> String {
    let mut recipe: toml::Table = toml::from_str(WHOLE).unwrap();
    let value: toml::Table = toml::from_str(&format!("value = {value}")).unwrap();
    let path: Vec<&str> = field.split('.').collect();
    let (name, tables) = path.split_last().unwrap();
    let table = tables.iter().fold(&mut recipe, |table, name| table[*name].as_table_mut().unwrap());
    table.insert((*name).to_owned(), value["value"].clone());
    toml::to_string(&recipe).unwrap()
}

/// A field, values for it that are refused, and values that are accepted.
type Row = (&'static str, &'static [&'static str], &'static [&'static str]);

const ROWS: &[Row] = &[
    ("seed", &["-1", "0.5"], &["0", "123456789"]),
    // Beside a longest text of 512.
    ("context", &["0", "-1", "15", "31", "2_000_000"], &["32", "512"]),
    ("longest", &["0", "63", "-1", "2_000_000"], &["64", "4096"]),
    ("steps", &["0", "-1"], &["1"]),
    ("tokens_per_step", &["0", "100_000_000"], &["1", "4096"]),
    ("weight_decay", &["-0.1", "nan", "inf"], &["0.0", "1.0"]),
    ("max_gradient_norm", &["0.0", "-1.0", "nan", "inf"], &["1e-3", "100.0"]),
    ("optimizer", &["\"sgd\"", "1"], &["\"adamw\""]),
    ("schedule.peak", &["0.0", "-1e-3", "nan", "inf"], &["1e-5"]),
    ("schedule.warmup", &["-1", "0.5"], &["0", "1000"]),
    ("schedule.floor", &["-0.1", "1.1", "nan"], &["0.0", "1.0"]),
    ("schedule.shape", &["\"step\"", "1"], &["\"constant\"", "\"wsd\""]),
    ("schedule.decay", &["0.0", "-0.1", "1.1", "nan"], &["0.1", "1.0"]),
    ("curriculum.min_length", &["0", "15", "65"], &["16", "64"]),
    ("curriculum.grow", &["-0.1", "1.1", "nan"], &["0.0", "1.0"]),
    ("curriculum.at_context", &["-0.1", "1.1", "nan"], &["0.0", "1.0"]),
    ("curriculum.easy.until", &["-0.1", "1.1", "nan"], &["0.0", "1.0"]),
    ("curriculum.easy.facts", &["-0.1", "1.1", "nan"], &["0.0", "1.0"]),
    ("curriculum.easy.max_needles", &["0", "601"], &["1", "600"]),
    ("curriculum.easy.lists", &["-0.1", "1.1", "nan"], &["0.0", "1.0"]),
    ("curriculum.easy.unrelated_first", &["1"], &["true", "false"]),
    ("documents.repeat", &["-0.1", "1.1", "nan"], &["0.0", "1.0"]),
    ("documents.full", &["-0.1", "1.1", "nan"], &["0.0", "1.0"]),
    ("documents.all_asked", &["-0.1", "1.1", "nan"], &["0.0", "1.0"]),
    // Beside a multi_value of 0.08.
    ("documents.multi_query", &["-0.1", "1.1", "nan", "0.93"], &["0.0", "0.92"]),
    ("documents.multi_value", &["-0.1", "1.1", "nan", "0.93"], &["0.0", "0.92"]),
    ("documents.words", &["-0.1", "1.1", "nan"], &["0.0", "1.0"]),
    ("documents.facts", &["-0.1", "1.1", "nan"], &["0.0", "1.0"]),
    ("documents.terse", &["-0.1", "1.1", "nan"], &["0.0", "1.0"]),
    ("documents.passkey", &["-0.1", "1.1", "nan"], &["0.0", "1.0"]),
    ("documents.hold_out_selection", &["1"], &["false"]),
    ("documents.seven_digits", &["-0.1", "1.1", "nan"], &["0.0", "1.0"]),
    ("documents.sharing", &["-0.1", "1.1", "nan"], &["0.0", "1.0"]),
    ("documents.decoys", &["-0.1", "1.1", "nan"], &["0.0", "1.0"]),
    // Beside 0.5 of the two others.
    ("documents.needles_only", &["-0.1", "1.1", "nan", "0.51"], &["0.0", "0.5"]),
    ("documents.tracking", &["-0.1", "1.1", "nan", "0.51"], &["0.0", "0.5"]),
    ("documents.latest", &["-0.1", "1.1", "nan", "0.51"], &["0.0", "0.5"]),
    ("documents.lists", &["-0.1", "1.1", "1.5", "nan"], &["0.0", "1.0"]),
    ("documents.max_needles", &["0", "601"], &["1", "600"]),
    ("documents.max_copies", &["0.5", "0.0", "-1.0", "nan", "inf", "1e7"], &["1.0", "32.0"]),
    ("documents.copies_change", &["\"neither\"", "1"], &["\"counts\"", "\"positions\""]),
    ("documents.copies_of", &["\"prose\"", "1"], &["\"filler\"", "\"haystack\""]),
    ("documents.copies_unit", &["\"word\"", "1"], &["\"sentence\"", "\"token\""]),
    ("documents.separate_copies", &["1"], &["true"]),
    ("documents.prose_weight", &["-0.1", "nan", "inf"], &["0.0", "1.0"]),
    ("documents.answer_weight", &["0.0", "-1.0", "nan", "inf"], &["1.0", "4.0"]),
    (
        "data.shards",
        &["[]", "[{ folder = \"a\", weight = 0.0 }]", "[{ path = \"shards\" }]"],
        &["[{ folder = \"a\" }]"],
    ),
    // The evaluation needs some.
    ("data.held_out", &["-0.1", "0.6", "nan", "0.0"], &["0.01", "0.5"]),
    ("data.mask_documents", &["1"], &["false"]),
    // Beside a longest text, which only documents of the synthetic language have.
    ("data.synthetic", &["-0.1", "nan", "inf", "0.0"], &["0.5", "2.0"]),
    ("data.copies.max", &["0.5", "0.0", "-1.0", "nan", "inf", "1e7"], &["1.0", "32.0"]),
    ("data.copies.filler", &["\"words\""], &["\"documents\""]),
    ("evaluation.every", &["0", "-1"], &["1", "500"]),
    ("evaluation.windows", &["0", "-1"], &["1", "64"]),
    ("evaluation.keep_best", &["1"], &["false"]),
    ("evaluation.needles", &["-1", "1001"], &["0", "20"]),
    ("evaluation.sample", &["-1", "5000"], &["0", "64"]),
    ("guard.spike", &["0.0", "-1.0", "nan"], &["2.0", "100.0"]),
    ("guard.stop_after", &["0", "-1"], &["1", "100"]),
    ("compute", &["\"f16\"", "16"], &["\"f32\"", "\"bf16\""]),
    ("memory.micro_batch_tokens", &["0", "-1", "100_000_000"], &["1", "4096"]),
    ("memory.recompute", &["1"], &["false"]),
    ("memory.attention_queries", &["0", "-1", "100_000_000"], &["1", "512"]),
    ("model.hidden_size", &["0", "15", "18", "1_000_000", "4_000_000_000"], &["4", "32"]),
    ("model.intermediate_size", &["0", "4_000_000_000"], &["1"]),
    ("model.num_hidden_layers", &["0", "5000"], &["1"]),
    // The last of the refused values gives heads with one component.
    ("model.num_attention_heads", &["0", "3", "32", "16"], &["1", "8"]),
    ("model.num_key_value_heads", &["0", "3"], &["2"]),
    ("model.rope_theta", &["1.0", "0.0", "-1.0", "nan", "inf"], &["2.0", "5e5"]),
    // Others clip no pairs.
    ("model.pe", &["\"sinusoidal\"", "\"rope\""], &["\"cope\""]),
    ("model.clipped_pairs", &["0", "-1", "5"], &["4"]),
    ("drop.positions", &["\"some\"", "\"all\""], &["\"low\"", "\"none\""]),
    ("drop.cut", &["0.0", "-1.0", "nan", "inf"], &["1e-3"]),
    // Others drop no single layers.
    ("drop.layers", &["[]", "[0]", "[-1]", "0"], &[]),
    ("drop.attention_type", &["\"rope\"", "\"qk_norm_rope\"", "\"qk_norm_nope\"", "\"x\""], &["\"nope\""]),
    ("drop.scalable_softmax", &["1"], &["true"]),
    ("scaling.method", &["\"dynamic-ntk\"", "1"], &["\"pi\"", "\"llama3\""]),
    ("scaling.factor", &["1.0", "0.5", "nan", "inf", "1e7"], &["2.0", "64.0"]),
];

#[test]
fn every_field_is_checked_and_its_sentence_names_it() {
    for (field, wrong, right) in ROWS {
        for value in *right {
            assert!(from_toml(&with(field, value)).is_ok(), "{field} = {value} is refused");
        }
        for value in *wrong {
            let sentence = from_toml(&with(field, value)).expect_err(&format!("{field} = {value}"));
            let name = field.rsplit('.').next().unwrap();
            // Wrong positions may be refused because drop.cut does not fit them, so that the sentence names drop.cut.
            let names = match *field {
                "context" => vec!["context"],
                "drop.positions" => vec!["positions", "drop.cut"],
                "model.pe" => vec!["position embedding", "pe ="],
                _ => vec![name],
            };
            assert!(names.iter().any(|name| sentence.contains(name)), "{field} = {value}: {sentence}");
            assert!(!sentence.contains('\n'), "one sentence: {sentence}");
        }
    }
}

#[test]
fn attention_in_chunks_needs_blocks_that_are_computed_again() {
    let recipe = with("memory.attention_queries", "8").replace("recompute = true", "recompute = false");
    assert!(from_toml(&recipe).unwrap_err().contains("set memory.recompute = true"));
}

#[test]
fn the_table_above_has_every_field() {
    // Tables of the recipe; serde names all fields of a struct where it meets an unknown one, those included that it
    // leaves out when it writes.
    let tables = [
        "",
        "schedule",
        "curriculum",
        "curriculum.easy",
        "documents",
        "data",
        "data.copies",
        "evaluation",
        "guard",
        "memory",
        "model",
        "drop",
        "scaling",
    ];
    let fields_of = |table: &&str| -> Vec<String> {
        let prefix = if table.is_empty() { String::new() } else { format!("{table}.") };
        let sentence = from_toml(&with(&format!("{prefix}no_such_field"), "1")).unwrap_err();
        let (_, expected) = sentence
            .split_once("expected one of")
            .unwrap_or_else(|| sentence.split_once("expected").unwrap_or_else(|| panic!("{table}: {sentence}")));
        // Names stand between backticks; the line of the file follows in parentheses.
        let names = expected.split_once("(line").map_or(expected, |(names, _)| names).split('`').skip(1).step_by(2);
        names.map(|name| format!("{prefix}{name}")).filter(|path| !tables.contains(&&**path)).collect()
    };
    let fields: BTreeSet<String> = tables.iter().flat_map(fields_of).collect();
    assert!(fields.len() > 50, "{fields:?}");
    let rows: BTreeSet<String> = ROWS.iter().map(|(field, ..)| (*field).to_owned()).collect();
    assert_eq!(fields, rows);
}

#[test]
fn layers_are_dropped_alone_where_all_of_their_positions_are() {
    let dropping = |drop: &str| from_toml(&with("drop", drop));
    assert!(dropping("{ positions = \"all\", layers = [0, 3] }").is_ok());
    for drop in [
        "{ positions = \"all\", layers = [] }",
        "{ positions = \"all\", layers = [4096] }",
        "{ positions = \"none\", layers = [0] }",
        "{ positions = \"all\", layers = [0], attention_type = \"q_norm_nope\" }",
    ] {
        let sentence = dropping(drop).expect_err(drop);
        assert!(sentence.contains("drop.layers"), "{sentence}");
    }
}
