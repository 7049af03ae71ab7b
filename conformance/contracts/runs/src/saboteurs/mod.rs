//! The reference with one broken promise, in a way that no single answer shows.
//!
//! A saboteur is an entry in the table of its theme, and a short function that modifies the reference. In every run
//! it breaks exactly the requirements that its entry names.

pub(crate) mod again;
pub(crate) mod asking;
pub(crate) mod crowds;
pub(crate) mod inbox;
pub(crate) mod restarts;
pub(crate) mod stalls;
pub(crate) mod telling;
pub(crate) mod working;
