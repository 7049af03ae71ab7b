//! What a run looks like to a person and to a program.
//!
//! Every report reads the same [`proofmark_suite::verdict::RunOutcome`]; none of them decides anything.

pub mod failure;
pub mod failures;
pub mod json;
pub mod progress;
pub mod style;
pub mod summary;
