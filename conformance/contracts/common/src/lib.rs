//! The room of `common`: what MCP tool servers share.

mod crippled;
mod driver;
mod fuzz;
mod laws;
mod nulls;
mod saboteurs;
mod steps;
mod variants;

use proofmark_room::Room;

pub(crate) const CONTRACT: &str = "common";

pub static ROOM: Room = Room {
    laws: laws::LAWS,
    steps: steps::STEPS,
    mcp: Some(&driver::Bent(|server| server)),
    adversaries: &[
        saboteurs::revisions::ALL,
        saboteurs::budgets::ALL,
        saboteurs::lists::ALL,
        saboteurs::names::ALL,
        saboteurs::merging::ALL,
        saboteurs::refusals::ALL,
        saboteurs::cracks::ALL,
        saboteurs::corners::ALL,
        saboteurs::parts::ALL,
        saboteurs::slips::ALL,
        saboteurs::histories::ALL,
        crippled::ALL,
        variants::ALL,
        variants::habits::ALL,
        nulls::ALL,
    ],
    fuzz: fuzz::TARGETS,
    ..Room::new(CONTRACT, include_str!("../guide.md"), driver::operations)
};
