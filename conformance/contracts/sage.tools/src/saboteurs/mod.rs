//! The reference with one broken promise, in a way that no single answer shows.
//!
//! A saboteur is an entry in the table of its theme, and a short function that modifies the reference. In every run
//! it breaks exactly the requirements that its entry names.

mod measures;
mod rare;
mod running;
mod vault;

pub(crate) use measures::ALL as MEASURES;
pub(crate) use rare::ALL as RARE;
pub(crate) use running::ALL as RUNNING;
pub(crate) use vault::ALL as VAULT;
