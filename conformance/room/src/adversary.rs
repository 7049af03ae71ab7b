//! Subjects that are wrong on purpose: hostile to the harness, wrong in everything, or wrong in one promise. And their
//! counterpart: subjects that are right, but unusual.

use std::fmt;
use std::io;

use crate::mcp::McpServer;
use crate::serve;
use crate::session::Subject;

/// A wrong subject.
pub struct Adversary {
    pub name: &'static str,
    /// What it does, in a few words.
    pub about: &'static str,
    pub kind: Kind,
    /// It makes the harness wait: use short timeouts.
    pub slow: bool,
    /// Its fault shows in few of many rounds: run the laws with all their inputs.
    pub rare: bool,
    /// Its report has failures of a kind that must be the same however the suite is run.
    pub repeated: Option<Among>,
    act: Act,
    server: Option<&'static dyn McpServer>,
}

/// The cases that an adversary is repeated with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Among {
    /// Cases of the contracts that it breaks.
    ItsContracts,
    /// All cases: a crash also ends cases of other contracts that are in flight.
    Everything,
}

/// What a suite must do with an adversary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The run reports its fault by name and leaves nothing of it behind.
    Hostile,
    /// It does nothing right: no promise of any contract may hold.
    Null,
    /// The reference with one promise broken: exactly these requirements must fail.
    Saboteur { breaks: &'static [&'static str] },
    /// The reference without one thing that many cases meet, such as a member of every answer. Exactly these
    /// requirements must fail; all others hold or are blocked.
    Crippled { breaks: &'static [&'static str] },
    /// The reference, changed in something that the contract leaves free: it must be certified.
    Variant {
        contract: &'static str,
        /// The sentence of the text that leaves it free, or what the text does not say.
        free: &'static str,
    },
}

#[derive(Clone, Copy)]
enum Act {
    /// An adapter of its own.
    Serve(fn(&Claims) -> io::Result<()>),
    /// The modified reference adapter.
    Bend(fn(Subject) -> Subject),
    /// The same, which also claims contracts that the reference does not have.
    BendAll(fn(Subject, &Claims) -> Subject),
    /// The unmodified reference adapter with a wrong server.
    Keep,
}

/// What an adversary claims. Saboteurs are the reference, and claim what it claims.
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
        Self { name, about, kind, slow: false, rare: false, repeated: None, act, server: None }
    }

    pub const fn hostile(
        name: &'static str,
        about: &'static str,
        serve: fn(&Claims) -> io::Result<()>,
    ) -> Self {
        Self::new(name, about, Kind::Hostile, Act::Serve(serve))
    }

    /// The reference, made hostile to the harness.
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

    /// The reference, modified so that no answer is right.
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

    /// The reference without one thing that many cases meet. It runs all cases of the contracts that it breaks.
    pub const fn crippled(
        name: &'static str,
        about: &'static str,
        breaks: &'static [&'static str],
        bend: fn(Subject) -> Subject,
    ) -> Self {
        Self::new(name, about, Kind::Crippled { breaks }, Act::Bend(bend))
    }

    /// The reference's MCP server without one thing that many cases meet.
    pub const fn crippled_server(
        name: &'static str,
        about: &'static str,
        breaks: &'static [&'static str],
        server: &'static dyn McpServer,
    ) -> Self {
        Self::new(name, about, Kind::Crippled { breaks }, Act::Keep).and_server(server)
    }

    /// The reference, changed in something that the contract leaves free. `free` is the sentence that leaves it free.
    pub const fn variant(
        contract: &'static str,
        name: &'static str,
        about: &'static str,
        free: &'static str,
        bend: fn(Subject) -> Subject,
    ) -> Self {
        Self::new(name, about, Kind::Variant { contract, free }, Act::Bend(bend))
    }

    /// The reference's MCP server, changed in something that the contract leaves free.
    pub const fn server_variant(
        contract: &'static str,
        name: &'static str,
        about: &'static str,
        free: &'static str,
        server: &'static dyn McpServer,
    ) -> Self {
        Self::new(name, about, Kind::Variant { contract, free }, Act::Keep).and_server(server)
    }

    /// The same, with its own MCP server.
    pub const fn and_server(mut self, server: &'static dyn McpServer) -> Self {
        self.server = Some(server);
        self
    }

    /// The self-test runs it in several ways and compares the reports.
    pub const fn repeated(mut self, among: Among) -> Self {
        self.repeated = Some(among);
        self
    }

    pub const fn slow(mut self) -> Self {
        self.slow = true;
        self
    }

    pub const fn rare(mut self) -> Self {
        self.rare = true;
        self
    }

    /// Runs this adversary on stdin and stdout, for as long as it likes.
    ///
    /// # Errors
    /// If the pipes break, or the adversary's own work fails.
    pub fn serve(&self, claims: &Claims, reference: Subject) -> io::Result<()> {
        match self.act {
            Act::Serve(adapter) => adapter(claims),
            Act::Bend(bend) => serve(bend(reference)),
            Act::BendAll(bend) => serve(bend(reference, claims)),
            Act::Keep => serve(reference),
        }
    }

    /// The reference with the faults of two adversaries, on stdin and stdout. Both must be made of the reference.
    ///
    /// # Errors
    /// If one of them is an adapter of its own, or the pipes break.
    pub fn serve_both(&self, other: &Self, reference: Subject) -> io::Result<()> {
        serve(other.bend(self.bend(reference)?)?)
    }

    fn bend(&self, subject: Subject) -> io::Result<Subject> {
        match self.act {
            Act::Bend(bend) => Ok(bend(subject)),
            Act::Keep => Ok(subject),
            Act::Serve(_) | Act::BendAll(_) => {
                let message = format!("`{}` cannot be put together with another", self.name);
                Err(io::Error::new(io::ErrorKind::InvalidInput, message))
            }
        }
    }

    pub fn is_crippled(&self) -> bool {
        matches!(self.kind, Kind::Crippled { .. })
    }

    /// The MCP server of this adversary, instead of the reference's.
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
