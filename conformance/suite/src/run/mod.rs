//! Runs cases concurrently on long-lived processes, each in its own session and workspace.

mod alone;
mod execute;
mod law;
mod masks;
mod play;
mod runner;
mod worker;
mod workspace;

pub use runner::{Cancel, Event, RunError, RunOptions, run};
