//! Files of the page's own origin, with progress, kept in the browser's cache once they are whole.

use std::cell::RefCell;

use drope_core::generate::Flow;
use drope_protocol::BUILD;
use js_sys::{Reflect, Uint8Array};
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;
use web_sys::{Cache, ReadableStreamDefaultReader, Response, Url};

use super::{content, run::Interruption, scope};

thread_local! {
    static BASE: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Called with the bytes so far and the bytes in all (0 if unknown).
pub type Progress<'a> = &'a dyn Fn(f64, f64) -> Flow;

/// Sets the address that paths are relative to.
pub fn set_base(base: String) {
    BASE.set(base);
}

/// The bytes of a file, from the cache or the server.
pub async fn file(path: &str, progress: Progress<'_>) -> Result<Vec<u8>, Interruption> {
    let failed =
        |reason: String| format!("{path} could not be loaded: {reason}. Check the connection and reload the page.");
    match cached_or_fetched(path, progress).await {
        Ok(Some(bytes)) => Ok(bytes),
        Ok(None) => Err(Interruption::Stopped),
        Err(error) => Err(failed(message(&error)).into()),
    }
}

fn message(error: &JsValue) -> String {
    let thrown = error.dyn_ref::<js_sys::Error>().map(|error| String::from(error.message()));
    thrown.or_else(|| error.as_string()).unwrap_or_else(|| "no reason given".to_owned())
}

/// `None` if it was stopped.
async fn cached_or_fetched(path: &str, progress: Progress<'_>) -> Result<Option<Vec<u8>>, JsValue> {
    let address = Url::new_with_base(&format!("{path}?v={BUILD}"), &BASE.with_borrow(String::clone))?.href();
    // Without a secure context there is no cache; the page works all the same.
    let cache = open_cache().await.ok();
    if let Some(cache) = &cache
        && let Ok(found) = JsFuture::from(cache.match_with_str(&address)).await
        && let Ok(response) = found.dyn_into::<Response>()
    {
        match read(&response, progress).await? {
            Some(bytes) if content::check(path, &bytes).is_err() => {}
            whole_or_stopped => return Ok(whole_or_stopped),
        }
    }
    let response: Response = JsFuture::from(scope().fetch_with_str(&address)).await?.dyn_into()?;
    if !response.ok() {
        return Err(JsValue::from(format!("the server answered {}", response.status())));
    }
    let copy = response.clone()?;
    let Some(bytes) = read(&response, progress).await? else { return Ok(None) };
    content::check(path, &bytes)?;
    if let Some(cache) = &cache {
        // A full disk costs only the next visit's time.
        let _ = JsFuture::from(cache.put_with_str(&address, &copy)).await;
    }
    Ok(Some(bytes))
}

/// The cache of this build; those of other builds are deleted.
async fn open_cache() -> Result<Cache, JsValue> {
    if !scope().is_secure_context() {
        return Err("no cache without a secure context".into());
    }
    let name = format!("drope-{BUILD}");
    let caches = scope().caches()?;
    let names: js_sys::Array = JsFuture::from(caches.keys()).await?.dyn_into()?;
    for old in names.iter().filter_map(|old| old.as_string()) {
        if old.starts_with("drope-") && old != name {
            JsFuture::from(caches.delete(&old)).await?;
        }
    }
    JsFuture::from(caches.open(&name)).await?.dyn_into()
}

/// Reads a body piece by piece; `None` if it was stopped.
async fn read(response: &Response, progress: Progress<'_>) -> Result<Option<Vec<u8>>, JsValue> {
    let total = response.headers().get("content-length")?.and_then(|text| text.parse().ok()).unwrap_or(0.0);
    let body = response.body().ok_or_else(|| JsValue::from("the answer is empty"))?;
    let reader: ReadableStreamDefaultReader = body.get_reader().dyn_into()?;
    let mut bytes = Vec::new();
    loop {
        let piece = JsFuture::from(reader.read()).await?;
        if Reflect::get(&piece, &"done".into())?.is_truthy() {
            return Ok(Some(bytes));
        }
        let piece: Uint8Array = Reflect::get(&piece, &"value".into())?.dyn_into()?;
        bytes.extend(piece.to_vec());
        if progress(bytes.len() as f64, total) == Flow::Stop {
            // The rest need not be sent.
            let _ = JsFuture::from(reader.cancel()).await;
            return Ok(None);
        }
    }
}
