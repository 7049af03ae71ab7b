//! All rooms together.

#![expect(clippy::unwrap_used, reason = "a helper of a test may fail as the test itself may")]

mod authors;
mod laws;
mod parts;
mod rooms;
mod vocabulary;
