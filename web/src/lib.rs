//! The playground: a page, and a worker in which the models run.
//!
//! Only this crate knows the browser. The two sides talk in the messages of [`protocol`].

pub mod page;
pub mod protocol;
pub mod worker;

/// Names the deploy: appended to the addresses of files without a hash in their name, and to the cache's name,
/// so that an old worker or old weights never meet a new page.
pub const BUILD: &str = match option_env!("DROPE_BUILD") {
    Some(build) => build,
    None => env!("CARGO_PKG_VERSION"),
};
