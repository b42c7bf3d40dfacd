//! Models of the reader's: taking them in from a folder, a zip or an address, and what the browser keeps.

use drope_protocol::Origin;
use js_sys::{Array, Promise, Reflect};
use leptos::prelude::*;
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;
use web_sys::{
    DataTransfer, File, FileSystemDirectoryEntry, FileSystemDirectoryReader, FileSystemEntry, FileSystemFileEntry,
    HtmlInputElement,
};

use crate::link::runs::{import, stop};
use crate::own::kept::StoredModels;
use crate::parts::status::LoadingFiles;
use crate::state::State;
use crate::state::model_name::clean;
use crate::state::running::Running;

/// The form and the list.
#[component]
pub fn OwnModels(state: State) -> impl IntoView {
    let address = RwSignal::new(String::new());
    let is_over = RwSignal::new(false);
    let is_running = move || state.running.get() == Some(Running::Import);
    let drop_files = move |event: leptos::ev::DragEvent| {
        event.prevent_default();
        is_over.set(false);
        if let Some(data) = event.data_transfer() {
            // The dropped data is only available until this handler returns; the entries taken from it remain valid.
            let found = dropped(&data);
            leptos::task::spawn_local(async move { take_dropped(state, found).await });
        }
    };
    let choose = move |event: leptos::ev::Event| {
        let input: Option<HtmlInputElement> = event.target().and_then(|target| target.dyn_into().ok());
        let files: Vec<File> =
            input.iter().filter_map(HtmlInputElement::files).flat_map(|list| files_of(&list)).collect();
        let files = of_one_folder(files);
        if let Some(file) = files.first() {
            take(state, &name_of(file), &files);
        }
        // So that the same folder can be chosen again.
        input.iter().for_each(|input| input.set_value(""));
    };
    let load = move |event: leptos::ev::SubmitEvent| {
        event.prevent_default();
        let address = address.get_untracked();
        let parts: Vec<&str> = address.trim().split('/').filter(|part| !part.is_empty()).collect();
        // On Hugging Face the address goes on behind the model's name, by /tree, /blob or /resolve.
        let end = parts.iter().position(|part| ["tree", "blob", "resolve"].contains(part)).unwrap_or(parts.len());
        let name = parts[..end].last().copied().unwrap_or("model");
        import(state, clean(name), Origin::Address(address.clone()), &Array::new());
    };
    view! {
        <section class="own-models" aria-label="Your own models">
            <h2 id="own-models" tabindex="-1">"Your own model"</h2>
            <p class="hint">
                "A Llama, Mistral, Qwen 2 or 3, SmolLM3, OLMo 2, Phi-3, Gemma 3, Granite or Seed-OSS, with or without positions: a Hugging Face folder with config.json, tokenizer.json and \
                 safetensors, in one file or several, in 32 or 16 bits; or a GGUF. It stays in this browser and is not sent anywhere; then it is in \
                 the list of models under Play and Your text, with any method. For models with long contexts, set the length in tokens. Models of more than \
                 64 million parameters are computed with weights of 8 bits, or on the CPU of the 4 to 8 bits of a GGUF, and with keys and values of 16 bits, except on GPUs that lack such numbers."
            </p>
            <div class="drop" class:over=move || is_over.get() on:drop=drop_files
                on:dragover=move |event: leptos::ev::DragEvent| { event.prevent_default(); is_over.set(true) } on:dragleave=move |_| is_over.set(false)>
                <p>"Drop a folder, a zip of it, or a GGUF here, or"</p>
                <div class="buttons">
                    <label class="file">"choose a folder"
                        <input id="model-folder" type="file" multiple=true prop:webkitdirectory=true on:change=choose />
                    </label>
                    <label class="file">"choose a zip or GGUF"
                        <input id="model-zip" type="file" accept=".zip,.gguf" on:change=choose />
                    </label>
                </div>
                <form class="buttons" on:submit=load>
                    <label class="field wide">
                        <span>"or the address of a folder, such as https://huggingface.co/HuggingFaceTB/SmolLM-135M"</span>
                        <input id="model-address" type="text" inputmode="url" prop:value=move || address.get()
                            on:input=move |event| address.set(event_target_value(&event)) />
                    </label>
                    <button type="submit" disabled=move || is_running() || address.with(|address| address.trim().is_empty())>"Load"</button>
                    <button type="button" hidden=move || !is_running() on:click=move |_| stop(state)>"Stop"</button>
                </form>
                {move || is_running().then(|| view! { <LoadingFiles loading=state.loading /> })}
                <p id="model-error" class="failure" role="alert" hidden=move || state.model_error.get().is_none()>{move || state.model_error.get()}</p>
            </div>
            {move || match state.stored.get() {
                None => view! {
                    <p class="hint">"This browser keeps no files for this page, as in some private windows; models of your own need that."</p>
                }.into_any(),
                Some(models) if models.is_empty() => ().into_any(),
                Some(models) => view! { <StoredModels state models /> }.into_any(),
            }}
        </section>
    }
}

