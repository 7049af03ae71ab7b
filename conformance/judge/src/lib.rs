//! Cases, transcripts, verdicts and records: everything that needs no subject.
//!
//! A verdict is a function of a [`case::Case`] and a [`transcript::Transcript`] ([`judge::judge`]). So this crate has
//! no processes, no sockets and no async runtime, and `verify` can judge a stored run with it alone. The crate
//! `proofmark-suite` loads suites and drives subjects.

pub mod case;
pub mod examples;
pub mod fault;
mod files;
pub mod fixture;
pub mod judge;
pub mod known;
pub mod law;
pub mod ledger;
pub mod matcher;
pub mod outcome;
mod parallel;
pub mod problem;
pub mod record;
pub mod saved;
pub mod sections;
pub mod select;
pub mod suite;
pub mod transcript;
pub mod value;
pub mod verdict;
pub mod wire;

pub use fault::Fault;
pub use problem::{Location, Problem, Span, nearest};
pub use suite::Suite;
pub use transcript::Ask;
