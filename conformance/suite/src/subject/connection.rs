//! The connection to one process of the subject: sends requests, matches answers by id, serves fakes.
//!
//! Everything here runs on one thread, so state is in cells and needs no locks. A fault ends the connection: every
//! pending request gets the fault, and the process is killed.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::pin::pin;
use std::rc::Rc;
use std::time::Duration;

use proofmark_protocol::message::{
    FakeCall, push_error, push_notification, push_request, push_result,
};
use proofmark_protocol::{Hello, HelloReply, Id, Incoming, PROTOCOL, Party, RpcError};
use serde::Serialize;
use serde_json::{Value, json};
use tokio::sync::{Notify, oneshot};
use tokio::time::Instant;

use super::host::SessionHost;
use super::process::{Process, StartError};
use super::servers::Servers;
use super::stream::Streams;
use super::work::Group;
use super::{Patience, SubjectCommand, pump};
use proofmark_judge::Fault;

/// The most bytes that may wait for a subject that does not read.
const MOST_UNREAD: usize = 64 * 1024 * 1024;

pub(super) type RpcResult = Result<Value, RpcError>;

pub struct Connection {
    shared: Rc<Shared>,
    process: RefCell<Option<Process>>,
    pub hello: HelloReply,
    patience: Patience,
    /// The servers that this adapter named, by the command that starts them.
    servers: Servers,
}

/// The protocol of the other side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Dialect {
    Adapter,
    /// Gets no `shutdown`, and calls no fakes.
    Mcp,
}

pub(super) struct Shared {
    dialect: Dialect,
    pub(super) out: RefCell<Vec<u8>>,
    pub(super) filled: Notify,
    next_id: Cell<i64>,
    waiting: RefCell<HashMap<i64, oneshot::Sender<Result<RpcResult, Fault>>>>,
    streams: RefCell<Streams>,
    /// A session called fakes too often.
    flooded: Cell<bool>,
    last_answer: Cell<Instant>,
    sessions: RefCell<HashMap<String, Rc<SessionHost>>>,
    pub(super) fault: RefCell<Option<Fault>>,
    /// Sessions were open when the fault occurred.
    witnessed: Cell<bool>,
    /// The current phase, for the message of a fault outside any request.
    pub(super) during: Cell<&'static str>,
}

impl Connection {
    /// Starts a process and sends `hello`. The outer error means that it could not be started.
    pub async fn open(
        command: &SubjectCommand,
        patience: Patience,
    ) -> Result<Result<Self, (Fault, Vec<String>)>, StartError> {
        let mut connection =
            Self::begin(command, patience, Dialect::Adapter, "before it answered `hello`")?;
        let greeting = Hello {
            protocol: PROTOCOL,
            harness: Party {
                name: "proofmark".to_owned(),
                version: env!("CARGO_PKG_VERSION").to_owned(),
            },
        };
        let said = connection.request("hello", "hello", &greeting, patience.start).await;
        match said.and_then(greeted) {
            Ok(hello) => {
                connection.hello = hello;
                connection.shared.during.set("while it was needed");
                Ok(Ok(connection))
            }
            Err(fault) => {
                let fault = connection.refine(fault).await;
                let lines = connection.stderr();
                connection.kill().await;
                Ok(Err((fault, lines)))
            }
        }
    }

    /// Starts an MCP server without sending anything yet.
    pub fn to_mcp_server(command: &SubjectCommand, patience: Patience) -> Result<Self, StartError> {
        Self::begin(command, patience, Dialect::Mcp, "while it was needed")
    }

    fn begin(
        command: &SubjectCommand,
        patience: Patience,
        dialect: Dialect,
        during: &'static str,
    ) -> Result<Self, StartError> {
        let (process, stdin, stdout) = Process::start(command)?;
        let shared = Rc::new(Shared {
            dialect,
            out: RefCell::default(),
            filled: Notify::new(),
            next_id: Cell::new(0),
            waiting: RefCell::default(),
            streams: RefCell::default(),
            flooded: Cell::new(false),
            last_answer: Cell::new(Instant::now()),
            sessions: RefCell::default(),
            fault: RefCell::default(),
            witnessed: Cell::new(false),
            during: Cell::new(during),
        });
        tokio::task::spawn_local(pump::write_out(Rc::clone(&shared), stdin));
        tokio::task::spawn_local(pump::read_in(Rc::clone(&shared), stdout));
        Ok(Self {
            shared,
            process: RefCell::new(Some(process)),
            hello: nobody(),
            patience,
            servers: Servers::default(),
        })
    }

