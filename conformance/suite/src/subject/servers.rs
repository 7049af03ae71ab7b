//! Servers that an adapter named and the harness started. They are shared by the sessions of one process of the
//! adapter, and end with it.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use proofmark_judge::Fault;
use serde_json::json;
use tokio::sync::OnceCell;

use super::connection::Connection;
use super::{Patience, StartError, SubjectCommand};

/// By the command that starts them. Cases that begin together wait for the same start; nobody else does: whoever ends
/// an adapter does so while its cases stand still, and would wait for them for ever.
#[derive(Default)]
pub(super) struct Servers(RefCell<BTreeMap<String, Rc<OnceCell<Rc<Connection>>>>>);

impl Servers {
    /// The server of a command; a fresh one if the last has ended.
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

    /// Those that have started. One that is about to is ended by whoever waits for it.
    fn take(&self) -> Vec<Rc<Connection>> {
        let all = self.all();
        self.0.borrow_mut().clear();
        all
    }

    pub(super) fn owe_answers(&self) -> bool {
        self.all().iter().any(|server| server.owes_answers())
    }

    pub(super) fn stderr(&self) -> Vec<String> {
        self.all().iter().flat_map(|server| server.stderr()).collect()
    }

    pub(super) async fn kill(&self) {
        for server in self.take() {
            // As async functions call one another in a circle, one of them is boxed.
            Box::pin(server.kill()).await;
        }
    }

    /// Ends them the polite way, and tells what the first of them should not have done.
    pub(super) async fn shutdown(&self) -> Option<Fault> {
        let mut fault = None;
        for server in self.take() {
            let ended = match server.fault() {
                // Whoever spoke to it has been told.
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

/// The revision of MCP that the harness asks for. A server may answer with another one.
const REVISION: &str = "2025-06-18";

/// Starts a server and says what MCP wants to hear first. The outer error means that nothing could be started.
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
