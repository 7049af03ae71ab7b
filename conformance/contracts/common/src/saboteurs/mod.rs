//! The reference with one broken promise, in a way that no single answer shows.
//!
//! A saboteur is an entry in the table of its theme, and a short function that modifies the reference. In every run
//! it breaks exactly the requirements that its entry names.

pub(crate) mod answers;
pub(crate) mod budgets;
pub(crate) mod corners;
pub(crate) mod cracks;
pub(crate) mod histories;
pub(crate) mod lists;
pub(crate) mod merging;
pub(crate) mod names;
pub(crate) mod parts;
pub(crate) mod refusals;
pub(crate) mod revisions;
pub(crate) mod slips;

use crate::driver::Bent;
