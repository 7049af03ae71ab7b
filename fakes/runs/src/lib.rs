//! The fake of what a run server talks to: the provider of its agents' turns.

pub mod provider;

use proofmark_fakes::host::FakeKind;

pub use provider::PROVIDER;

/// Every fake of this crate.
pub static KINDS: &[&FakeKind] = &[&PROVIDER];
