//! The reference as a subject: every reference crate behind the subject protocol.
//!
//! One file per contract, each a list of operations. The harness drives it as a process, on the same
//! road as a stranger's program.

mod arguments;
mod call;
mod chronicle;
mod errors;
mod llm;
mod runs;
mod session;
mod tools;
mod utils;
mod wires;

use std::io;

use proofmark_protocol::Adapter;

pub use session::Session;
pub use wires::{MCP_FLAG, mcp_wire, serve_mcp, under_rules};

/// The adapter of the whole reference.
pub fn adapter() -> Adapter<Session> {
    let adapter = Adapter::new("sage-reference", env!("CARGO_PKG_VERSION"), "rust", Session::new);
    let adapter = chronicle::operations(errors::operations(utils::operations(adapter)));
    wires::operations(llm::operations(tools::operations(adapter)))
}

/// Serves the reference on this process's stdin and stdout.
pub fn serve_stdio() -> io::Result<()> {
    serve(adapter())
}

/// Serves any adapter on this process's stdin and stdout.
pub fn serve(adapter: Adapter<Session>) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let served = runtime.block_on(adapter.serve_stdio());
    // A call that still waits for a lock must not keep the process.
    runtime.shutdown_background();
    served
}
