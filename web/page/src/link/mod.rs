//! The workers: starting them, what they are asked, and what their replies change.

pub mod connection;
pub mod replies;
pub mod runs;
pub mod script;
pub mod threads;
pub mod trainer;
pub mod worker;
