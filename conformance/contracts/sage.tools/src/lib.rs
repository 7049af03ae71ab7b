//! The room of `sage.tools`: validated, permitted, auditable actions in a workspace.

pub mod call;
pub mod driver;
mod fuzz;
mod laws;
mod saboteurs;
mod steps;

use proofmark_fakes_sage::{GRAPH, SECRETS, TOOLS};
use proofmark_room::Room;

pub(crate) const CONTRACT: &str = "sage.tools";

pub static ROOM: Room = Room {
    laws: laws::LAWS,
    steps: steps::STEPS,
    fakes: &[&GRAPH, &SECRETS, &TOOLS],
    adversaries: saboteurs::THEMES,
    fuzz: fuzz::TARGETS,
    ..Room::new(CONTRACT, include_str!("../guide.md"), driver::operations)
};
