//! Joins the rooms of all contracts into the built-in suite and the reference subject.
//!
//! This crate's manifest is the list of contracts: one dependency each.

use std::collections::BTreeMap;
use std::io;

use include_dir::{Dir, include_dir};
use proofmark_fakes::host::FakeKind;
use proofmark_judge::{Problem, Suite};
use proofmark_room::{Kind, Room, Session, Subject};
use proofmark_suite::Probe;
use proofmark_suite::gherkin::vocabulary::Vocabulary;
use proofmark_suite::{Extensions, SuiteFiles};

static ROOMS: &[&Room] = include!(concat!(env!("OUT_DIR"), "/rooms.rs"));

static FEATURES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../features");
static FIXTURES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../fixtures");

/// Every room.
pub fn rooms() -> impl Iterator<Item = &'static Room> + Clone {
    ROOMS.iter().copied()
}

/// The room of a contract.
pub fn room(contract: &str) -> Option<&'static Room> {
    rooms().find(|room| room.contract == contract)
}

/// What the rooms add to the files of a suite.
pub fn extensions() -> Extensions {
    Extensions {
        laws: rooms().flat_map(|room| room.laws).collect(),
        steps: rooms().flat_map(|room| room.steps).collect(),
        fakes: fakes(),
    }
}

/// Every fake that a case can use, once each.
fn fakes() -> Vec<&'static FakeKind> {
    let mut kinds: Vec<&FakeKind> = Vec::new();
    for kind in rooms().flat_map(|room| room.fakes) {
        if !kinds.iter().any(|known| known.name == kind.name) {
            kinds.push(kind);
        }
    }
    kinds
}

/// Every step that an author can use.
pub fn vocabulary() -> Vocabulary {
    Vocabulary::new(&extensions().steps)
}

/// Calls that `proofmark doctor` tries on an adapter.
pub fn probes() -> Vec<&'static Probe> {
    rooms().flat_map(|room| room.probes).collect()
}

/// The features and fixtures inside this program.
pub fn files() -> SuiteFiles {
    let mut files = Vec::new();
    embed(&FIXTURES, "fixtures", &mut files);
    embed(&FEATURES, "features", &mut files);
    SuiteFiles::from_pairs(files)
}

fn embed(dir: &Dir<'_>, prefix: &str, files: &mut Vec<(String, String)>) {
    for file in dir.files() {
        let path = format!("{prefix}/{}", file.path().display());
        if let (true, Some(text)) = (SuiteFiles::takes(&path), file.contents_utf8()) {
            files.push((path, text.to_owned()));
        }
    }
    for sub in dir.dirs() {
        embed(sub, prefix, files);
    }
}

/// Reads and checks a suite, with the additions of the rooms.
///
/// # Errors
/// All problems of the files.
pub fn load(files: &SuiteFiles) -> Result<Suite, Vec<Problem>> {
    proofmark_suite::load(files, &extensions())
}

/// Reads every ledger of the built-in suite, but only the cases of `wanted` contracts.
///
/// # Errors
/// All problems of the files.
pub fn load_part(wanted: &[String]) -> Result<Suite, Vec<Problem>> {
    let is_wanted = |id: &str| wanted.iter().any(|one| one == id);
    proofmark_suite::load_part(&files(), &extensions(), is_wanted)
}

/// Mismatches between the ledgers and the rooms' saboteurs. A ledger sets `saboteur = true` on exactly the
/// requirements that a saboteur breaks.
pub fn unmatched_saboteurs(suite: &Suite) -> Vec<Problem> {
    let saboteurs = rooms().flat_map(|room| room.adversaries.iter().copied().flatten());
    let mut broken: BTreeMap<&str, &str> = BTreeMap::new();
    for adversary in saboteurs {
        if let Kind::Saboteur { breaks } = adversary.kind {
            broken.extend(breaks.iter().map(|id| (*id, adversary.name)));
        }
    }
    let mut problems = Vec::new();
    for contract in suite.contracts.iter().filter(|contract| room(&contract.id).is_some()) {
        for requirement in &contract.requirements {
            let id = &requirement.id;
            let message = match (requirement.saboteur, broken.remove(id.as_str())) {
                (true, None) => format!(
                    "`{id}` says `saboteur = true`, but no saboteur of `{}` breaks it; add one to its room, or delete the line",
                    contract.id
                ),
                (false, Some(name)) => format!(
                    "the saboteur `{name}` breaks `{id}`, but the ledger does not say so; add `saboteur = true` to it"
                ),
                _ => continue,
            };
            problems.push(Problem::new(&requirement.at.file, requirement.at.line, message));
        }
    }
    // A partial suite lacks the requirements of other contracts.
    if !suite.is_part {
        problems.extend(broken.into_iter().map(|(id, name)| {
            let message = format!(
                "the saboteur `{name}` breaks `{id}`, which is in no ledger; name an existing requirement"
            );
            Problem::new("conformance/contracts", 1, message)
        }));
    }
    problems
}

/// The reference of every contract, behind the subject protocol.
pub fn reference() -> Subject {
    let subject = Subject::new("sage-reference", env!("CARGO_PKG_VERSION"), "rust", |open| {
        Ok(Session::new(open))
    });
    rooms().fold(subject, |subject, room| (room.reference)(subject))
}

/// Serves the reference's MCP server for this contract on stdin and stdout.
///
/// # Errors
/// If the contract has no MCP server, `now` is not a time, or a pipe breaks.
pub fn serve_mcp(contract: &str, now: &str) -> io::Result<()> {
    match room(contract).and_then(|room| room.mcp) {
        Some(server) => server.serve(now),
        None => {
            let with: Vec<&str> =
                rooms().filter(|room| room.mcp.is_some()).map(|room| room.contract).collect();
            let message = format!(
                "the reference has no MCP server for `{contract}`; it has one for {}",
                with.join(", ")
            );
            Err(io::Error::new(io::ErrorKind::InvalidInput, message))
        }
    }
}
