//! The reference with one broken promise, in a way that no single answer shows.
//!
//! A saboteur is an entry in the table of its theme, and a short function that modifies the reference. In every run
//! it breaks exactly the requirements that its entry names.

pub(crate) mod appending;
pub(crate) mod company;
pub(crate) mod files;
pub(crate) mod identity;
pub(crate) mod locking;
pub(crate) mod log_files;
pub(crate) mod reading;

use proofmark_room::Adversary;

pub(crate) const CLAIMS: &[Adversary] = &[Adversary::hostile_reference(
    "claims-a-slip-of-the-pen",
    "claims a contract that does not exist",
    |subject| subject.claims("sage.chroncile"),
)];
