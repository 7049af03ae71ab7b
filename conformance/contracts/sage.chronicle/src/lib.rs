//! The room of `sage.chronicle`: durable, append-only logs.

mod driver;
mod fuzz;
mod laws;
mod saboteurs;
mod steps;

use proofmark_fakes_sage::CHRONICLE;
use proofmark_room::Room;

pub(crate) const CONTRACT: &str = "sage.chronicle";

pub static ROOM: Room = Room {
    laws: laws::LAWS,
    steps: steps::STEPS,
    fakes: &[&CHRONICLE],
    adversaries: saboteurs::THEMES,
    fuzz: fuzz::TARGETS,
    ..Room::new(CONTRACT, include_str!("../guide.md"), driver::operations)
};
