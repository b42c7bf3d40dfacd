//! The results files of the small models, and what tables ask of them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use drope_core::config::dope::DopeHeads;
use drope_core::language::Values;
use drope_core::niah::{Difficulty, Task};
use drope_core::perplexity::{PerplexityCell, synthetic_source};
use drope_core::positions::Method;
use drope_core::probe::HeadCell;
use drope_core::results::{ModelRecord, ResultCell, RetrievalCell, SEED, TrainingRecord, current, rounded};

use crate::files;
use crate::number::{Number, Row};

/// Extension factors of most tables.
pub const EXTENSIONS: [usize; 4] = [1, 2, 4, 8];

/// Files of retrieval cells.
const RETRIEVAL: [&str; 8] = ["niah", "niah-16x", "ablation", "dope", "cut", "passkey", "drop-time", "budget"];

/// A model and how it is read, as a table names it.
#[derive(Clone, Copy)]
pub struct System {
    pub name: &'static str,
    pub model: &'static str,
    pub method: Method,
    /// In place of the config's.
    pub cut: Option<f64>,
}

/// A system.
pub const fn system(name: &'static str, model: &'static str, method: Method) -> System {
    System { name, model, method, cut: None }
}

/// Questions about needles, whatever their number: of the standard seed, filler and difficulty.
#[derive(Clone, Copy)]
pub struct Ask<'a> {
    /// Name of the results file.
    pub file: &'a str,
    pub task: Task,
    pub values: Values,
    pub lengths: &'a [usize],
    /// Empty: at random depths.
    pub depths: &'a [f64],
    pub sinks: usize,
    /// Label of the heads that DoPE treats.
    pub heads: Option<&'a str>,
}

impl<'a> Ask<'a> {
    /// For numbers at random depths.
    pub const fn new(file: &'a str, task: Task, lengths: &'a [usize]) -> Self {
        Self { file, task, values: Values::Numbers, lengths, depths: &[], sinks: 0, heads: None }
    }
}

/// All results of the small models; of several for the same place of a table the one that counts.
pub struct Results {
    folder: PathBuf,
    models: Vec<ModelRecord>,
    /// C of nano-rope, and of all that came of it; 0 where it is not known.
    context: usize,
    retrieval: BTreeMap<&'static str, Vec<RetrievalCell>>,
    perplexities: Vec<PerplexityCell>,
    heads: Vec<HeadCell>,
}

impl Results {
    /// Reads the files of a folder; those that are not there are empty.
    ///
    /// # Errors
    /// If a file holds something else.
    pub fn read(folder: &Path) -> Result<Self> {
        let file = |name: &str| folder.join(format!("{name}.json"));
        let models: Vec<ModelRecord> = files::cells(&file("models"))?;
        let rope = models.iter().find(|record| record.model == "nano-rope");
        let context = rope.map_or(Ok(0), |record| record.config().map(|config| config.max_position_embeddings))?;
        let retrieval = RETRIEVAL.map(|name| Ok((name, counting(files::cells(&file(name))?, &models))));
        Ok(Self {
            retrieval: retrieval.into_iter().collect::<Result<_>>()?,
            perplexities: counting(files::cells(&file("perplexity"))?, &models),
            heads: counting(files::cells(&file("probe"))?, &models),
            folder: folder.to_owned(),
            context,
            models,
        })
    }

    /// What is known of a model.
    ///
    /// # Errors
    /// If nothing is.
    pub fn model(&self, name: &str) -> Result<&ModelRecord> {
        let record = self.models.iter().find(|record| record.model == name);
        record.with_context(|| {
            let file = self.folder.join("models.json");
            format!("{} does not have {name}; write it with `core inspect --json`", file.display())
        })
    }

    /// How a model was trained.
    ///
    /// # Errors
    /// If it is not known.
    pub fn training(&self, model: &str) -> Result<&TrainingRecord> {
        let training = &self.model(model)?.training;
        training.as_ref().with_context(|| format!("models.json does not say how {model} was trained"))
    }

