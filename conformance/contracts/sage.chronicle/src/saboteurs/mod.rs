//! The reference with one broken promise, in a way that no single answer shows.
//!
//! A saboteur is an entry in the table of its theme, and a short function that modifies the reference. In every run
//! it breaks exactly the requirements that its entry names.

mod appending;
mod company;
mod files;
mod identity;
mod locking;
mod log_files;
mod reading;

use proofmark_room::Adversary;

pub(crate) const THEMES: &[&[Adversary]] =
    &[appending::ALL, company::ALL, identity::ALL, reading::ALL, locking::ALL, files::ALL, CLAIMS];

const CLAIMS: &[Adversary] = &[Adversary::hostile_reference(
    "claims-a-slip-of-the-pen",
    "claims a contract that does not exist",
    |subject| subject.claims("sage.chroncile"),
)];
