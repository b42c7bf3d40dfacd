//! A run: what one request began, until it ends or is stopped.

use std::cell::Cell;
use std::rc::Rc;

use drope_core::generate::Flow;
use drope_protocol::Reply;
use js_sys::Promise;
use wasm_bindgen::JsValue;
use wasm_bindgen_futures::JsFuture;
use web_sys::MessageChannel;

use super::{now, reply};

/// Milliseconds that a message may have to wait: too short for users to notice, and long compared with the time that it
/// takes to let messages arrive.
const PATIENCE: f64 = 30.0;

/// A request that is carried out.
pub struct Run {
    /// Its number.
    pub number: u32,
    current: Rc<Cell<Option<u32>>>,
    /// When messages could last arrive.
    yielded_at: Cell<f64>,
}

/// Why a run ended early.
pub enum Interruption {
    /// The reader stopped it.
    Stopped,
    /// Something went wrong: what, and what to do, in a sentence.
    Failed(String),
    /// The device computes nothing any more, as when its driver is started anew.
    DeviceLost,
}

impl From<String> for Interruption {
    fn from(message: String) -> Self {
        Self::Failed(message)
    }
}

impl From<drope_core::Error> for Interruption {
    fn from(error: drope_core::Error) -> Self {
        match error {
            drope_core::Error::Device(_) => Self::DeviceLost,
            error => Self::Failed(format!("{error}.")),
        }
    }
}

impl Run {
    /// A run that goes on while `current` is its number.
    pub fn new(number: u32, current: Rc<Cell<Option<u32>>>) -> Self {
        Self { number, current, yielded_at: Cell::new(now()) }
    }

    /// Whether to go on, according to the messages that have arrived.
    pub fn flow(&self) -> Flow {
        if self.current.get() == Some(self.number) { Flow::Continue } else { Flow::Stop }
    }

    /// Tells the page how much of a model was loaded; whether to go on.
    pub fn loading(&self, model: &str, received: f64, total: f64) -> Flow {
        reply(&Reply::Loading { run: self.number, model: model.to_owned(), received, total });
        self.flow()
    }

    /// Lets messages from the page arrive, if they could not for [`PATIENCE`]; whether to go on.
    pub async fn yield_to_messages(&self) -> Flow {
        if now() - self.yielded_at.get() >= PATIENCE {
            next_task().await;
            self.yielded_at.set(now());
        }
        self.flow()
    }

    /// An error if the run was stopped.
    pub fn check(&self) -> Result<(), Interruption> {
        match self.flow() {
            Flow::Continue => Ok(()),
            Flow::Stop => Err(Interruption::Stopped),
        }
    }
}

/// Waits for the browser's next task. It uses a channel, because timers take 4 ms, more than a token.
pub async fn next_task() {
    thread_local! {
        static CHANNEL: Option<MessageChannel> = MessageChannel::new().ok();
    }
    let arrived = CHANNEL.with(|channel| {
        let channel = channel.as_ref()?;
        let arrived = Promise::new(&mut |resolve, _| channel.port1().set_onmessage(Some(&resolve)));
        channel.port2().post_message(&JsValue::NULL).ok()?;
        Some(arrived)
    });
    if let Some(arrived) = arrived {
        // It is never rejected.
        let _ = JsFuture::from(arrived).await;
    }
}
