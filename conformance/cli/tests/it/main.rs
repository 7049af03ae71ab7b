//! The program as its users meet it. One test program: what waits for a time limit leaves the machine to others.

#![allow(clippy::unwrap_used, reason = "in a test an unwrap is an assertion")]

#[path = "../common/mod.rs"]
mod common;

mod author_forms;
mod author_tools;
mod bless_and_trace;
mod certificates;
mod commands;
mod doctor;
mod gate;
mod guides;
mod hostile;
mod kits;
mod laws;
mod output;
mod page;
mod records;
mod reports;
mod self_made_suite;
mod selftest;
mod transcripts;
mod wires;
