//! Small parts that several screens share.

pub mod axes;
pub mod blob;
pub mod choice;
pub mod estimate;
pub mod marked;
pub mod row;
pub mod share;
pub mod status;
