//! Subjects made wrong on purpose: hostile to the harness, right in nothing, or wrong in one promise.

use std::fmt;
use std::io;

use crate::mcp::McpServer;
use crate::serve;
use crate::session::Subject;

/// A way to be wrong.
pub struct Adversary {
    pub name: &'static str,
    /// What it does, in a few words.
    pub about: &'static str,
    pub kind: Kind,
    /// It keeps the harness waiting: give it short timeouts.
    pub slow: bool,
    /// Its report has failures of a kind that must come out the same however the suite is run.
    pub repeated: Option<Among>,
    act: Act,
    server: Option<&'static dyn McpServer>,
}

/// Which cases an adversary is repeated with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Among {
    /// Those of the contracts that it breaks.
    ItsContracts,
    /// All: a crash also ends cases of other contracts that are in flight.
    Everything,
}

/// What a suite owes to an adversary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The run reports its fault by name, and nothing of it is left.
    Hostile,
    /// It does nothing right: no promise holds, of any contract.
    Null,
    /// The reference with one promise broken: exactly these requirements do not hold.
    Saboteur { breaks: &'static [&'static str] },
}

#[derive(Clone, Copy)]
enum Act {
    /// An adapter of its own.
    Serve(fn(&Claims) -> io::Result<()>),
    /// The reference's adapter, bent.
    Bend(fn(Subject) -> Subject),
    /// The same, and it claims contracts that the reference does not have.
    BendAll(fn(Subject, &Claims) -> Subject),
    /// The reference's adapter as it is; its server is wrong.
    Keep,
}

/// What an adversary says that it implements. Saboteurs are the reference, and claim what it claims.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claims {
    pub contracts: Vec<String>,
    pub hooks: Vec<String>,
}

impl Claims {
    /// Everything that a subject claims.
    pub fn of(subject: &Subject) -> Self {
        let about = subject.about();
        Self { contracts: about.contracts.clone(), hooks: about.hooks.clone() }
    }
}

impl Adversary {
    const fn new(name: &'static str, about: &'static str, kind: Kind, act: Act) -> Self {
        Self { name, about, kind, slow: false, repeated: None, act, server: None }
    }

    pub const fn hostile(
        name: &'static str,
        about: &'static str,
        serve: fn(&Claims) -> io::Result<()>,
    ) -> Self {
        Self::new(name, about, Kind::Hostile, Act::Serve(serve))
    }

    /// The reference, hostile to the harness.
    pub const fn hostile_reference(
        name: &'static str,
        about: &'static str,
        bend: fn(Subject) -> Subject,
    ) -> Self {
        Self::new(name, about, Kind::Hostile, Act::Bend(bend))
    }

    pub const fn null(
        name: &'static str,
        about: &'static str,
        serve: fn(&Claims) -> io::Result<()>,
    ) -> Self {
        Self::new(name, about, Kind::Null, Act::Serve(serve))
    }

    /// The reference, bent so that no answer is right.
    pub const fn null_reference(
        name: &'static str,
        about: &'static str,
        bend: fn(Subject, &Claims) -> Subject,
    ) -> Self {
        Self::new(name, about, Kind::Null, Act::BendAll(bend))
    }

    pub const fn saboteur(
        name: &'static str,
        about: &'static str,
        breaks: &'static [&'static str],
        bend: fn(Subject) -> Subject,
    ) -> Self {
        Self::new(name, about, Kind::Saboteur { breaks }, Act::Bend(bend))
    }

    /// The reference's MCP server with one promise broken.
    pub const fn server_saboteur(
        name: &'static str,
        about: &'static str,
        breaks: &'static [&'static str],
        server: &'static dyn McpServer,
    ) -> Self {
        Self::new(name, about, Kind::Saboteur { breaks }, Act::Keep).and_server(server)
    }

    /// The same, with an MCP server of its own.
    pub const fn and_server(mut self, server: &'static dyn McpServer) -> Self {
        self.server = Some(server);
        self
    }

    /// The self-test runs it in several ways, and its report must be the same.
    pub const fn repeated(mut self, among: Among) -> Self {
        self.repeated = Some(among);
        self
    }

    pub const fn slow(mut self) -> Self {
        self.slow = true;
        self
    }

    /// Plays this adversary on stdin and stdout, for as long as it likes.
    ///
    /// # Errors
    /// When the pipes break, or the adversary's own work fails.
    pub fn serve(&self, claims: &Claims, reference: Subject) -> io::Result<()> {
        match self.act {
            Act::Serve(adapter) => adapter(claims),
            Act::Bend(bend) => serve(bend(reference)),
            Act::BendAll(bend) => serve(bend(reference, claims)),
            Act::Keep => serve(reference),
        }
    }

    /// The MCP server that this adversary has in place of the reference's.
    pub fn server(&self) -> Option<&'static dyn McpServer> {
        self.server
    }
}

impl fmt::Debug for Adversary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Adversary")
            .field("name", &self.name)
            .field("kind", &self.kind)
            .finish_non_exhaustive()
    }
}
