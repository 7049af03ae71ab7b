//! Contracts that are spoken on a wire of their own: what the reference answers to `open`, and the MCP server that it names.

use std::io;
use std::sync::Arc;

use agent_common::Server;
use agent_runs::{Policy, Rules};
use jiff::Timestamp;
use proofmark_protocol::{Adapter, Fakes};
use serde_json::{Value, json};
use tokio::io::{stdin, stdout};

use crate::{Session, runs};

/// The flag that makes this program the MCP server, with the time that it tells.
pub const MCP_FLAG: &str = "--mcp";

pub(crate) fn operations(adapter: Adapter<Session>) -> Adapter<Session> {
    let adapter = adapter.claims("common").claims("runs");
    under_rules(adapter.has_hook("runs.patch").has_hook("runs.provider"), Arc::new(Rules))
}

/// The reference with other rules for its runs.
pub fn under_rules(adapter: Adapter<Session>, rules: Arc<dyn Policy>) -> Adapter<Session> {
    adapter.on_open(move |session, fakes| open(session, fakes, Arc::clone(&rules)))
}

/// The wire that the session is to be spoken to on.
async fn open(
    session: Arc<Session>,
    fakes: Fakes,
    rules: Arc<dyn Policy>,
) -> Result<Value, String> {
    match session.script().wire.as_deref() {
        Some("mcp") => mcp_wire(&session.script().clock.start),
        Some("http") => runs::open(&session, fakes, rules).await,
        _ => Ok(json!({})),
    }
}

/// An answer to `open` that names an MCP server: this same program, started once more, with [`MCP_FLAG`].
pub fn mcp_wire(start: &str) -> Result<Value, String> {
    let program = std::env::current_exe()
        .map_err(|fault| format!("this program cannot find itself to be the server: {fault}"))?;
    let mut command = vec![program.to_string_lossy().into_owned()];
    command.extend(std::env::args().skip(1));
    command.extend([MCP_FLAG.to_owned(), start.to_owned()]);
    Ok(json!({ "wire": { "mcp": { "command": command } } }))
}

/// Serves `common` on this process's stdin and stdout, with its time standing still. `bend` may change the server.
pub fn serve_mcp(now: &str, bend: impl FnOnce(Server) -> Server) -> io::Result<()> {
    let now: Timestamp = now.parse().map_err(|fault| {
        io::Error::new(io::ErrorKind::InvalidInput, format!("`{now}` is no time: {fault}"))
    })?;
    let server = bend(Server::in_memory(Arc::new(move || now)));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let served = runtime.block_on(server.serve(stdin(), stdout()));
    // A read of stdin that is under way must not keep the process.
    runtime.shutdown_background();
    served
}
