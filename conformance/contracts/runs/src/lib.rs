//! The room of `runs`: a REST and WebSocket server of agents' runs.

mod bent;
mod both;
mod crippled;
mod driver;
mod fuzz;
mod hostile;
mod laws;
mod nobody;
mod saboteurs;
mod steps;
mod variants;

pub use nobody::Nobody;
use proofmark_fakes_runs::PROVIDER;
use proofmark_room::Room;

pub(crate) const CONTRACT: &str = "runs";

pub static ROOM: Room = Room {
    laws: laws::LAWS,
    steps: steps::STEPS,
    fakes: &[&PROVIDER],
    adversaries: &[
        saboteurs::again::ALL,
        saboteurs::asking::ALL,
        saboteurs::crowds::ALL,
        saboteurs::inbox::ALL,
        saboteurs::restarts::ALL,
        saboteurs::stalls::ALL,
        saboteurs::telling::ALL,
        saboteurs::working::ALL,
        crippled::ALL,
        variants::ALL,
        hostile::ALL,
    ],
    fuzz: fuzz::TARGETS,
    ..Room::new(CONTRACT, include_str!("../guide.md"), driver::operations)
};
