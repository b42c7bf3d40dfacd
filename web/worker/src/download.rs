//! Files of the page's own origin, with progress, kept in the browser's cache once they are whole.

use std::cell::RefCell;

use drope_core::generate::Flow;
use drope_protocol::BUILD;
use js_sys::{Reflect, Uint8Array};
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;
use web_sys::{Cache, ReadableStreamDefaultReader, Response, Url};

use super::run::Interruption;
use super::store::reason;
use super::{content, scope};

thread_local! {
    static BASE: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Called with the bytes so far and the bytes in all (0 if unknown).
pub type Progress<'a> = &'a dyn Fn(f64, f64) -> Flow;

/// Sets the address that paths are relative to.
pub fn set_base(base: String) {
    BASE.set(base);
}

/// The address of a file of the page.
pub fn address(path: &str) -> Result<String, JsValue> {
    Ok(Url::new_with_base(&format!("{path}?v={BUILD}"), &BASE.with_borrow(String::clone))?.href())
}

/// The bytes of a file, from the cache or the server.
pub async fn file(path: &str, progress: Progress<'_>) -> Result<Vec<u8>, Interruption> {
    let failed = |reason: String| {
        if scope().navigator().on_line() {
            format!("{path} could not be loaded: {reason}. Check the connection and reload the page.")
        } else {
            format!("There is no connection, and this browser does not have {path} yet; it keeps what was used once.")
        }
    };
    match cached_or_fetched(path, progress).await {
        Ok(Some(bytes)) => Ok(bytes),
        Ok(None) => Err(Interruption::Stopped),
        Err(error) => Err(failed(reason(&error)).into()),
    }
}

/// Called with a piece of a file, the bytes so far and the bytes in all (0 if unknown).
pub type Take<'a> = &'a mut dyn FnMut(&[u8], f64, f64) -> Result<(), Interruption>;

/// Reads a file of any server piece by piece, without keeping it.
pub async fn stream(address: &str, take: Take<'_>) -> Result<(), Interruption> {
    let failed = |error: &JsValue| {
        Interruption::Failed(format!(
            "{address} could not be loaded ({}); check the address, and that its server lets other pages read it (CORS).",
            reason(error)
        ))
    };
    let response = fetch(address).await.map_err(|error| failed(&error))?;
    read_pieces(&response, failed, take).await
}

async fn fetch(address: &str) -> Result<Response, JsValue> {
    let response: Response = JsFuture::from(scope().fetch_with_str(address)).await?.dyn_into()?;
    if response.ok() { Ok(response) } else { Err(JsValue::from(format!("the server answered {}", response.status()))) }
}

/// The bytes of a file, from the cache or the server; `None` if the download was stopped.
async fn cached_or_fetched(path: &str, progress: Progress<'_>) -> Result<Option<Vec<u8>>, JsValue> {
    let address = address(path)?;
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
    let response = fetch(&address).await?;
    let copy = response.clone()?;
    let Some(bytes) = read(&response, progress).await? else { return Ok(None) };
    content::check(path, &bytes)?;
    if let Some(cache) = &cache {
        // If the disk is full, the next visit only has to load the file again.
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

/// Reads a body; `None` if it was stopped.
async fn read(response: &Response, progress: Progress<'_>) -> Result<Option<Vec<u8>>, JsValue> {
    let mut bytes = Vec::new();
    let mut take = |piece: &[u8], received, total| {
        bytes.extend_from_slice(piece);
        if progress(received, total) == Flow::Stop { Err(Interruption::Stopped) } else { Ok(()) }
    };
    match read_pieces(response, |error| Interruption::Failed(reason(error)), &mut take).await {
        Ok(()) => Ok(Some(bytes)),
        Err(Interruption::Failed(reason)) => Err(reason.into()),
        Err(Interruption::Stopped | Interruption::DeviceLost) => Ok(None),
    }
}

/// Reads a body piece by piece, until `take` refuses one.
async fn read_pieces(
    response: &Response,
    failed: impl Fn(&JsValue) -> Interruption,
    take: Take<'_>,
) -> Result<(), Interruption> {
    let header = response.headers().get("content-length").ok().flatten();
    let total = header.and_then(|text| text.parse().ok()).unwrap_or(0.0);
    let body = response.body().ok_or_else(|| failed(&"the answer is empty".into()))?;
    let reader: ReadableStreamDefaultReader = body.get_reader().dyn_into().map_err(|error| failed(&error.into()))?;
    let mut received = 0.0;
    loop {
        let piece = JsFuture::from(reader.read()).await.map_err(|error| failed(&error))?;
        let Some(piece) =
            Reflect::get(&piece, &"value".into()).ok().and_then(|value| value.dyn_into::<Uint8Array>().ok())
        else {
            return Ok(());
        };
        received += f64::from(piece.length());
        if let Err(interruption) = take(&piece.to_vec(), received, total) {
            // The rest need not be sent.
            let _ = JsFuture::from(reader.cancel()).await;
            return Err(interruption);
        }
    }
}
