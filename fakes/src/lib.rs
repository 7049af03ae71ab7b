//! Deterministic stand-ins for what the contracts talk to.
//!
//! A fake does the same in every run: no wall clock, no entropy, no network. What a script does
//! not foresee is a typed error, never a guess. Only [`workspace`] touches the disk, in a folder
//! of its own that vanishes.

pub mod chronicle;
pub mod clock;
pub mod graph;
pub mod host;
pub mod llm;
pub mod provider;
pub mod random;
mod script;
pub mod secrets;
pub mod tools;
pub mod workspace;
