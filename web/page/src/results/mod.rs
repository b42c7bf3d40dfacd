//! What was measured: the study, and tables by length and by depth.

pub mod chart;
pub mod committed;
pub mod export;
pub mod grid;
pub mod heatmap;
pub mod heatmap_text;
pub mod overview;
