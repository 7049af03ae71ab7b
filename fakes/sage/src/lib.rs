//! Fakes of what the sage contracts talk to.
//!
//! They implement the traits of the reference crates, so that the reference can run on them in one
//! process, and [`Fake`](proofmark_fakes::host::Fake), so that the harness can play them for any subject.

pub mod chronicle;
mod clock;
mod fault;
pub mod graph;
pub mod llm;
mod random;
pub mod secrets;
pub mod tools;

use proofmark_fakes::host::FakeKind;

pub use chronicle::CHRONICLE;
pub use clock::SageClock;
pub use graph::GRAPH;
pub use llm::LLM;
pub use random::SageRandom;
pub use secrets::SECRETS;
pub use tools::TOOLS;

/// Every fake of this crate.
pub static KINDS: &[&FakeKind] = &[&CHRONICLE, &GRAPH, &LLM, &SECRETS, &TOOLS];
