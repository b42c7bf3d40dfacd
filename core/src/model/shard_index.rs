//! `model.safetensors.index.json`: which file holds each tensor of a model in several files.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use super::safetensors_files::{ReadAt, SafetensorsFiles};
use crate::error::{Error, Result};

/// The index of a model in several files.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct ShardIndex {
    /// File of each tensor.
    weight_map: BTreeMap<String, String>,
}

impl ShardIndex {
    /// Reads the index.
    ///
    /// # Errors
    /// If the bytes are no such index, it names no file, or it names one outside its folder.
    pub fn from_json(bytes: &[u8]) -> Result<Self> {
        let index: Self = serde_json::from_slice(bytes)
            .map_err(|error| Error::Safetensors(format!("the index of its files cannot be read, {error}")))?;
        let is_outside = |file: &&str| file.is_empty() || file.contains(['/', '\\', '\0']) || file.starts_with('.');
        if let Some(file) = index.files().into_iter().find(is_outside) {
            return Err(Error::Safetensors(format!("the index names {file:?}, which is not a file in its folder")));
        }
        if index.weight_map.is_empty() {
            return Err(Error::Safetensors("the index names no files".into()));
        }
        Ok(index)
    }

    /// Names of the files, each once.
    pub fn files(&self) -> BTreeSet<&str> {
        self.weight_map.values().map(String::as_str).collect()
    }

    /// Compares it with the files.
    ///
    /// # Errors
    /// If a tensor is not in the file that it names.
    pub fn check<R: ReadAt>(&self, files: &SafetensorsFiles<R>) -> Result<()> {
        match self.weight_map.iter().find(|(tensor, file)| files.file_of(tensor) != Some(file)) {
            Some((tensor, file)) => {
                Err(Error::Safetensors(format!("the index says that {file} holds {tensor}, which it does not")))
            }
            None => Ok(()),
        }
    }
}
