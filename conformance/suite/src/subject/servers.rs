//! Servers that an adapter named and the harness started. They are shared by the sessions of one process of the
//! adapter, and end with it.

use std::collections::BTreeMap;
use std::rc::Rc;

use tokio::sync::Mutex;

use super::connection::Connection;
use super::{Fault, Patience, SubjectCommand};
use crate::wire::mcp;

#[derive(Default)]
pub(super) struct Servers(Mutex<BTreeMap<String, Rc<Connection>>>);

impl Servers {
    /// The server of a command; a fresh one if the last has ended.
    pub(super) async fn get(
        &self,
        command: &SubjectCommand,
        patience: Patience,
    ) -> Result<Rc<Connection>, Fault> {
        let key = format!("{:?} {:?} {:?}", command.shown, command.environment, command.directory);
        // Held while it starts, so that cases that begin together share one.
        let mut servers = self.0.lock().await;
        if let Some(server) = servers.get(&key).filter(|server| server.is_alive()) {
            return Ok(Rc::clone(server));
        }
        let started = mcp::start(command, patience).await;
        let bad = |told: String| Fault::BadAnswer { to: "open".to_owned(), told };
        let server = match started {
            Ok(Ok(server)) => server,
            Ok(Err((fault, _))) => return Err(fault),
            Err(fault) => return Err(bad(format!("the server that it names: {fault}"))),
        };
        if let Some(ended) = servers.insert(key, Rc::clone(&server)) {
            ended.kill().await;
        }
        Ok(server)
    }

    fn all(&self) -> Vec<Rc<Connection>> {
        // Locked only while one starts, and then there is nothing to tell of it yet.
        self.0.try_lock().map(|servers| servers.values().cloned().collect()).unwrap_or_default()
    }

    pub(super) fn owe_answers(&self) -> bool {
        self.all().iter().any(|server| server.owes_answers())
    }

    pub(super) fn stderr(&self) -> Vec<String> {
        self.all().iter().flat_map(|server| server.stderr()).collect()
    }

    pub(super) async fn kill(&self) {
        let servers = std::mem::take(&mut *self.0.lock().await);
        for server in servers.into_values() {
            // As async functions call one another in a circle, one of them is boxed.
            Box::pin(server.kill()).await;
        }
    }

    /// Ends them the polite way, and tells what the first of them should not have done.
    pub(super) async fn shutdown(&self) -> Option<Fault> {
        let servers = std::mem::take(&mut *self.0.lock().await);
        let mut fault = None;
        for server in servers.into_values() {
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
