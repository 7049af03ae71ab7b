//! Serves the reference of `common`: an MCP server, started as another process of this program.

use std::any::Any;
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

/// The reference's server, modified by this function.
#[derive(Clone, Copy)]
pub(crate) struct Bent(pub(crate) fn(Server) -> Server);

impl McpServer for Bent {
    fn serve(&self, now: &str) -> io::Result<()> {
        serve((self.0)(server_at(now)?))
    }

    fn with(&self, other: &dyn McpServer) -> Option<Box<dyn McpServer>> {
        let other: &dyn Any = other;
        Some(Box::new(Twice(*self, *other.downcast_ref()?)))
    }
}

/// The reference's server, modified by two functions.
struct Twice(Bent, Bent);

impl McpServer for Twice {
    fn serve(&self, now: &str) -> io::Result<()> {
        serve((self.1.0)((self.0.0)(server_at(now)?)))
    }
}

fn serve(server: Server) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let served = runtime.block_on(server.serve(stdin(), stdout()));
    // A pending read of stdin must not keep the process alive.
    runtime.shutdown_background();
    served
}

/// The reference's server with a fixed clock.
pub(crate) fn server_at(now: &str) -> io::Result<Server> {
    let now: Timestamp = now.parse().map_err(|fault| {
        io::Error::new(io::ErrorKind::InvalidInput, format!("`{now}` is not a time: {fault}"))
    })?;
    Ok(Server::in_memory(Arc::new(move || now)))
}
