//! Servers that an adapter named and the harness started. The sessions of one adapter process share them, and they
//! end with it.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use proofmark_judge::Fault;
use serde_json::json;
use tokio::sync::OnceCell;

use super::connection::Connection;
use super::{Patience, StartError, SubjectCommand};

/// Servers by the command that starts them. Cases that begin together wait for the same start. Never await a start
/// while stopping an adapter: its cases stand still then, and the wait would never end.
#[derive(Default)]
pub(super) struct Servers(RefCell<BTreeMap<String, Rc<OnceCell<Rc<Connection>>>>>);

impl Servers {
    /// The server of a command; a new one if the last has ended.
    pub(super) async fn get(
        &self,
        command: &SubjectCommand,
        patience: Patience,
    ) -> Result<Rc<Connection>, Fault> {
        let key = format!("{:?} {:?} {:?}", command.shown, command.environment, command.directory);
        let (server, ended) = {
            let mut servers = self.0.borrow_mut();
            let server = servers.entry(key).or_default();
            let ended = server.get().filter(|server| !server.is_alive()).cloned();
            if ended.is_some() {
                *server = Rc::default();
            }
            (Rc::clone(server), ended)
        };
        if let Some(ended) = ended {
            ended.kill().await;
        }
        server.get_or_try_init(|| start_or_fault(command, patience)).await.cloned()
    }

    fn all(&self) -> Vec<Rc<Connection>> {
        self.0.borrow().values().filter_map(|server| server.get().cloned()).collect()
    }

    /// The started servers. A server that is still starting is stopped by the case that waits for it.
    fn take(&self) -> Vec<Rc<Connection>> {
        let all = self.all();
        self.0.borrow_mut().clear();
        all
    }

    pub(super) fn stderr(&self) -> Vec<String> {
        self.all().iter().flat_map(|server| server.stderr()).collect()
    }

    pub(super) async fn kill(&self) {
        for server in self.take() {
            // Boxed, since these async functions call each other recursively.
            Box::pin(server.kill()).await;
        }
    }

    /// Shuts them down. Returns the first fault.
    pub(super) async fn shutdown(&self) -> Option<Fault> {
        let mut fault = None;
        for server in self.take() {
            let ended = match server.fault() {
                // The case that used it has reported the fault.
                Some(_) => {
                    Box::pin(server.kill()).await;
                    None
                }
                None => Box::pin(server.shutdown()).await,
            };
            fault = fault.or(ended);
        }
        fault
    }
}

/// The revision of MCP that the harness requests. A server may answer with another one.
const REVISION: &str = "2025-06-18";

/// Starts a server and does the MCP handshake. The outer error means that it could not be started.
pub async fn start_mcp(
    command: &SubjectCommand,
    patience: Patience,
) -> Result<Result<Rc<Connection>, (Fault, Vec<String>)>, StartError> {
    let server = Connection::to_mcp_server(command, patience)?;
    let hello = json!({
        "protocolVersion": REVISION,
        "capabilities": {},
        "clientInfo": { "name": "proofmark", "version": env!("CARGO_PKG_VERSION") },
    });
    let answer = server.request("initialize", "initialize", &hello, patience.start).await;
    let greeted = answer.and_then(|answer| {
        let bad = |message: String| Fault::BadAnswer { to: "initialize".to_owned(), message };
        let result = answer.map_err(|error| bad(error.to_string()))?;
        match result["protocolVersion"].is_string() {
            true => Ok(()),
            false => Err(bad("it has no `protocolVersion`, which is a string".to_owned())),
        }
    });
    match greeted {
        Ok(()) => {
            server.notify("notifications/initialized", &json!({}));
            Ok(Ok(Rc::new(server)))
        }
        Err(fault) => {
            let fault = server.refine(fault).await;
            let stderr = server.stderr();
            server.kill().await;
            Ok(Err((fault, stderr)))
        }
    }
}

async fn start_or_fault(
    command: &SubjectCommand,
    patience: Patience,
) -> Result<Rc<Connection>, Fault> {
    let bad = |message: String| Fault::BadAnswer { to: "open".to_owned(), message };
    match start_mcp(command, patience).await {
        Ok(Ok(server)) => Ok(server),
        Ok(Err((fault, _))) => Err(fault),
        Err(fault) => Err(bad(format!("the server that it names: {fault}"))),
    }
}
