//! Subjects made wrong on purpose: hostile to the harness, right in nothing, or wrong in one promise.
//!
//! `proofmark subject --adversary NAME` is one of them. A suite that lets one pass is broken, so every
//! build runs them all.

mod flaky;
mod hostile;
mod null;
mod null_http;
mod null_mcp;
mod saboteur;

use std::io;

use agent_common::Server;
use proofmark_protocol::Adapter;
use proofmark_reference::Session;

/// A way to be wrong.
pub struct Adversary {
    pub name: &'static str,
    /// What it does, in a few words.
    pub about: &'static str,
    pub kind: Kind,
    /// It keeps the harness waiting: whoever runs it should have little patience.
    pub slow: bool,
    act: Act,
}

/// What a suite owes to an adversary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A fault of its own, and that nothing of it is left.
    Hostile,
    /// It does nothing right: no promise may hold, of whatever contract.
    Null,
    /// The reference with one promise broken: exactly these requirements do not hold.
    Saboteur { breaks: &'static [&'static str] },
}

enum Act {
    Serve(fn(&Claims) -> io::Result<()>),
    Bend(fn(Adapter<Session>) -> Adapter<Session>),
    /// The MCP server that it names is the bent one; the adapter is the reference's.
    BendServer(fn(Server) -> Server),
    /// An adapter that names an MCP server, and that server: neither is the reference's.
    ServeBoth(fn(&Claims) -> io::Result<()>, fn() -> io::Result<()>),
}

/// What an adversary says that it implements. Saboteurs are the reference, and claim what it claims.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claims {
    pub contracts: Vec<String>,
    pub hooks: Vec<String>,
}

impl Default for Claims {
    /// All that the reference claims.
    fn default() -> Self {
        let reference = proofmark_reference::adapter();
        let about = reference.about();
        Self { contracts: about.contracts.clone(), hooks: about.hooks.clone() }
    }
}

impl Adversary {
    const fn hostile(
        name: &'static str,
        about: &'static str,
        serve: fn(&Claims) -> io::Result<()>,
    ) -> Self {
        Self { name, about, kind: Kind::Hostile, slow: false, act: Act::Serve(serve) }
    }

    const fn null(
        name: &'static str,
        about: &'static str,
        serve: fn(&Claims) -> io::Result<()>,
    ) -> Self {
        Self { name, about, kind: Kind::Null, slow: false, act: Act::Serve(serve) }
    }

    const fn saboteur(
        name: &'static str,
        about: &'static str,
        breaks: &'static [&'static str],
        bend: fn(Adapter<Session>) -> Adapter<Session>,
    ) -> Self {
        Self { name, about, kind: Kind::Saboteur { breaks }, slow: false, act: Act::Bend(bend) }
    }

    /// The reference's MCP server with one promise broken.
    const fn server(
        name: &'static str,
        about: &'static str,
        breaks: &'static [&'static str],
        bend: fn(Server) -> Server,
    ) -> Self {
        Self {
            name,
            about,
            kind: Kind::Saboteur { breaks },
            slow: false,
            act: Act::BendServer(bend),
        }
    }

    /// The same, with an MCP server of its own.
    const fn and_server(mut self, server: fn() -> io::Result<()>) -> Self {
        if let Act::Serve(adapter) = self.act {
            self.act = Act::ServeBoth(adapter, server);
        }
        self
    }

    const fn slow(mut self) -> Self {
        self.slow = true;
        self
    }

    /// Is this adversary on stdin and stdout, for as long as it likes.
    pub fn serve(&self, claims: &Claims) -> io::Result<()> {
        match self.act {
            Act::Serve(serve) | Act::ServeBoth(serve, _) => serve(claims),
            Act::Bend(bend) => proofmark_reference::serve(bend(proofmark_reference::adapter())),
            Act::BendServer(_) => proofmark_reference::serve_stdio(),
        }
    }

    /// Is the MCP server that this adversary names.
    fn serve_mcp(&self, now: &str) -> io::Result<()> {
        match self.act {
            Act::BendServer(bend) => proofmark_reference::serve_mcp(now, bend),
            Act::ServeBoth(_, server) => server(),
            // The rest bend other contracts, and leave this one alone.
            Act::Serve(_) | Act::Bend(_) => proofmark_reference::serve_mcp(now, |server| server),
        }
    }
}

/// All of them, hostile ones first.
pub fn all() -> impl Iterator<Item = &'static Adversary> {
    let saboteurs = saboteur::THEMES.iter().flat_map(|theme| theme.iter());
    let nulls = null::ALL.iter().chain(null_mcp::ALL).chain(null_http::ALL);
    hostile::ALL.iter().chain(flaky::ALL).chain(nulls).chain(saboteurs)
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

/// The adversary of that name.
pub fn find(name: &str) -> Option<&'static Adversary> {
    all().find(|adversary| adversary.name == name)
}

/// Is the adversary of that name on stdin and stdout, for as long as it likes.
pub fn serve(name: &str, claims: &Claims) -> io::Result<()> {
    known(name)?.serve(claims)
}

/// Is the MCP server of the adversary of that name, on stdin and stdout.
pub fn serve_mcp(name: &str, now: &str) -> io::Result<()> {
    known(name)?.serve_mcp(now)
}

fn known(name: &str) -> io::Result<&'static Adversary> {
    find(name).ok_or_else(|| {
        let known: Vec<&str> = all().map(|adversary| adversary.name).collect();
        let told = format!("no adversary `{name}`; there are {}", known.join(", "));
        io::Error::new(io::ErrorKind::InvalidInput, told)
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