    pub fn patience(&self) -> Patience {
        self.patience
    }

    /// The server that this adapter named by a command, started if necessary.
    pub async fn server(&self, command: &SubjectCommand) -> Result<Rc<Self>, Fault> {
        let server = self.servers.get(command, self.patience).await?;
        match self.fault() {
            None => Ok(server),
            // The adapter has exited meanwhile, and its servers end with it.
            Some(fault) => {
                server.kill().await;
                Err(fault)
            }
        }
    }

    /// Sends a notification.
    pub fn notify(&self, method: &str, params: &Value) {
        push_notification(&mut self.shared.out.borrow_mut(), method, params);
        self.shared.filled.notify_one();
    }

    /// Sends a request and waits for its answer. `what` is its name in messages.
    pub async fn request(
        &self,
        what: &str,
        method: &str,
        params: &impl Serialize,
        patience: Duration,
    ) -> Result<RpcResult, Fault> {
        let id = self.new_id();
        self.send(id, what, method, params, patience).await
    }

    fn new_id(&self) -> i64 {
        let id = self.shared.next_id.get();
        self.shared.next_id.set(id + 1);
        id
    }

    async fn send(
        &self,
        id: i64,
        what: &str,
        method: &str,
        params: &impl Serialize,
        patience: Duration,
    ) -> Result<RpcResult, Fault> {
        if let Some(fault) = self.shared.fault.borrow().clone() {
            return Err(fault);
        }
        let (sender, receiver) = oneshot::channel();
        self.shared.waiting.borrow_mut().insert(id, sender);
        push_request(&mut self.shared.out.borrow_mut(), &Id::Number(id), method, params);
        self.shared.filled.notify_one();
        let sent = Instant::now();
        let mut receiver = pin!(receiver);
        let mut limits = 1;
        loop {
            // A subject may take one request after the other. As long as it answers others, it does not hang.
            let quiet_since = sent.max(self.shared.last_answer.get());
            match tokio::time::timeout_at(quiet_since + patience * limits, &mut receiver).await {
                Ok(Ok(answer)) => return answer,
                Ok(Err(_)) => {
                    let fault = self.shared.fault.borrow().clone();
                    return Err(fault.unwrap_or_else(|| self.shared.ended()));
                }
                Err(_) if self.shared.last_answer.get() > quiet_since => limits = 1,
                Err(_) if self.group().may_go_on(limits) => limits += 1,
                Err(_) => return Err(self.unanswered(what, patience)),
            }
        }
    }

    /// The processes of the subject; none once it has ended.
    pub fn group(&self) -> Group {
        self.process.borrow().as_ref().map(Process::group).unwrap_or_default()
    }

    /// Ends the connection of a process that hangs.
    fn unanswered(&self, what: &str, patience: Duration) -> Fault {
        // A child may keep stdout open after the subject has exited.
        let ended = self.process.borrow_mut().as_mut().and_then(Process::has_ended);
        let during = || format!("before it answered `{what}`");
        let fault = match ended {
            Some(status) => Fault::Exited { status, during: during() },
            None => Fault::NoAnswer {
                to: what.to_owned(),
                after_ms: u64::try_from(patience.as_millis()).unwrap_or(u64::MAX),
            },
        };
        self.shared.fail(fault)
    }

    pub async fn call(
        &self,
        what: &str,
        method: &str,
        params: &impl Serialize,
    ) -> Result<RpcResult, Fault> {
        self.request(what, method, params, self.patience.call).await
    }

