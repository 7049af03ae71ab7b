//! Reports of a run, for people and for programs.
//!
//! Every report reads the same [`Report`]; none of them decides anything. All text from a subject goes through
//! [`text::visible`] first, since it may contain anything.

pub mod failure;
pub mod failures;
pub mod github;
pub mod html;
pub mod json;
pub mod junit;
pub mod markdown;
pub mod progress;
mod report;
pub mod style;
pub mod summary;
pub mod tap;
pub mod text;

pub use report::{Aim, Report, Standing};
