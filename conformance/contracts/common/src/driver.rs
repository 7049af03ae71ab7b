//! How the reference serves `common`: an MCP server, which is this same program started once more.

use std::io;
use std::sync::Arc;

use agent_common::Server;
use jiff::Timestamp;
use proofmark_room::{McpServer, Subject, mcp_wire};
use tokio::io::{stdin, stdout};

use crate::CONTRACT;

pub(crate) fn operations(subject: Subject) -> Subject {
    subject
        .claims(CONTRACT)
        .serves(CONTRACT, async |session, _| mcp_wire(CONTRACT, &session.script().clock.start))
}

/// The reference's server after this function has changed it.
pub(crate) struct Bent(pub(crate) fn(Server) -> Server);

impl McpServer for Bent {
    fn serve(&self, now: &str) -> io::Result<()> {
        let server = (self.0)(server_at(now)?);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let served = runtime.block_on(server.serve(stdin(), stdout()));
        // A read of stdin that is under way must not keep the process.
        runtime.shutdown_background();
        served
    }
}

/// The reference's server, with a clock that stands still.
pub(crate) fn server_at(now: &str) -> io::Result<Server> {
    let now: Timestamp = now.parse().map_err(|fault| {
        io::Error::new(io::ErrorKind::InvalidInput, format!("`{now}` is no time: {fault}"))
    })?;
    Ok(Server::in_memory(Arc::new(move || now)))
}
