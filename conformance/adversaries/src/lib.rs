//! Subjects made wrong on purpose: hostile to the harness, or wrong in one promise.
//!
//! `proofmark subject --adversary NAME` is one of them. A harness that lets one pass is broken, so the
//! tests run them all.

mod hostile;
mod saboteur;

use std::io;

/// A way to be wrong.
pub struct Adversary {
    pub name: &'static str,
    /// What it does, in a few words.
    pub about: &'static str,
    serve: fn() -> io::Result<()>,
}

/// All of them, hostile ones first.
pub fn all() -> impl Iterator<Item = &'static Adversary> {
    hostile::ALL.iter().chain(saboteur::ALL)
}

/// Is the adversary of that name on stdin and stdout, for as long as it likes.
pub fn serve(name: &str) -> io::Result<()> {
    match all().find(|adversary| adversary.name == name) {
        Some(adversary) => (adversary.serve)(),
        None => {
            let known: Vec<&str> = all().map(|adversary| adversary.name).collect();
            Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                format!("no adversary `{name}`; there are {}", known.join(", ")),
            ))
        }
    }
}
