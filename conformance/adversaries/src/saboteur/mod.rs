//! The reference with one promise broken, in a way that no single answer shows.
//!
//! A saboteur is an entry in the table of its theme and a short function that bends the reference. What
//! its entry names is exactly what must come out broken, in every run: a saboteur leaves nothing to
//! chance, and where the reference cannot be bent it does the work itself on the workspace's files.

mod appending;
mod common_budgets;
mod common_lists;
mod common_merging;
mod common_names;
mod common_refusals;
mod common_revisions;
mod common_tools;
mod company;
mod errors;
mod files;
mod identity;
mod locking;
mod reading;
mod running;
mod runs_asking;
mod runs_inbox;
mod runs_stalls;
mod runs_telling;
mod runs_working;
mod streams;
mod tools;
mod utils;
mod vault;

use crate::Adversary;

pub(crate) const THEMES: &[&[Adversary]] = &[
    appending::ALL,
    company::ALL,
    identity::ALL,
    reading::ALL,
    locking::ALL,
    files::ALL,
    utils::ALL,
    errors::ALL,
    running::ALL,
    vault::ALL,
    streams::ALL,
    common_revisions::ALL,
    common_budgets::ALL,
    common_lists::ALL,
    common_names::ALL,
    common_merging::ALL,
    common_refusals::ALL,
    runs_asking::ALL,
    runs_inbox::ALL,
    runs_stalls::ALL,
    runs_telling::ALL,
    runs_working::ALL,
];
