//! The server as its users see it.

#![expect(clippy::unwrap_used, reason = "a helper of a test may fail as the test itself may")]

mod database;
mod graph;
mod input;
mod lab;
mod laws;
mod lists;
mod model;
mod tasks;
mod wire;
