//! The room of `sage.llm`: one stream of text and tool calls from any provider.

mod driver;
mod fuzz;
mod laws;
mod saboteurs;
mod steps;

use proofmark_fakes_sage::{LLM, TOOLS};
use proofmark_room::Room;

pub(crate) const CONTRACT: &str = "sage.llm";

pub static ROOM: Room = Room {
    laws: laws::LAWS,
    steps: steps::STEPS,
    fakes: &[&LLM, &TOOLS],
    adversaries: &[saboteurs::ALL],
    fuzz: fuzz::TARGETS,
    ..Room::new(CONTRACT, include_str!("../guide.md"), driver::operations)
};
