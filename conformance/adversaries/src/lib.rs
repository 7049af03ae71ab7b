//! Subjects made wrong on purpose: those of any contract, and those of every room.
//!
//! `proofmark subject --adversary NAME` is one of them. A suite that lets one pass is broken, so every build runs them
//! all.

mod hostile;
mod null;
mod null_http;
mod null_mcp;

use std::io;

use proofmark_catalog::{reference, rooms};
pub use proofmark_room::{Adversary, Among, Claims, Kind};

/// The reference without its test hooks.
const HOOKLESS: &[Adversary] = &[Adversary::hostile_reference(
    "has-no-hooks",
    "is the reference without its test hooks",
    |subject| subject.without_hooks(),
)];

/// All of them: first those of any contract, then room by room.
pub fn all() -> impl Iterator<Item = &'static Adversary> {
    general().chain(rooms().flat_map(|room| room.adversaries.iter().copied().flatten()))
}

fn general() -> impl Iterator<Item = &'static Adversary> {
    [hostile::ALL, HOOKLESS, null::ALL, null_mcp::ALL, null_http::ALL].into_iter().flatten()
}

/// Those that do nothing right.
pub fn nulls() -> impl Iterator<Item = &'static Adversary> {
    all().filter(|adversary| adversary.kind == Kind::Null)
}

/// Those that break one promise, with the requirements that must come out broken.
pub fn saboteurs() -> impl Iterator<Item = (&'static Adversary, &'static [&'static str])> {
    all().filter_map(|adversary| match adversary.kind {
        Kind::Saboteur { breaks } => Some((adversary, breaks)),
        Kind::Hostile | Kind::Null => None,
    })
}

/// What the reference claims.
pub fn usual_claims() -> Claims {
    Claims::of(&reference())
}

/// The adversary of that name.
pub fn find(name: &str) -> Option<&'static Adversary> {
    all().find(|adversary| adversary.name == name)
}

/// Plays the adversary of that name on stdin and stdout, for as long as it likes.
///
/// # Errors
/// When there is no such adversary, or its pipes break.
pub fn serve(name: &str, claims: &Claims) -> io::Result<()> {
    known(name)?.serve(claims, reference())
}

/// Plays the MCP server that the adversary of that name has for a contract.
///
/// # Errors
/// When there is no such adversary or no such server, or its pipes break.
pub fn serve_mcp(name: &str, contract: &str, now: &str) -> io::Result<()> {
    let adversary = known(name)?;
    // A saboteur is the reference in every contract but its own.
    let mut of_others = rooms().filter(|room| room.contract != contract);
    let is_right = matches!(adversary.kind, Kind::Saboteur { .. })
        && of_others
            .any(|room| room.adversaries.iter().copied().flatten().any(|one| one.name == name));
    match adversary.server().filter(|_| !is_right) {
        Some(server) => server.serve(now),
        None => proofmark_catalog::serve_mcp(contract, now),
    }
}

fn known(name: &str) -> io::Result<&'static Adversary> {
    find(name).ok_or_else(|| {
        let known: Vec<&str> = all().map(|adversary| adversary.name).collect();
        let message = format!("no adversary `{name}`; there are {}", known.join(", "));
        io::Error::new(io::ErrorKind::InvalidInput, message)
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    #[test]
    fn no_two_have_the_same_name() {
        let mut seen = BTreeSet::new();
        for adversary in super::all() {
            assert!(seen.insert(adversary.name), "{}", adversary.name);
        }
    }
}
