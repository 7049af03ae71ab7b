//! The wrapper from outside: one program, since all of it plays the same scripts.

mod cache;
mod common;
mod laws;
mod options;
mod streams;
mod time;