    /// Cells of a results file.
    pub fn file(&self, name: &str) -> &[RetrievalCell] {
        self.retrieval.get(name).map_or(&[], |cells| cells)
    }

    /// The label of heads that `core dope select` chose; `None` before it did.
    pub fn heads_in(&self, name: &str) -> Result<Option<String>> {
        let path = self.folder.join(name);
        if !path.exists() {
            return Ok(None);
        }
        let heads: DopeHeads = serde_json::from_str(&files::read_text(&path)?)
            .with_context(|| format!("{} does not name heads", path.display()))?;
        Ok(Some(heads.label()))
    }

    /// A system's answers.
    pub fn answers(&self, system: &System, ask: &Ask) -> Vec<&RetrievalCell> {
        let is_asked = |cell: &&RetrievalCell| {
            is_of(*cell, system)
                && (cell.task, cell.values, cell.sinks) == (ask.task, ask.values, ask.sinks)
                && ask.lengths.contains(&cell.extension)
                && (cell.seed, cell.filler, cell.shard, cell.heads.as_deref()) == (SEED, None, None, ask.heads)
                && cell.depth.map_or(ask.depths.is_empty(), |depth| ask.depths.contains(&depth))
                && cell.difficulty == Difficulty::default()
        };
        self.file(ask.file).iter().filter(is_asked).collect()
    }

    /// A row of exact answers.
    pub fn exact(&self, system: &System, ask: &Ask) -> Row {
        Row::of_cells(system.name, &self.answers(system, ask), Number::exact)
    }

    /// A system's perplexities of held-out texts as long as the longest of the lengths.
    pub fn perplexities(&self, system: &System, lengths: &[usize]) -> Vec<&PerplexityCell> {
        let longest = lengths.iter().max().copied().unwrap_or(1);
        let is_asked = |cell: &&PerplexityCell| {
            is_of(*cell, system)
                && lengths.contains(&cell.extension)
                && cell.length == longest * self.context
                && cell.texts.len() == cell.of_texts
                && cell.source == synthetic_source(SEED)
                && cell.stride == cell.context / 2
        };
        self.perplexities.iter().filter(is_asked).collect()
    }

    /// The perplexity at 1×, of texts as long as the longest of [`EXTENSIONS`].
    pub fn perplexity_at_1x(&self, system: &System) -> Option<&PerplexityCell> {
        self.perplexities(system, &EXTENSIONS).into_iter().find(|cell| cell.extension == 1)
    }

    /// What every head of a system does.
    pub fn heads(&self, system: &System) -> Vec<&HeadCell> {
        let is_asked = |cell: &&HeadCell| {
            (cell.runs, cell.tokens) == (0, None) && cell.questions.are_usual(SEED) && is_of(*cell, system)
        };
        self.heads.iter().filter(is_asked).collect()
    }

    /// Standard cells of a file, in its order, for tables of everything.
    pub fn standard(&self, file: &str) -> impl Iterator<Item = &RetrievalCell> {
        self.file(file).iter().filter(|cell| cell.is_standard())
    }

    /// The cells of another file beside these.
    ///
    /// # Errors
    /// If it holds something else.
    pub fn other<T: serde::de::DeserializeOwned>(&self, name: &str) -> Result<Vec<T>> {
        files::cells(&self.folder.join(name))
    }
}

/// Whether a cell is of a system: of its model and method, with no temperature or parameters of the command line.
fn is_of(cell: &impl ResultCell, system: &System) -> bool {
    let reading = cell.reading();
    (reading.model, reading.method, reading.cut) == (system.model, system.method, system.cut.map(rounded))
        && !reading.beta_given
        && reading.parameters.is_empty()
}

fn counting<T: ResultCell>(cells: Vec<T>, models: &[ModelRecord]) -> Vec<T> {
    current(cells, |cell| {
        let reading = cell.reading();
        let record = models.iter().find(|record| record.model == reading.model)?;
        record.fingerprint(reading.method, reading.heads).map(str::to_owned)
    })
}
