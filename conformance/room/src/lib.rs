//! The parts of a contract's room.
//!
//! A room (`conformance/contracts/<id>`) has everything that the harness knows about one contract. It exports one
//! [`Room`]; `conformance/catalog` lists the rooms, and nothing else names a contract. This crate has the types of a
//! room and what rooms share: the reference's [`Session`], [`Adversary`] and tools to modify the reference
//! ([`bend`]).

pub mod adversary;
pub mod arguments;
pub mod bench;
pub mod bend;
pub mod fuzz;
mod mcp;
mod session;
pub mod wrong;
pub mod wrong_mcp;

use std::fmt;
use std::io;

use proofmark_fakes::host::FakeKind;
use proofmark_judge::law::Law;
use proofmark_suite::Probe;
use proofmark_suite::gherkin::vocabulary::VocabularyStep;

pub use adversary::{Adversary, Among, Claims, Kind};
pub use fuzz::FuzzTarget;
pub use mcp::{MCP_FLAG, McpServer, TIME_FLAG, mcp_wire};
pub use session::{Session, State, Subject, workspace_of};

/// Everything that the harness knows about one contract.
pub struct Room {
    /// The contract's id, such as `my.notes`.
    pub contract: &'static str,
    /// The contract's page in Markdown, for `proofmark guide ID`.
    pub guide: &'static str,
    pub laws: &'static [Law],
    /// Steps that are specific to the contract.
    pub steps: &'static [VocabularyStep],
    /// The fakes that cases can use. Rooms may share one.
    pub fakes: &'static [&'static FakeKind],
    /// Claims the contract and connects its operations or its server to the reference crate.
    pub reference: fn(Subject) -> Subject,
    /// The reference's MCP server, if the contract uses one.
    pub mcp: Option<&'static dyn McpServer>,
    /// Saboteurs of this contract and other wrong subjects that know it, in groups by theme.
    pub adversaries: &'static [&'static [Adversary]],
    /// Parsers of untrusted input, for `cargo xtask fuzz`.
    pub fuzz: &'static [FuzzTarget],
    /// Calls that `proofmark doctor` can try on any adapter of this contract.
    pub probes: &'static [Probe],
}

impl Room {
    /// A room with only a page and a reference.
    pub const fn new(
        contract: &'static str,
        guide: &'static str,
        reference: fn(Subject) -> Subject,
    ) -> Self {
        Self {
            contract,
            guide,
            laws: &[],
            steps: &[],
            fakes: &[],
            reference,
            mcp: None,
            adversaries: &[],
            fuzz: &[],
            probes: &[],
        }
    }
}

impl fmt::Debug for Room {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Room").field("contract", &self.contract).finish_non_exhaustive()
    }
}

/// Serves a subject on this process's stdin and stdout.
///
/// # Errors
/// If the pipes break.
pub fn serve(subject: Subject) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let served = runtime.block_on(subject.serve_stdio());
    // A call that still waits for a lock must not keep the process alive.
    runtime.shutdown_background();
    served
}
