//! A small API for adapters: one handler per operation, with separate sessions.
//!
//! ```no_run
//! use proofmark_protocol::{Adapter, Failure};
//! use serde_json::json;
//!
//! # async fn start() -> std::io::Result<()> {
//! Adapter::new("my-build", "1.0.0", "rust", |_open| Ok(()))
//!     .claims("my.notes")
//!     .on("notes.hash", async |_context, args| match args["text"].as_str() {
//!         Some(text) => Ok(json!(format!("… of {text}"))),
//!         None => Err(Failure::broken("`text` must be a string")),
//!     })
//!     .serve_stdio()
//!     .await
//! # }
//! ```

use std::collections::HashMap;
use std::io;
use std::pin::Pin;
use std::sync::Arc;

use serde_json::{Map, Value, json};
use tokio::io::{AsyncRead, AsyncWrite};

pub use crate::context::{Context, Fakes};
pub use crate::failure::Failure;
use crate::message::{
    Call, Close, Hello, HelloReply, Id, Incoming, MessageError, Open, RpcError, push_error,
    push_result,
};
use crate::outbox::{Outbox, Owed};
use crate::{FrameError, LineReader, MAX_LINE, PROTOCOL, stdio};

type Handling = Pin<Box<dyn Future<Output = Result<Value, Failure>> + Send>>;
type Handler<S> = Arc<dyn Fn(Context<S>, Value) -> Handling + Send + Sync>;
type Opening = Pin<Box<dyn Future<Output = Result<Value, String>> + Send>>;
type OnOpen<S> = Arc<dyn Fn(Arc<S>, Fakes) -> Opening + Send + Sync>;
type Opener<S> = Box<dyn Fn(&Open) -> Result<S, String> + Send + Sync>;

/// Builds an adapter: the subject's name, its claims, and a handler for each operation. `S` is the state of one
/// session.
pub struct Adapter<S> {
    about: HelloReply,
    open: Opener<S>,
    on_open: Option<OnOpen<S>>,
    /// By contract.
    servers: HashMap<String, OnOpen<S>>,
    handlers: HashMap<String, Handler<S>>,
}

