//! What a worker is started with: its script, and whether the browser has what WebGPU's needs.

use drope_protocol::BUILD;
use leptos::prelude::*;
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;
use web_sys::Url;

use super::blob::text_address;
use super::engine::Backend;

/// Address of a worker's own script. It is made here, since the files that it loads need the build's name against stale
/// caches.
pub fn script_address(backend: Backend) -> Result<String, JsValue> {
    let program = match backend {
        Backend::Cpu => "worker",
        Backend::Webgpu => "worker-webgpu",
    };
    let base = document().base_uri()?.unwrap_or_default();
    let at = |file: &str| Url::new_with_base(&format!("{program}{file}?v={BUILD}"), &base).map(|url| url.href());
    // Messages that arrive before the wasm does wait; a failure to load it must reach `onerror`, which rejections do not.
    let script = format!(
        "const held = [], hold = (event) => held.push(event.data);\
         self.addEventListener('message', hold);\
         importScripts('{}');\
         wasm_bindgen({{ module_or_path: '{}' }}).then(() => {{\
           self.removeEventListener('message', hold);\
           held.forEach((data) => self.onmessage({{ data }}));\
         }}).catch((error) => setTimeout(() => {{ throw error; }}));",
        at(".js")?,
        at("_bg.wasm")?
    );
    text_address("text/javascript", &script)
}

/// Whether WebGPU has an adapter, which browsers on machines without a graphics card may not.
pub async fn has_adapter() -> bool {
    let get = |object: &JsValue, name: &str| js_sys::Reflect::get(object, &name.into());
    let request = || -> Result<js_sys::Promise, JsValue> {
        let gpu = get(&get(&window(), "navigator")?, "gpu")?;
        let request: js_sys::Function = get(&gpu, "requestAdapter")?.dyn_into()?;
        request.call0(&gpu)?.dyn_into()
    };
    match request() {
        Ok(adapter) => JsFuture::from(adapter).await.is_ok_and(|adapter| adapter.is_truthy()),
        Err(_) => false,
    }
}
