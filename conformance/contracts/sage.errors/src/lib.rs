//! The room of `sage.errors`: the error taxonomy.

pub mod driver;
mod laws;
mod saboteurs;

use proofmark_room::Room;

pub(crate) const CONTRACT: &str = "sage.errors";

pub static ROOM: Room = Room {
    laws: laws::LAWS,
    adversaries: &[saboteurs::ALL],
    ..Room::new(CONTRACT, include_str!("../guide.md"), driver::operations)
};
