//! Running cases: many at a time on persistent processes, each in a session and workspace of its own.

mod alone;
mod execute;
mod law;
mod masks;
mod play;
mod runner;
mod worker;
mod workspace;

pub use runner::{Cancel, Event, RunError, RunOptions, run};
