//! The adapter of {{name}}: it lets Proofmark drive your build.
//!
//! - `proofmark doctor`: is the adapter itself sound?
//! - `proofmark run`: which cases pass, and what is missing?
//! - `proofmark certify`: is everything that is claimed there?
//!
//! Put your build in the place of each `not_implemented`. A handler gets a context (the session's state, its
//! fakes, its stream) and the call's arguments, and gives a value or a `Failure`; `proofmark guide operations`
//! says what each takes and gives. What a session holds is up to you: here it is what the harness sent in `open`,
//! with the workspace, the clock's script and the random tape.

use std::io;

use proofmark_protocol::{Adapter, Context, Failure, Open, RpcError};
use serde_json::Value;

#[tokio::main]
async fn main() -> io::Result<()> {
    Adapter::new("{{name}}", "0.1.0", "rust", |open: &Open| Ok(open.clone()))
{{operations}}
        .serve_stdio()
        .await
}

async fn not_implemented(_: Context<Open>, _: Value) -> Result<Value, Failure> {
    Err(Failure::Adapter(RpcError::new(RpcError::NOT_IMPLEMENTED, "not implemented yet")))
}
