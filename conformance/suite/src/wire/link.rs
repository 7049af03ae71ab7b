//! The connection to the server of one session: every operation of its wire.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::Mutex;

use super::offer::{HttpServer, Offer};
use super::socket::Socket;
use super::{Trouble, files, http, mcp, socket};
use crate::subject::Group;
use crate::subject::connection::Connection;
use proofmark_judge::Fault;
use proofmark_judge::wire::arguments::{
    CloseSocket, HttpRequest, McpRequest, OpenSocket, ReadFile, Send, Suggestion, Take, Tool,
    Until, read, suggestion,
};

type Sockets = RefCell<HashMap<String, Rc<Mutex<Option<Socket>>>>>;

/// A connected server of a session.
pub(crate) enum Link {
    Mcp(Rc<Connection>),
    Http {
        server: HttpServer,
        sockets: Sockets,
        patience: Duration,
        /// The adapter's processes, the server among them.
        processes: Group,
        workspace: Option<PathBuf>,
    },
}

impl Link {
    /// Connects to the server that an adapter offers. A server that the harness starts belongs to the adapter's
    /// process: its sessions share it, and it ends with it.
    pub(crate) async fn new(
        offer: Offer,
        adapter: &Connection,
        workspace: Option<&Path>,
    ) -> Result<Self, Fault> {
        Ok(match offer {
            Offer::Mcp(command) => Self::Mcp(adapter.server(&command).await?),
            Offer::Http(server) => Self::Http {
                server,
                sockets: RefCell::default(),
                patience: adapter.patience().call,
                processes: adapter.group(),
                workspace: workspace.map(Path::to_owned),
            },
        })
    }

    /// Executes one operation. Returns its value, or how the answer violates the protocol. No answer is a fault.
    pub(crate) async fn operate(
        &self,
        operation: &str,
        args: &Value,
    ) -> Result<Result<Value, String>, Fault> {
        let done = match self {
            Self::Mcp(server) => on_mcp(server, operation, args).await,
            Self::Http { server, sockets, patience, processes, workspace } => {
                let work = on_http(server, sockets, workspace.as_deref(), operation, args);
                processes.within(*patience, work).await.unwrap_or_else(|| {
                    let after_ms = u64::try_from(patience.as_millis()).unwrap_or(u64::MAX);
                    Err(Fault::NoAnswer { to: operation.to_owned(), after_ms }.into())
                })
            }
        };
        match done {
            Ok(value) => Ok(Ok(value)),
            Err(Trouble::Odd(message)) => Ok(Err(message)),
            Err(Trouble::Lost(message)) => {
                Err(Fault::BadAnswer { to: operation.to_owned(), message })
            }
            Err(Trouble::Fault(fault)) => Err(match self {
                Self::Mcp(server) => server.refine(fault).await,
                Self::Http { .. } => fault,
            }),
        }
    }
}

async fn on_mcp(server: &Connection, operation: &str, args: &Value) -> Result<Value, Trouble> {
    match operation {
        "mcp.tool" => {
            let Tool { name, arguments } = read(args).map_err(Trouble::Odd)?;
            mcp::tool(server, &name, arguments.as_ref()).await
        }
        "mcp.suggestion" => match suggestion(args).map_err(Trouble::Odd)? {
            Some(Suggestion { target, params }) => mcp::tool(server, &target, Some(&params)).await,
            None => Ok(Value::Null),
        },
        _ => {
            let McpRequest { method, params } = read(args).map_err(Trouble::Odd)?;
            Ok(mcp::request(server, &method, &params.unwrap_or_else(|| json!({}))).await?)
        }
    }
}

async fn on_http(
    server: &HttpServer,
    sockets: &Sockets,
    workspace: Option<&Path>,
    operation: &str,
    args: &Value,
) -> Result<Value, Trouble> {
    let odd = Trouble::Odd;
    match operation {
        "http.request" => http::ask(server, read::<HttpRequest>(args).map_err(odd)?).await,
        "file.read" => {
            let args: ReadFile = read(args).map_err(odd)?;
            files::read(workspace, server, &args).await.map_err(odd)
        }
        "ws.open" => {
            let args: OpenSocket = read(args).map_err(odd)?;
            let (socket, message) = socket::open(server, &args).await?;
            sockets.borrow_mut().insert(args.socket, Rc::new(Mutex::new(socket)));
            Ok(message)
        }
        "ws.until" => {
            let Until { socket, until, only } = read(args).map_err(odd)?;
            let socket = named(sockets, &socket)?;
            let messages =
                opened(&mut socket.lock().await.as_mut())?.until(&until, only.as_ref()).await?;
            Ok(Value::Array(messages))
        }
        "ws.take" => {
            let Take { socket, count, only } = read(args).map_err(odd)?;
            let socket = named(sockets, &socket)?;
            let messages =
                opened(&mut socket.lock().await.as_mut())?.take(count, only.as_ref()).await?;
            Ok(Value::Array(messages))
        }
        "ws.send" => {
            let Send { socket, text } = read(args).map_err(odd)?;
            let socket = named(sockets, &socket)?;
            opened(&mut socket.lock().await.as_mut())?.send(text).await?;
            Ok(Value::Null)
        }
        _ => {
            let CloseSocket { socket } = read(args).map_err(odd)?;
            let socket = named(sockets, &socket)?.lock().await.take();
            if let Some(socket) = socket {
                socket.close().await;
            }
            Ok(Value::Null)
        }
    }
}

fn named(sockets: &Sockets, name: &str) -> Result<Rc<Mutex<Option<Socket>>>, Trouble> {
    let none = || Trouble::Odd(format!("no socket `{name}` was opened"));
    sockets.borrow().get(name).cloned().ok_or_else(none)
}

fn opened<'a>(socket: &'a mut Option<&mut Socket>) -> Result<&'a mut Socket, Trouble> {
    socket.as_deref_mut().ok_or_else(|| Trouble::Odd("the socket is not open".to_owned()))
}
