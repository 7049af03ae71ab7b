//! From files to a checked [`Suite`](crate::Suite): read, expand, compile, lint.

pub(crate) mod expand;
mod falsifiable;
mod files;
pub(crate) mod fixture;
pub(crate) mod lint;
pub(crate) mod source;
pub(crate) mod strict;
mod walk;
