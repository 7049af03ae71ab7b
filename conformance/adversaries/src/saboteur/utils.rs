//! x
use crate::Adversary;
pub(super) const ALL: &[Adversary] = &[];
