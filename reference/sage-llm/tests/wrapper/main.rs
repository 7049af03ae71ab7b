//! The wrapper from outside: one program, since all of it plays the same scripts.

#![expect(clippy::unwrap_used, reason = "a helper of a test may fail as the test itself may")]

mod cache;
mod common;
mod laws;
mod options;
mod streams;
mod time;
