//! The reference with one promise broken, in a way that no single answer shows.
//!
//! A saboteur is an entry in the table of its theme and a short function that bends the reference. It breaks exactly
//! the requirements that its entry names, in every run.

pub(crate) mod asking;
pub(crate) mod inbox;
pub(crate) mod stalls;
pub(crate) mod telling;
pub(crate) mod working;
