//! From the files of a suite to a run: loading, narratives, processes of the subject, wires, the runner.
//!
//! [`load`](fn@load) reads and checks a suite. [`run`] drives a subject through its cases. The types of cases, transcripts
//! and verdicts are in `proofmark-judge`, which needs none of this.
//!
//! Nothing here calls a reference implementation: what is right stands in `features/` and `fixtures/`.

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
