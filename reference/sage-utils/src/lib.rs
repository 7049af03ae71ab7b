//! Foundations of the sage contracts: canonical JSON, SHA-256, typed errors, and the collaborators
//! (clock, random numbers, secrets) that every other contract receives from its caller.
//!
//! Others are judged beside this crate, so it is written to be read: nothing here reads a clock, draws random numbers
//! or touches a file.
//!
//! `proofmark show sage.utils` lists the promises that it keeps.
//!
//! Left open: what a caller's secrets backend is, and which generator stands behind [`Random`].

mod canonical;
mod collaborators;
mod error;
mod hash;

pub use canonical::{CanonicalError, canonical_json, canonical_json_of_text, write_canonical};
pub use collaborators::{BoxFuture, Clock, Iso8601, Random, SecretProvider};
pub use error::{TypedError, err};
pub use hash::sha256;
