//! Web Locks: other tabs and workers of this page see that something is in use. The browser releases a lock with the tab or
//! worker that holds it, however that ends.

use js_sys::{Function, Object, Promise, Reflect};
use wasm_bindgen::closure::Closure;
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;

use super::scope;

/// A lock, released when it is dropped.
pub struct Lock {
    release: Function,
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Releasing resolves a promise, which cannot fail.
        let _ = self.release.call0(&JsValue::UNDEFINED);
    }
}

/// The lock of this name, unless somebody holds it.
pub async fn try_lock(name: &str) -> Result<Option<Lock>, JsValue> {
    let locks = Reflect::get(&scope().navigator(), &"locks".into())?;
    let request: Function = Reflect::get(&locks, &"request".into())?.dyn_into()?;
    let options = Object::new();
    Reflect::set(&options, &"ifAvailable".into(), &true.into())?;
    // The browser holds the lock until the promise that the callback returns is resolved.
    let [held, release] = promise_and_resolver();
    let [answer, tell] = promise_and_resolver();
    let callback = Closure::once_into_js(move |lock: JsValue| -> JsValue {
        let is_granted = !lock.is_null();
        let _ = tell.unchecked_ref::<Function>().call1(&JsValue::UNDEFINED, &is_granted.into());
        if is_granted { held } else { JsValue::UNDEFINED }
    });
    request.call3(&locks, &name.into(), &options, &callback)?;
    let is_granted = JsFuture::from(answer.unchecked_into::<Promise>()).await?.is_truthy();
    Ok(is_granted.then(|| Lock { release: release.unchecked_into() }))
}

/// A promise, and the function that resolves it.
fn promise_and_resolver() -> [JsValue; 2] {
    let mut resolver = JsValue::UNDEFINED;
    let promise = Promise::new(&mut |resolve, _| resolver = resolve.into());
    [promise.into(), resolver]
}