fn take(state: State, name: &str, files: &[File]) {
    import(state, clean(name), Origin::Files, &files.iter().collect());
}

/// The folder that a file was chosen with, or its own name.
fn name_of(file: &File) -> String {
    let folder = path_of(file).split_once('/').map(|(folder, _)| folder.to_owned());
    folder.unwrap_or_else(|| file.name())
}

/// With its folders where a folder was chosen; else empty.
fn path_of(file: &File) -> String {
    Reflect::get(file, &"webkitRelativePath".into()).ok().and_then(|path| path.as_string()).unwrap_or_default()
}

/// Of the files of a folder and of folders in it, those beside the config of the fewest folders: a run's folder may have checkpoints in
/// folders of its own.
fn of_one_folder(files: Vec<File>) -> Vec<File> {
    let paths: Vec<String> = files.iter().map(path_of).collect();
    let parent = |path: &str| path.rsplit_once('/').map_or("", |(folder, _)| folder).to_owned();
    let configs = paths.iter().filter(|path| path.rsplit('/').next() == Some("config.json"));
    let Some(folder) = configs.min_by_key(|path| path.matches('/').count()).map(|path| parent(path)) else {
        return files;
    };
    files.into_iter().zip(&paths).filter(|(_, path)| parent(path) == folder).map(|(file, _)| file).collect()
}

fn files_of(list: &web_sys::FileList) -> Vec<File> {
    (0..list.length()).filter_map(|place| list.get(place)).collect()
}

/// What was dropped: a folder's entry, or files.
enum Dropped {
    Folder(FileSystemDirectoryEntry),
    Files(Vec<File>),
}

fn dropped(data: &DataTransfer) -> Dropped {
    let items = data.items();
    let entries = (0..items.length()).filter_map(|place| items.get(place)?.webkit_get_as_entry().ok().flatten());
    let folder = entries.filter(FileSystemEntry::is_directory).map(JsCast::unchecked_into).next();
    match folder {
        Some(folder) => Dropped::Folder(folder),
        None => Dropped::Files(data.files().iter().flat_map(files_of).collect()),
    }
}

async fn take_dropped(state: State, dropped: Dropped) {
    let found = match dropped {
        Dropped::Files(files) => Ok((files.first().map(name_of).unwrap_or_default(), files)),
        Dropped::Folder(folder) => files_in(&folder).await.map(|files| (folder.name(), files)),
    };
    match found {
        Ok((name, files)) if !files.is_empty() => take(state, &name, &files),
        _ => state
            .model_error
            .set(Some("What was dropped has no files that can be read; choose the folder instead.".into())),
    }
}

/// The files of a folder, without those of folders in it.
async fn files_in(folder: &FileSystemDirectoryEntry) -> Result<Vec<File>, JsValue> {
    let reader = folder.create_reader();
    let mut files = Vec::new();
    loop {
        // The browser lists a folder in parts; an empty part is the last one.
        let part = Array::from(&called_back(|done, failed| entries(&reader, &done, &failed)).await?);
        if part.length() == 0 {
            return Ok(files);
        }
        for entry in part.iter().map(JsCast::unchecked_into::<FileSystemEntry>) {
            if entry.is_file() {
                let entry: FileSystemFileEntry = entry.unchecked_into();
                let file = called_back(|done, failed| {
                    entry.file_with_callback_and_callback(&done, &failed);
                    Ok(())
                });
                files.push(file.await?.unchecked_into());
            }
        }
    }
}

fn entries(
    reader: &FileSystemDirectoryReader,
    done: &js_sys::Function,
    failed: &js_sys::Function,
) -> Result<(), JsValue> {
    reader.read_entries_with_callback_and_callback(done, failed)
}

/// Waits for a function that returns its value or its error through callbacks.
async fn called_back(
    mut call: impl FnMut(js_sys::Function, js_sys::Function) -> Result<(), JsValue>,
) -> Result<JsValue, JsValue> {
    let promise = Promise::new(&mut |done, failed| {
        if let Err(error) = call(done, failed.clone()) {
            // This cannot fail, because `failed` takes one argument.
            let _ = failed.call1(&JsValue::NULL, &error);
        }
    });
    JsFuture::from(promise).await
}

#[cfg(test)]
mod tests {
    use super::clean;

    #[test]
    fn names_are_names_of_folders() {
        assert_eq!(clean("SmolLM-135M.zip"), "SmolLM-135M");
        assert_eq!(clean("SmolLM-135M.gguf.zip"), "SmolLM-135M", "a name that is kept stays as it is");
        assert_eq!(clean("../etc/pass wd"), "-etc-pass-wd");
        assert_eq!(clean("..."), "model");
    }
}
