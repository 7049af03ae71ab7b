//! The adapter of {{name}}: it lets Proofmark drive your build.
//!
//! - `proofmark doctor`: checks the adapter itself
//! - `proofmark run`: shows which cases pass, and what is missing
//! - `proofmark certify`: checks everything that the adapter claims
//!
//! Replace each `not_implemented` with a call of your build. A handler gets a context (the session's state, its
//! fakes, its stream) and the call's arguments, and returns a value or a `Failure`; `proofmark guide operations`
//! describes each operation. The session's state can be anything. Here it is what the harness sent in `open`: the
//! workspace, the clock's script and the random tape.

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
