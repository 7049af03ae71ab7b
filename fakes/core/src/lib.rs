//! Deterministic fakes, and the host that plays them for a session. No contract is named here.
//!
//! A fake behaves the same in every run: it uses no wall clock, no entropy and no network. A call that
//! its script does not cover is an error, never a guess. Only [`workspace`] touches the disk, in a
//! temporary folder that it removes.
//!
//! Crates beside this one implement [`host::Fake`] for what their contracts talk to, and export a
//! [`host::FakeKind`] for each fake.

pub mod clock;
pub mod draws;
pub mod host;
pub mod random;
pub mod schema;
pub mod script;
pub mod workspace;
