//! The room of `sage.utils`: canonical JSON, SHA-256, typed errors, injected time, randomness and secrets.

mod crippled;
pub mod driver;
mod fuzz;
mod hostile;
mod laws;
mod saboteurs;
mod spelling;
mod variants;

use proofmark_fakes_sage::SECRETS;
use proofmark_room::Room;
use proofmark_suite::{Does, Probe};

pub(crate) const CONTRACT: &str = "sage.utils";

pub static ROOM: Room = Room {
    laws: laws::LAWS,
    fakes: &[&SECRETS],
    adversaries: &[saboteurs::ALL, hostile::ALL, crippled::ALL, variants::ALL],
    probes: &[
        Probe {
            contract: CONTRACT,
            operation: "utils.secrets.get",
            argument: "key",
            does: Does::AskFake("secrets"),
        },
        Probe { contract: CONTRACT, operation: "utils.sha256", argument: "text", does: Does::Hash },
    ],
    fuzz: fuzz::TARGETS,
    ..Room::new(CONTRACT, include_str!("../guide.md"), driver::operations)
};
