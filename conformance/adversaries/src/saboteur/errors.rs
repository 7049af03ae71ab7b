//! Errors that lose or keep what they should not.
use crate::Adversary;
pub(super) const ALL: &[Adversary] = &[];
