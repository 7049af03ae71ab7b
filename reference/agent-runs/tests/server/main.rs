//! The server from outside: one program, since all of it speaks to the same lab.

#![expect(clippy::unwrap_used, reason = "a helper of a test may fail as the test itself may")]

mod approvals;
mod consumers;
mod interleavings;
mod kills;
mod lab;
mod logs;
mod many;
mod page;
mod rest;
mod saboteurs;
mod script;
mod security;
mod stalls;
mod turns;