impl<S: Send + Sync + 'static> Adapter<S> {
    /// `open` creates the state of a session from its script.
    pub fn new(
        name: &str,
        version: &str,
        language: &str,
        open: impl Fn(&Open) -> Result<S, String> + Send + Sync + 'static,
    ) -> Self {
        let about = HelloReply {
            protocol: PROTOCOL,
            name: name.to_owned(),
            version: version.to_owned(),
            language: language.to_owned(),
            contracts: Vec::new(),
            options: Map::new(),
            hooks: Vec::new(),
        };
        Self {
            about,
            open: Box::new(open),
            on_open: None,
            servers: HashMap::new(),
            handlers: HashMap::new(),
        }
    }

    /// Claims a contract: the harness runs its cases.
    #[must_use]
    pub fn claims(mut self, contract: &str) -> Self {
        self.about.contracts.push(contract.to_owned());
        self
    }

    /// Declares that the operations of a test hook are available.
    #[must_use]
    pub fn has_hook(mut self, hook: &str) -> Self {
        self.about.hooks.push(hook.to_owned());
        self
    }

    /// Withdraws all declared test hooks.
    #[must_use]
    pub fn without_hooks(mut self) -> Self {
        self.about.hooks.clear();
        self
    }

    /// Runs when any session opens, and returns the answer to `open`: for contracts with their own wire, the server
    /// that the harness talks to. Stop a server that you start here when the session's state is dropped. A later hook
    /// replaces an earlier one, and every [`Adapter::serves`] before it.
    #[must_use]
    pub fn on_open<F>(mut self, hook: impl Fn(Arc<S>, Fakes) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<Value, String>> + Send + 'static,
    {
        self.servers.clear();
        self.on_open = Some(opening(hook));
        self
    }

    /// As [`Adapter::on_open`], for the sessions of one contract: several contracts can have a server each.
    #[must_use]
    pub fn serves<F>(
        mut self,
        contract: &str,
        hook: impl Fn(Arc<S>, Fakes) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Result<Value, String>> + Send + 'static,
    {
        self.servers.insert(contract.to_owned(), opening(hook));
        self
    }

    /// Prepares each session of a contract just before its server starts. Does nothing for a contract without a
    /// server of its own.
    #[must_use]
    pub fn before_serving(
        mut self,
        contract: &str,
        prepare: impl Fn(&S) -> Result<(), String> + Send + Sync + 'static,
    ) -> Self {
        let prepare = Arc::new(prepare);
        if let Some(server) = self.servers.remove(contract) {
            return self.serves(contract, move |session, fakes| {
                let (prepare, server) = (Arc::clone(&prepare), Arc::clone(&server));
                async move {
                    prepare(&session)?;
                    server(session, fakes).await
                }
            });
        }
        self
    }

    /// The hook that answers `open`, if any.
    fn opening(&self, contract: Option<&str>) -> Option<&OnOpen<S>> {
        let server = contract.and_then(|contract| self.servers.get(contract));
        server.or(self.on_open.as_ref())
    }

    /// Answers an operation. A later handler for the same operation replaces the earlier one.
    #[must_use]
    pub fn on<F>(
        mut self,
        operation: &str,
        handler: impl Fn(Context<S>, Value) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Result<Value, Failure>> + Send + 'static,
    {
        let handler: Handler<S> = Arc::new(move |context, args| Box::pin(handler(context, args)));
        self.handlers.insert(operation.to_owned(), handler);
        self
    }

    /// The answer to `hello`.
    pub fn about(&self) -> &HelloReply {
        &self.about
    }

    /// The operations that have a handler, in the order of their names.
    pub fn operations(&self) -> Vec<String> {
        let mut names: Vec<String> = self.handlers.keys().cloned().collect();
        names.sort_unstable();
        names
    }

    /// Wraps the handler of an operation, so that `wrap` can change its input and output. Does nothing for an
    /// operation without a handler.
    #[must_use]
    pub fn around<F>(
        mut self,
        operation: &str,
        wrap: impl Fn(Context<S>, Value, Inner<S>) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Result<Value, Failure>> + Send + 'static,
    {
        if let Some(handler) = self.handlers.remove(operation) {
            return self.on(operation, move |context, args| {
                wrap(context, args, Inner(Arc::clone(&handler)))
            });
        }
        self
    }

    /// Serves on this process's stdin and stdout until `shutdown` or the end of input.
    pub async fn serve_stdio(self) -> io::Result<()> {
        let (input, output) = stdio::open()?;
        self.serve(input, output).await
    }

    /// Serves on any pair of streams until `shutdown` or the end of input.
    pub async fn serve(
        self,
        input: impl AsyncRead + Unpin,
        mut output: impl AsyncWrite + Unpin,
    ) -> io::Result<()> {
        let outbox = Arc::new(Outbox::default());
        let mut served =
            Served { adapter: self, sessions: HashMap::new(), outbox: Arc::clone(&outbox) };
        let mut lines = LineReader::new(input, MAX_LINE);
        let reading = async {
            loop {
                match lines.next_line().await {
                    Ok(Some(line)) => {
                        if served.take(line) == Next::Stop {
                            return Ok(());
                        }
                    }
                    Ok(None) | Err(FrameError::HalfALine { .. }) => return Ok(()),
                    Err(FrameError::Io(fault)) => return Err(fault),
                    Err(fault @ FrameError::TooLong { .. }) => {
                        return Err(io::Error::new(io::ErrorKind::InvalidData, fault.to_string()));
                    }
                }
            }
        };
        let mut writing = std::pin::pin!(outbox.pump(&mut output));
        let ended = tokio::select! {
            ended = reading => {
                // The answer to `shutdown` may not be written yet.
                outbox.finish();
                writing.await.and(ended)
            }
            lost = &mut writing => lost,
        };
        outbox.hang_up();
        ended
    }
}

fn opening<S, F>(hook: impl Fn(Arc<S>, Fakes) -> F + Send + Sync + 'static) -> OnOpen<S>
where
    F: Future<Output = Result<Value, String>> + Send + 'static,
{
    Arc::new(move |state, fakes| Box::pin(hook(state, fakes)))
}

/// The handler that [`Adapter::around`] wraps.
pub struct Inner<S>(Handler<S>);

impl<S> Inner<S> {
    pub async fn call(&self, context: Context<S>, args: Value) -> Result<Value, Failure> {
        (self.0)(context, args).await
    }
}

#[derive(PartialEq)]
enum Next {
    GoOn,
    Stop,
}

struct Served<S> {
    adapter: Adapter<S>,
    sessions: HashMap<String, Arc<S>>,
    outbox: Arc<Outbox>,
}

impl<S: Send + Sync + 'static> Served<S> {
    fn take(&mut self, line: &[u8]) -> Next {
        match Incoming::parse(line) {
            Ok(Incoming::Request { id, method, params }) => {
                return self.request(id, &method, params);
            }
            Ok(Incoming::Answer { id, outcome }) => self.outbox.end_ask(&id, outcome),
            Ok(Incoming::Notification { .. }) => {}
            Err(fault) => {
                let code = match fault {
                    MessageError::NotJson { .. } => RpcError::PARSE,
                    MessageError::NotAMessage { .. } => RpcError::INVALID_REQUEST,
                };
                let error = RpcError::new(code, fault.to_string());
                self.outbox.push(|out| push_error(out, None, &error));
            }
        }
        Next::GoOn
    }

    fn request(&mut self, id: Id, method: &str, params: Value) -> Next {
        let answer = match method {
            "hello" => self.hello(params),
            "open" => match self.open(&id, params) {
                Ok(None) => return Next::GoOn,
                Ok(Some(answer)) => Ok(answer),
                Err(error) => Err(error),
            },
            "call" => match self.call(&id, params) {
                Ok(()) => return Next::GoOn,
                Err(error) => Err(error),
            },
            "close" => parsed::<Close>(params).and_then(|close| {
                match self.sessions.remove(&close.session) {
                    Some(_) => Ok(Value::Null),
                    None => Err(no_session(&close.session)),
                }
            }),
            "shutdown" => Ok(Value::Null),
            other => Err(RpcError::new(RpcError::NOT_IMPLEMENTED, format!("no method `{other}`"))),
        };
        self.outbox.push(|out| match &answer {
            Ok(result) => push_result(out, &id, result),
            Err(error) => push_error(out, Some(&id), error),
        });
        if method == "shutdown" { Next::Stop } else { Next::GoOn }
    }

    fn hello(&self, params: Value) -> Result<Value, RpcError> {
        let hello: Hello = parsed(params)?;
        if hello.protocol != PROTOCOL {
            let message = format!(
                "protocol {} is not spoken here; this adapter speaks {PROTOCOL}",
                hello.protocol
            );
            return Err(RpcError::new(RpcError::INVALID_PARAMS, message));
        }
        serde_json::to_value(&self.adapter.about)
            .map_err(|fault| RpcError::new(RpcError::ADAPTER, fault.to_string()))
    }

    /// Opens a session. Returns `None` if the answer comes later.
    fn open(&mut self, id: &Id, params: Value) -> Result<Option<Value>, RpcError> {
        let open: Open = parsed(params)?;
        if self.sessions.contains_key(&open.session) {
            return Err(RpcError::new(
                RpcError::INVALID_PARAMS,
                format!("session `{}` is open already", open.session),
            ));
        }
        let state =
            (self.adapter.open)(&open).map_err(|fault| RpcError::new(RpcError::ADAPTER, fault))?;
        let state = Arc::new(state);
        let fakes = Fakes::new(&open.session, Arc::clone(&self.outbox));
        self.sessions.insert(open.session, Arc::clone(&state));
        let Some(on_open) = self.adapter.opening(open.contract.as_deref()) else {
            return Ok(Some(json!({})));
        };
        let (opening, outbox, id) = (on_open(state, fakes), Arc::clone(&self.outbox), id.clone());
        tokio::spawn(async move {
            let answer = opening.await;
            outbox.push(|out| match &answer {
                Ok(answer) => push_result(out, &id, answer),
                Err(message) => {
                    push_error(out, Some(&id), &RpcError::new(RpcError::ADAPTER, message))
                }
            });
        });
        Ok(None)
    }

    fn call(&self, id: &Id, params: Value) -> Result<(), RpcError> {
        let call: Call = parsed(params)?;
        let state = self.sessions.get(&call.session).ok_or_else(|| no_session(&call.session))?;
        let handler = self.adapter.handlers.get(&call.operation).ok_or_else(|| {
            RpcError::new(
                RpcError::NOT_IMPLEMENTED,
                format!("operation `{}` is not implemented", call.operation),
            )
        })?;
        let owed = Owed { outbox: Arc::clone(&self.outbox), id: Some(id.clone()) };
        let fakes = Fakes::new(&call.session, Arc::clone(&self.outbox));
        let context = Context::new(Arc::clone(state), fakes, id.clone());
        let handling = handler(context, call.args);
        tokio::spawn(async move { owed.pay(handling.await) });
        Ok(())
    }
}

fn no_session(name: &str) -> RpcError {
    RpcError::new(RpcError::INVALID_PARAMS, format!("session `{name}` is not open"))
}

fn parsed<T: serde::de::DeserializeOwned>(params: Value) -> Result<T, RpcError> {
    serde_json::from_value(params)
        .map_err(|fault| RpcError::new(RpcError::INVALID_PARAMS, fault.to_string()))
}