    /// Calls one operation. Returns its answer, and the items that it streamed before.
    pub async fn operate(
        &self,
        session: &str,
        operation: &str,
        args: &Value,
    ) -> Result<(RpcResult, Vec<Value>), Fault> {
        let id = self.new_id();
        self.shared.streams.borrow_mut().open(id, session);
        // Borrowed, so that large arguments are never copied.
        let params = CallRef { session, operation, args };
        let answer = self.send(id, operation, "call", &params, self.patience.call).await;
        let items = self.shared.streams.borrow_mut().close(id);
        answer.map(|answer| (answer, items))
    }

    pub(crate) fn attach(&self, session: &str, host: Rc<SessionHost>) {
        self.shared.sessions.borrow_mut().insert(session.to_owned(), host);
    }

    pub fn detach(&self, session: &str) {
        self.shared.sessions.borrow_mut().remove(session);
    }

    pub fn is_alive(&self) -> bool {
        self.shared.fault.borrow().is_none()
    }

    /// The fault that ended the connection, if it has ended.
    pub fn fault(&self) -> Option<Fault> {
        self.shared.fault.borrow().clone()
    }

    /// Whether a case was in flight when the connection ended; that case reports the fault.
    pub fn has_witness(&self) -> bool {
        self.shared.witnessed.get()
    }

    /// The last lines of stderr, of the process and its servers.
    pub fn stderr(&self) -> Vec<String> {
        let process = self.process.borrow();
        let own = process.as_ref().map(|process| process.stderr.borrow().snapshot());
        let mut lines = own.unwrap_or_default();
        lines.append(&mut self.servers.stderr());
        lines
    }

    /// Refines the fault of a closed pipe: if the process has exited, says how.
    pub async fn refine(&self, fault: Fault) -> Fault {
        let (Fault::ClosedStdout { during } | Fault::ClosedStdin { during }) = &fault else {
            return fault;
        };
        let Some(mut process) = self.process.borrow_mut().take() else {
            return fault;
        };
        let ended = tokio::time::timeout(Duration::from_millis(200), process.ended()).await;
        let refined = match ended {
            Ok(status) => Fault::Exited { status, during: during.clone() },
            Err(_) => fault,
        };
        *self.process.borrow_mut() = Some(process);
        refined
    }

    /// Sends SIGKILL to the whole process group. Returns the earlier fault, if any.
    pub async fn kill(&self) -> Option<Fault> {
        let before = self.shared.fault.borrow().clone();
        self.shared.fail(Fault::Exited {
            status: "on signal 9".to_owned(),
            during: "because the harness killed it".to_owned(),
        });
        let process = self.process.borrow_mut().take();
        if let Some(process) = process {
            process.kill().await;
        }
        self.servers.kill().await;
        before
    }

    /// Sends `shutdown` and closes stdin. Returns a fault if the subject does not exit cleanly.
    pub async fn shutdown(&self) -> Option<Fault> {
        // Its servers first, since they may still use it.
        let of_servers = self.servers.shutdown().await;
        self.shared.during.set("before it answered `shutdown`");
        let answered = match self.shared.dialect {
            Dialect::Adapter => {
                self.request("shutdown", "shutdown", &json!({}), self.patience.end).await
            }
            Dialect::Mcp => Ok(Ok(Value::Null)),
        };
        self.shared.fail(Fault::ClosedStdin { during: "at its end".to_owned() });
        let process = self.process.borrow_mut().take()?;
        let fault = of_servers.or(process.end(self.patience.end).await);
        match answered {
            Ok(_) | Err(Fault::ClosedStdout { .. } | Fault::ClosedStdin { .. }) => fault,
            Err(other) => fault.or(Some(other)),
        }
    }
}

#[derive(Serialize)]
struct CallRef<'a> {
    session: &'a str,
    operation: &'a str,
    args: &'a Value,
}

fn nobody() -> HelloReply {
    HelloReply {
        protocol: PROTOCOL,
        name: String::new(),
        version: String::new(),
        language: String::new(),
        contracts: Vec::new(),
        options: serde_json::Map::new(),
        hooks: Vec::new(),
    }
}

