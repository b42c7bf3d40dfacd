//! Methods side by side: what is asked, what each answers, and the text.

pub mod answers;
pub mod controls;
pub mod harder;
pub mod haystack;
pub mod settings;
pub mod taught;
