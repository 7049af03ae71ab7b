//! What a run looks like to a person and to a program.
//!
//! Every report reads the same [`Report`]; none of them decides anything. What a subject said goes
//! through [`text::visible`] first: it may hold anything.

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
