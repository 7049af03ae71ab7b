//! The room of `sage.errors`: the error taxonomy.

mod bend;
mod crippled;
pub mod driver;
mod laws;
mod saboteurs;
mod variants;

use proofmark_room::Room;

pub(crate) const CONTRACT: &str = "sage.errors";

pub static ROOM: Room = Room {
    laws: laws::LAWS,
    adversaries: &[saboteurs::ALL, crippled::ALL, variants::ALL],
    ..Room::new(CONTRACT, include_str!("../guide.md"), driver::operations)
};
