//! The room of `sage.chronicle`: durable, append-only logs.

mod crippled;
mod driver;
mod fuzz;
mod laws;
mod saboteurs;
mod steps;
mod variants;

use proofmark_fakes_sage::CHRONICLE;
use proofmark_room::{Adversary, Room};

pub(crate) const CONTRACT: &str = "sage.chronicle";

pub static ROOM: Room = Room {
    laws: laws::LAWS,
    steps: steps::STEPS,
    fakes: &[&CHRONICLE],
    adversaries: THEMES,
    fuzz: fuzz::TARGETS,
    ..Room::new(CONTRACT, include_str!("../guide.md"), driver::operations)
};

const THEMES: &[&[Adversary]] = &[
    saboteurs::appending::ALL,
    saboteurs::company::ALL,
    saboteurs::identity::ALL,
    saboteurs::reading::ALL,
    saboteurs::locking::ALL,
    saboteurs::files::ALL,
    saboteurs::CLAIMS,
    crippled::ALL,
    variants::ALL,
];
