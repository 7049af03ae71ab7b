//! Running cases: many at a time on persistent processes, each in a session and workspace of its own.

mod alone;
pub(crate) mod execute;
mod law;
mod masks;
mod runner;
mod worker;

pub(crate) use law::MOST_SHRINKS;
pub use runner::{Cancel, Event, RunError, RunOptions, run};
