//! Certificates: statements about a subject's conformance that anybody can check offline.
//!
//! A [`statement`] is a function of the suite and the record of a run; it does not depend on when or where it was
//! made. [`dsse`] signs it with a [`key`], and [`badge`] draws it. Nothing here reads or writes files.

pub mod badge;
pub mod dsse;
pub mod key;
pub mod statement;

use std::io::{self, Read};

use sha2::{Digest as _, Sha256};

/// SHA-256 in hexadecimal.
pub fn sha256(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}

/// SHA-256 of a stream, which need not fit into memory.
pub fn sha256_of(mut from: impl Read) -> io::Result<String> {
    let mut hash = Sha256::new();
    let mut piece = vec![0; 64 * 1024];
    loop {
        match from.read(&mut piece) {
            Ok(0) => return Ok(hex::encode(hash.finalize())),
            Ok(count) => hash.update(&piece[..count]),
            Err(fault) if fault.kind() == io::ErrorKind::Interrupted => {}
            Err(fault) => return Err(fault),
        }
    }
}
