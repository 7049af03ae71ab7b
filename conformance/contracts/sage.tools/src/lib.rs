//! The room of `sage.tools`: validated, permitted, auditable actions in a workspace.

pub mod call;
mod crippled;
pub mod driver;
mod fuzz;
mod laws;
mod saboteurs;
mod steps;
mod variants;

use proofmark_fakes_sage::{GRAPH, SECRETS, TOOLS};
use proofmark_room::{Adversary, Room};

pub(crate) const CONTRACT: &str = "sage.tools";

const ADVERSARIES: &[&[Adversary]] = &[
    saboteurs::RUNNING,
    saboteurs::VAULT,
    saboteurs::MEASURES,
    saboteurs::RARE,
    crippled::ALL,
    variants::ALL,
];

pub static ROOM: Room = Room {
    laws: laws::LAWS,
    steps: steps::STEPS,
    fakes: &[&GRAPH, &SECRETS, &TOOLS],
    adversaries: ADVERSARIES,
    fuzz: fuzz::TARGETS,
    ..Room::new(CONTRACT, include_str!("../guide.md"), driver::operations)
};
