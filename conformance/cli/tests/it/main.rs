//! The program from the user's view. One test binary, so that tests waiting for a timeout leave the cores to others.

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
