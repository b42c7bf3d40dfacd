//! Whether a downloaded file is what its name says: hosts answer a missing file with a page of theirs and status 200, and
//! connections break off.

use safetensors::SafeTensors;
use serde_json::{Map, Value};

/// Whether `bytes` can be the file `path` of a model folder; if not, why, as the end of a sentence.
pub fn check(path: &str, bytes: &[u8]) -> Result<(), String> {
    if bytes.trim_ascii_start().starts_with(b"<") {
        return Err("the server sent a web page in its place".into());
    }
    let problem = if path.ends_with(".safetensors") {
        SafeTensors::deserialize(bytes).err().map(|error| error.to_string())
    } else {
        serde_json::from_slice::<Map<String, Value>>(bytes).err().map(|error| error.to_string())
    };
    problem.map_or(Ok(()), |problem| Err(format!("what the server sent is damaged: {problem}")))
}
