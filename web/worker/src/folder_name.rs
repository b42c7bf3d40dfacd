//! Names of the folders of models that the browser keeps.

use wasm_bindgen::JsValue;

use super::lock::{Lock, try_lock};

/// The name of a model's folder. A model that replaces another one is written into a folder of its own, with the next
/// number; it takes the other one's place when its note is written.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FolderName {
    /// Name of the model.
    pub model: String,
    /// Number of the folder.
    pub generation: u32,
}

impl FolderName {
    /// Models have no such letter in their names.
    const SEPARATOR: char = '~';

    /// The name that a folder says.
    pub fn parse(folder: &str) -> Self {
        let parts = folder.rsplit_once(Self::SEPARATOR);
        let numbered = parts.and_then(|(model, number)| Some((model, number.parse().ok()?)));
        let (model, generation) = numbered.unwrap_or((folder, 0));
        Self { model: model.to_owned(), generation }
    }

    /// What the folder is called.
    pub fn text(&self) -> String {
        match self.generation {
            // As folders were called before they had numbers.
            0 => self.model.clone(),
            number => format!("{}{}{number}", self.model, Self::SEPARATOR),
        }
    }

    /// The lock that is held while the folder is written.
    pub async fn try_lock(&self) -> Result<Option<Lock>, JsValue> {
        try_lock(&format!("drope-model-{}", self.text())).await
    }
}
