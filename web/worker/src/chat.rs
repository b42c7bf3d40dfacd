//! Chat templates of models that are kept here. They are rendered once, around a message, by the program for
//! recalibration, which is not loaded before the first answer.

#[cfg(feature = "train")]
use drope_core::chat::{ChatTemplate, TOKENIZER_CONFIG_FILE};
use drope_protocol::ChatFormat;

use super::run::Interruption;
use super::store::{self, StoredFolder};

/// Renders the template of a model. One that cannot be rendered is forgotten, so that it is not tried again.
#[cfg(feature = "train")]
pub async fn render(name: &str) -> Result<(), Interruption> {
    let folder = StoredFolder::open(name).await?;
    let text = folder.read(TOKENIZER_CONFIG_FILE).await?;
    let template = ChatTemplate::from_files(Some(&String::from_utf8_lossy(&text)), None);
    let chat_affixes = template.and_then(|template| template.map(|template| template.affixes(None)).transpose());
    let (format, failed) = match chat_affixes {
        Ok(None) => (ChatFormat::None, None),
        Ok(Some([before, behind])) => (ChatFormat::Around { before, behind, is_used: false }, None),
        Err(error) => (ChatFormat::None, Some(format!("{name} is read without its {error}."))),
    };
    change(name, |_| format).await?;
    failed.map_or(Ok(()), |message| Err(Interruption::Failed(message)))
}

/// Chooses whether prompts are written as messages.
pub async fn choose(name: &str, wanted: bool) -> Result<(), Interruption> {
    let choose = |mut format: ChatFormat| {
        if let ChatFormat::Around { is_used, .. } = &mut format {
            *is_used = wanted;
        }
        format
    };
    change(name, choose).await
}

/// Changes what is known of a model, and tells the page.
async fn change(name: &str, change: impl FnOnce(ChatFormat) -> ChatFormat) -> Result<(), Interruption> {
    let mut folder = StoredFolder::open(name).await?;
    folder.lock().await?;
    let mut note = folder.note().await.ok_or_else(|| format!("{name} is not whole; add it again."))?;
    note.chat = change(note.chat);
    folder.write_note(&note).await?;
    store::tell().await;
    Ok(())
}
