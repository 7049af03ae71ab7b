//! Subjects that are wrong on purpose: general ones, and those of every room.
//!
//! `proofmark subject --adversary NAME` runs one of them. A suite that lets one pass is broken, so every build runs
//! them all.

mod hostile;
mod null;
mod null_http;
mod null_mcp;

use std::io;
use std::time::Duration;

use proofmark_catalog::{reference, rooms};
use proofmark_room::McpServer;
use proofmark_room::bend::{Next, around_all};
pub use proofmark_room::{Adversary, Among, Claims, Kind};
use tokio::sync::Mutex;

/// The reference in ways that are allowed but awkward for the harness.
const AWKWARD: &[Adversary] = &[
    Adversary::hostile_reference(
        "has-no-hooks",
        "is the reference without its test hooks",
        |subject| subject.without_hooks(),
    ),
    Adversary::hostile_reference(
        "takes-one-call-after-the-other",
        "answers one call at a time, and takes a tenth of a second for each",
        |subject| {
            static TURN: Mutex<()> = Mutex::const_new(());
            around_all(subject, "", async |call, args, inner: Next| {
                let _turn = TURN.lock().await;
                tokio::time::sleep(Duration::from_millis(100)).await;
                inner.call(call, args).await
            })
        },
    ),
];

/// All adversaries: first the general ones, then room by room.
pub fn all() -> impl Iterator<Item = &'static Adversary> {
    general().chain(rooms().flat_map(|room| room.adversaries.iter().copied().flatten()))
}

fn general() -> impl Iterator<Item = &'static Adversary> {
    [hostile::ALL, AWKWARD, null::ALL, null_mcp::ALL, null_http::ALL].into_iter().flatten()
}

/// The adversaries that do nothing right.
pub fn nulls() -> impl Iterator<Item = &'static Adversary> {
    all().filter(|adversary| adversary.kind == Kind::Null)
}

/// The adversaries that break one promise, with the requirements that must fail.
pub fn saboteurs() -> impl Iterator<Item = (&'static Adversary, &'static [&'static str])> {
    all().filter_map(|adversary| match adversary.kind {
        Kind::Saboteur { breaks } => Some((adversary, breaks)),
        Kind::Hostile | Kind::Null | Kind::Crippled { .. } | Kind::Variant { .. } => None,
    })
}

/// The adversaries that lack one thing everywhere, with the requirements that must fail.
pub fn crippled() -> impl Iterator<Item = (&'static Adversary, &'static [&'static str])> {
    all().filter_map(|adversary| match adversary.kind {
        Kind::Crippled { breaks } => Some((adversary, breaks)),
        Kind::Hostile | Kind::Null | Kind::Saboteur { .. } | Kind::Variant { .. } => None,
    })
}

/// A right but unusual subject.
#[derive(Debug, Clone, Copy)]
pub struct Variant {
    pub adversary: &'static Adversary,
    pub contract: &'static str,
    /// The sentence that leaves it free.
    pub free: &'static str,
}

/// The subjects that are right but unusual.
pub fn variants() -> impl Iterator<Item = Variant> {
    all().filter_map(|adversary| match adversary.kind {
        Kind::Variant { contract, free } => Some(Variant { adversary, contract, free }),
        Kind::Hostile | Kind::Null | Kind::Saboteur { .. } | Kind::Crippled { .. } => None,
    })
}

/// The claims of the reference.
pub fn usual_claims() -> Claims {
    Claims::of(&reference())
}

/// The adversary with this name.
pub fn find(name: &str) -> Option<&'static Adversary> {
    all().find(|adversary| adversary.name == name)
}

/// The name of the subject that has the faults of both.
pub fn pair_name(one: &Adversary, other: &Adversary) -> String {
    format!("{}{BOTH}{}", one.name, other.name)
}

/// Stands between the names of two adversaries.
const BOTH: char = '+';

/// Runs the adversary with this name on stdin and stdout, for as long as it likes. The name may be that of a pair.
///
/// # Errors
/// If there is no such adversary, or its pipes break.
pub fn serve(name: &str, claims: &Claims) -> io::Result<()> {
    match name.split_once(BOTH) {
        Some((one, other)) => known(one)?.serve_both(known(other)?, reference()),
        None => known(name)?.serve(claims, reference()),
    }
}

/// Runs the adversary's MCP server for a contract. The name may be that of a pair.
///
/// # Errors
/// If there is no such adversary or server, or its pipes break.
pub fn serve_mcp(name: &str, contract: &str, now: &str) -> io::Result<()> {
    let (one, other) =
        name.split_once(BOTH).map_or((name, None), |(one, other)| (one, Some(other)));
    let other = other.map(|name| server_of(name, contract)).transpose()?.flatten();
    match (server_of(one, contract)?, other) {
        (Some(one), Some(other)) => match one.with(other) {
            Some(both) => both.serve(now),
            None => Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                format!("the servers of `{name}` cannot be put together"),
            )),
        },
        (Some(server), None) | (None, Some(server)) => server.serve(now),
        (None, None) => proofmark_catalog::serve_mcp(contract, now),
    }
}

/// The adversary's own MCP server for a contract, if it differs from the reference's.
fn server_of(name: &str, contract: &str) -> io::Result<Option<&'static dyn McpServer>> {
    let adversary = known(name)?;
    // These equal the reference in every contract except their own.
    let of_a_room = matches!(
        adversary.kind,
        Kind::Saboteur { .. } | Kind::Crippled { .. } | Kind::Variant { .. }
    );
    let is_right = of_a_room
        && rooms()
            .filter(|room| room.contract != contract)
            .any(|room| room.adversaries.iter().copied().flatten().any(|one| one.name == name));
    Ok(adversary.server().filter(|_| !is_right))
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
            assert!(!adversary.name.contains(super::BOTH), "{}", adversary.name);
        }
    }
}
