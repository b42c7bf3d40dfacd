//! Text and files that the browser can load from an address of their own, and saving them.

use std::time::Duration;

use leptos::prelude::{document, set_timeout};
use wasm_bindgen::{JsCast, JsValue};
use web_sys::{Blob, BlobPropertyBag, HtmlAnchorElement, Url};

/// The address of a text of this media type, as long as the page lives.
pub fn text_address(media_type: &str, text: &str) -> Result<String, JsValue> {
    let options = BlobPropertyBag::new();
    options.set_type(media_type);
    let parts = js_sys::Array::of1(&text.into());
    Url::create_object_url_with_blob(&Blob::new_with_str_sequence_and_options(&parts, &options)?)
}

/// Saves what is at an address as a file.
pub fn save(name: &str, address: &str) -> Result<(), JsValue> {
    let link: HtmlAnchorElement = document().create_element("a")?.dyn_into()?;
    link.set_href(address);
    link.set_download(name);
    link.click();
    Ok(())
}

/// Saves a file.
pub fn save_blob(name: &str, blob: &Blob) {
    // A browser that refuses saves nothing.
    let Ok(address) = Url::create_object_url_with_blob(blob) else { return };
    let _ = save(name, &address);
    // The browser has begun to save it by then; the address would keep the file in memory.
    set_timeout(move || drop(Url::revoke_object_url(&address)), Duration::from_secs(60));
}
