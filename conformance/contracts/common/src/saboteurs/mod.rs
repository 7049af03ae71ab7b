//! The reference with one promise broken, in a way that no single answer shows.
//!
//! A saboteur is an entry in the table of its theme and a short function that bends the reference. It breaks exactly
//! the requirements that its entry names, in every run.

mod answers;
pub(crate) mod budgets;
pub(crate) mod lists;
pub(crate) mod merging;
pub(crate) mod names;
pub(crate) mod refusals;
pub(crate) mod revisions;

use crate::driver::Bent;
