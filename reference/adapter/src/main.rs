//! The reference as a program of its own, without the harness: `proofmark run -- proofmark-reference`.

use std::io;

fn main() -> io::Result<()> {
    proofmark_reference::serve_stdio()
}
