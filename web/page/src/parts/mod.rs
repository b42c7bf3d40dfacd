//! Small parts that several screens share.

pub mod axes;
pub mod blob;
pub mod choice;
pub mod estimate;
pub mod focus;
pub mod marked;
pub mod percent;
pub mod picture;
pub mod reading_title;
pub mod row;
pub mod share;
pub mod status;
