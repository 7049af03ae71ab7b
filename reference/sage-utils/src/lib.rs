//! Foundations of the sage contracts: canonical JSON, SHA-256, typed errors, and the collaborators
//! (clock, random numbers, secrets) that every other contract receives from its caller.
//!
//! Others are judged beside this crate, so it is written to be read: nothing here reads a clock,
//! rolls a die or touches a file.
//!
//! # Contract
//! - UTILS-001 The text's example has the canonical form that the text gives.
//! - UTILS-002 Keys are sorted at every depth, inside arrays too.
//! - UTILS-003 Keys that look like integers are sorted as text: `"10"` before `"9"`.
//! - UTILS-004 Arrays keep their order.
//! - UTILS-005 There is no white space outside strings.
//! - UTILS-006 One value has one form, in whatever order its keys came.
//! - UTILS-007 Every kind of JSON value has a form, alone as well as inside others.
//! - UTILS-008 No member is left out, whatever its key or value.
//! - UTILS-009 Numbers print as in ECMAScript.
//! - UTILS-010 Only `"`, `\` and control characters are escaped, as briefly as JSON allows.
//! - UTILS-011 All other characters stand for themselves.
//! - UTILS-012 Keys beyond ASCII are sorted by UTF-16 code units.
//! - UTILS-013 An integer beyond 2^53 prints as the nearest double.
//! - UTILS-014 Negative zero prints as `0`.
//! - UTILS-015 A number beyond every double is refused.
//! - UTILS-016 A lone surrogate is refused.
//! - UTILS-017 `hello` has the digest that the text gives.
//! - UTILS-018 A digest is 64 lower-case hex digits.
//! - UTILS-019 Text is hashed as its UTF-8 bytes.
//! - UTILS-020 Bytes are hashed as they are.
//! - UTILS-021 [`err`] keeps the code, whatever string it is.
//! - UTILS-022 [`err`] keeps the message.
//! - UTILS-023 [`err`] keeps the cause, whatever its kind.
//! - UTILS-024 Without a cause there is none in the JSON form.
//! - UTILS-025 Every error has a name.
//! - UTILS-026 A [`Clock`] tells the injected time.
//! - UTILS-027 Every reading asks the clock anew.
//! - UTILS-028 Times are UTC with `Z` and three digits of milliseconds.
//! - UTILS-029 [`Random::int`] is the next integer of the injected source.
//! - UTILS-030 [`Random::float`] is the next float of it, from 0 to 1.
//! - UTILS-031 Integers and floats are drawn independently.
//! - UTILS-032 A [`SecretProvider`] gives a secret unchanged, an empty one too.
//! - UTILS-033 A secret that is not there is `None`, not an error.
//! - UTILS-034 The provider is asked for exactly the caller's key.
//! - UTILS-035 Nothing here changes its input.
//! - UTILS-036 Nothing is needed at run time but what is compiled in.
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