fn greeted(answer: RpcResult) -> Result<HelloReply, Fault> {
    let bad = |message: String| Fault::BadAnswer { to: "hello".to_owned(), message };
    let value = answer.map_err(|error| bad(error.to_string()))?;
    // Check the version first: another version may have other members.
    if let Some(spoken) = value["protocol"].as_u64().filter(|spoken| *spoken != PROTOCOL) {
        return Err(Fault::WrongVersion { spoken });
    }
    serde_json::from_value(value).map_err(|fault| bad(fault.to_string()))
}

impl Shared {
    pub(super) fn ended(&self) -> Fault {
        Fault::ClosedStdout { during: self.during.get().to_owned() }
    }

    /// Ends the connection; only the first fault counts.
    pub(super) fn fail(&self, fault: Fault) -> Fault {
        if self.fault.borrow().is_none() {
            self.witnessed.set(!self.sessions.borrow().is_empty());
        }
        let first = self.fault.borrow_mut().get_or_insert(fault).clone();
        for (_, sender) in self.waiting.borrow_mut().drain() {
            // The receiver may be gone.
            let _gone = sender.send(Err(first.clone()));
        }
        self.filled.notify_one();
        first
    }

    pub(super) fn take(&self, line: &[u8]) -> Result<(), Fault> {
        match Incoming::parse(line).map_err(|fault| super::fault::of_message(&fault))? {
            Incoming::Answer { id, outcome } => self.answered(id, outcome),
            Incoming::Request { id, method, params } => self.asked(&id, &method, params),
            Incoming::Notification { method, params }
                if method == "event" && self.dialect == Dialect::Adapter =>
            {
                self.streams.borrow_mut().take(params, line.len())
            }
            // Ignore unknown notifications: a newer subject may send them.
            Incoming::Notification { .. } => Ok(()),
        }
    }

    fn answered(&self, id: Id, outcome: RpcResult) -> Result<(), Fault> {
        let Id::Number(number) = id else {
            let Id::Text(id) = id else { return Ok(()) };
            return Err(Fault::UnknownId { id: format!("{id:?}") });
        };
        match self.waiting.borrow_mut().remove(&number) {
            Some(sender) => {
                self.last_answer.set(Instant::now());
                // The receiver may be gone, if the connection has ended.
                let _gone = sender.send(Ok(outcome));
                Ok(())
            }
            None if (0..self.next_id.get()).contains(&number) => {
                Err(Fault::AnsweredTwice { id: number.to_string() })
            }
            None => Err(Fault::UnknownId { id: number.to_string() }),
        }
    }

    /// The subject calls a fake.
    fn asked(&self, id: &Id, method: &str, params: Value) -> Result<(), Fault> {
        let answers = self.play(id, method, params);
        let mut out = self.out.borrow_mut();
        for (id, answer) in &answers {
            match answer {
                Ok(reply) => push_result(&mut out, id, reply),
                Err(error) => push_error(&mut out, Some(id), error),
            }
        }
        self.filled.notify_one();
        if self.flooded.get() || out.len() > MOST_UNREAD { Err(Fault::Flooded) } else { Ok(()) }
    }

    /// The answers that are due now: to this request, unless its fake delays it, and to the requests that it releases.
    fn play(&self, id: &Id, method: &str, params: Value) -> Vec<(Id, RpcResult)> {
        let refused = |code, message: String| vec![(id.clone(), Err(RpcError::new(code, message)))];
        if self.dialect == Dialect::Mcp {
            return match method {
                "ping" => vec![(id.clone(), Ok(json!({})))],
                other => refused(
                    RpcError::NOT_IMPLEMENTED,
                    format!("the harness does not support `{other}`"),
                ),
            };
        }
        if method != "fake" {
            let message =
                format!("the harness has no method `{method}`; a subject may send `fake`");
            return refused(RpcError::NOT_IMPLEMENTED, message);
        }
        let call: FakeCall = match serde_json::from_value(params) {
            Ok(call) => call,
            Err(fault) => return refused(RpcError::INVALID_PARAMS, fault.to_string()),
        };
        let sessions = self.sessions.borrow();
        let Some(session) = sessions.get(&call.session) else {
            let message = format!("session `{}` is not open", call.session);
            return refused(RpcError::INVALID_PARAMS, message);
        };
        let answers = session.play(id, call);
        self.flooded.set(session.is_flooded());
        answers
    }
}
