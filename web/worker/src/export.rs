//! A model that is kept here as a zip, which `core` and transformers open.

use std::io::{Cursor, Write};

use drope_core::chat::TOKENIZER_CONFIG_FILE;
use drope_core::config::{Config, MODELING_FILE};
use drope_core::loaded_model::{CONFIG_FILE, INDEX_FILE, TOKENIZER_FILE, WEIGHTS_FILE};
use drope_protocol::Reply;
use js_sys::{Array, Uint8Array};
use web_sys::{Blob, BlobPropertyBag};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use super::reply_with;
use super::run::{Interruption, Run};
use super::store::{GGUF_FILE, StoredFolder};

/// Sends the zip of a model to the page.
pub async fn export(name: &str, run: &Run) -> Result<(), Interruption> {
    let folder = StoredFolder::open(name).await?;
    let note = folder.note().await.ok_or_else(|| format!("{name} is not whole; add it again."))?;
    let failed = |error: &dyn std::fmt::Display| Interruption::Failed(format!("The zip could not be made ({error})."));
    // Weights are as good as random: compressing them takes long and gains nothing.
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
    let add = |zip: &mut ZipWriter<Cursor<Vec<u8>>>, called: &str, bytes: &[u8]| {
        zip.start_file(format!("{name}/{called}"), options).map_err(|error| failed(&error))?;
        zip.write_all(bytes).map_err(|error| failed(&error))
    };
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    let mut files =
        vec![(CONFIG_FILE.to_owned(), CONFIG_FILE.to_owned()), (TOKENIZER_FILE.into(), TOKENIZER_FILE.into())];
    // Weights that were written in turns have other names here than in a model's folder.
    match &note.weights[..] {
        [file] if file == GGUF_FILE => files = vec![(file.clone(), format!("{name}.gguf"))],
        [only] => files.push((only.clone(), WEIGHTS_FILE.to_owned())),
        shards => {
            files.extend(shards.iter().map(String::as_str).chain([INDEX_FILE]).map(|file| (file.into(), file.into())));
        }
    }
    for (file, called) in files {
        let bytes = folder.read(&file).await?;
        add(&mut zip, &called, &bytes)?;
        run.yield_to_messages().await;
        run.check()?;
    }
    // Only models with a chat template have it; a GGUF has its own.
    if note.weights != [GGUF_FILE]
        && let Ok(template) = folder.read(TOKENIZER_CONFIG_FILE).await
    {
        add(&mut zip, TOKENIZER_CONFIG_FILE, &template)?;
    }
    let config =
        folder.read(CONFIG_FILE).await.ok().and_then(|bytes| Config::from_json(std::str::from_utf8(&bytes).ok()?).ok());
    if let Some(modeling) = config.and_then(|config| config.modeling()) {
        add(&mut zip, MODELING_FILE, modeling.as_bytes())?;
    }
    let bytes = zip.finish().map_err(|error| failed(&error))?.into_inner();
    let kind = BlobPropertyBag::new();
    kind.set_type("application/zip");
    let blob = Blob::new_with_u8_array_sequence_and_options(&Array::of1(&Uint8Array::from(&bytes[..])), &kind);
    let blob = blob.map_err(|_| Interruption::Failed("The zip has no room in memory.".into()))?;
    reply_with(&Reply::Exported { run: run.number, name: name.to_owned() }, &blob);
    Ok(())
}
