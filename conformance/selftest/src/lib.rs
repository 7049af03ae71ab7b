//! The suite proves itself: that each of its cases can fail, and that nothing gets a mark that it did
//! not earn.

pub mod determinism;
pub mod mutants;
