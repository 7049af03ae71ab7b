//! Loads suites and runs them: files, narratives, subject processes, wires and the runner.
//!
//! [`load`](fn@load) reads and checks a suite. [`run`] drives a subject through its cases. The types for cases,
//! transcripts and verdicts are in `proofmark-judge`, which needs none of this.
//!
//! Nothing here calls a reference implementation: the expectations are in `features/` and `fixtures/`.

mod extensions;
pub mod gherkin;
mod load;
mod probe;
pub mod run;
pub mod subject;
pub mod wire;

pub use extensions::Extensions;
pub use load::source::{SourceError, SuiteFiles};
pub use load::{load, load_part};
pub use probe::{Does, Probe};
