//! The room of `sage.llm`: one stream of text and tool calls from any provider.

mod bent;
mod crippled;
mod driver;
mod fuzz;
mod gaps;
mod laws;
mod measures;
mod saboteurs;
mod slips;
mod steps;
mod variants;

use proofmark_fakes_sage::{LLM, TOOLS};
use proofmark_room::Room;

pub(crate) const CONTRACT: &str = "sage.llm";

pub static ROOM: Room = Room {
    laws: laws::LAWS,
    steps: steps::STEPS,
    fakes: &[&LLM, &TOOLS],
    adversaries: &[
        saboteurs::ALL,
        gaps::ALL,
        measures::ALL,
        slips::ALL,
        crippled::ALL,
        variants::ALL,
    ],
    fuzz: fuzz::TARGETS,
    ..Room::new(CONTRACT, include_str!("../guide.md"), driver::operations)
};
