//! The reference with one promise broken, in a way that no single answer shows.
//!
//! A saboteur is an entry in the table of its theme and a short function that bends the reference. What
//! it names in its entry is exactly what must come out broken, in every run: a saboteur leaves nothing
//! to chance, and where the reference cannot be bent it does the work itself on the workspace's files.

mod errors;
mod utils;

use crate::Adversary;

pub(crate) const THEMES: &[&[Adversary]] = &[errors::ALL, utils::ALL];
