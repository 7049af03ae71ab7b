//! The conformance suite: what the contracts promise, the cases that show it, and the runner that
//! drives a subject through them.
//!
//! The way of a case: a fixture or a narrative is read into a [`case::Case`] ([`suite::Suite::load`]),
//! selected ([`select`]), executed on a process of the subject ([`run`]), judged against its patterns
//! ([`matcher`]) and summed up per requirement and contract ([`verdict`]).
//!
//! Nothing here calls a reference implementation: what is right stands in `features/` and `fixtures/`.

pub mod case;
pub mod doctor;
pub mod envelope;
mod extensions;
mod files;
pub mod gherkin;
pub mod judge;
pub mod known;
pub mod law;
pub mod ledger;
mod load;
pub mod matcher;
pub mod outcome;
mod problem;
pub mod record;
pub mod run;
pub mod saved;
pub mod sections;
pub mod select;
pub mod subject;
pub mod suite;
pub mod transcript;
pub mod verdict;
pub mod wire;

pub use extensions::Extensions;
pub use load::source::{SourceError, SuiteFiles};
pub use problem::{Location, Place, Problem, nearest};
pub use subject::host::Ask;
pub use suite::Suite;
