//! A run: what one request began, until it ends or is stopped.

use std::cell::Cell;
use std::rc::Rc;

use drope_core::generate::Flow;

/// A request that is carried out.
pub struct Run {
    /// Its number.
    pub number: u32,
    current: Rc<Cell<Option<u32>>>,
}

/// Why a run ended early.
pub enum Interruption {
    /// The reader stopped it.
    Stopped,
    /// Something went wrong: what, and what to do, in a sentence.
    Failed(String),
}

impl From<String> for Interruption {
    fn from(message: String) -> Self {
        Self::Failed(message)
    }
}

impl From<drope_core::Error> for Interruption {
    fn from(error: drope_core::Error) -> Self {
        Self::Failed(format!("{error}."))
    }
}

impl Run {
    /// A run that goes on while `current` is its number.
    pub fn new(number: u32, current: Rc<Cell<Option<u32>>>) -> Self {
        Self { number, current }
    }

    /// Whether to go on, as far as messages have arrived.
    pub fn flow(&self) -> Flow {
        if self.current.get() == Some(self.number) { Flow::Continue } else { Flow::Stop }
    }

    /// Lets messages from the page arrive; whether to go on.
    pub async fn yield_to_messages(&self) -> Flow {
        gloo_timers::future::TimeoutFuture::new(0).await;
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
