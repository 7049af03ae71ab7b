//! The driver of `runs`: a server for each session, in this process, with the harness as the provider of its agents.

use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex, PoisonError};

use agent_runs::{
    Engine, Flush, Forward, Item, Policy, Provider, ProviderFault, Rules, Settings, TurnAsk,
};
use axum::Router;
use futures::future::BoxFuture;
use jiff::Timestamp;
use proofmark_protocol::{Failure, Fakes, Open};
use proofmark_room::{Session, State, Subject};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::oneshot;

use crate::CONTRACT;
use crate::both::Both;

pub(crate) fn operations(subject: Subject) -> Subject {
    let subject = subject.claims(CONTRACT).has_hook("runs.patch").has_hook("runs.provider");
    subject.serves(CONTRACT, |session, fakes| async move { open(&session, fakes).await })
}

/// The reference with other rules for its runs.
pub(crate) fn under_rules(subject: Subject, rules: Arc<dyn Policy>) -> Subject {
    behind(subject, rules, |endpoints| endpoints)
}

/// The same, with layers around its endpoints. What changed the subject before stays: see [`Both`].
pub(crate) fn behind(subject: Subject, rules: Arc<dyn Policy>, layers: Layers) -> Subject {
    subject.before_serving(CONTRACT, move |session| {
        let changes = session.state::<Changes>().map_err(|_| "the session cannot keep changes")?;
        changes.0.lock().unwrap_or_else(PoisonError::into_inner).push((Arc::clone(&rules), layers));
        Ok(())
    })
}

/// What is different in this session's server. The outermost change comes first.
#[derive(Default)]
struct Changes(Mutex<Vec<(Arc<dyn Policy>, Layers)>>);

type Layers = fn(Router) -> Router;

impl State for Changes {
    fn open(_: &Open) -> Result<Self, Failure> {
        Ok(Self::default())
    }
}

impl Changes {
    fn policy(&self) -> Arc<dyn Policy> {
        let changes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let rules = changes.iter().map(|(rules, _)| Arc::clone(rules));
        rules.reduce(|one, other| Arc::new(Both(one, other))).unwrap_or_else(|| Arc::new(Rules))
    }

    fn layer(&self, endpoints: Router) -> Router {
        let changes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        changes.iter().fold(endpoints, |endpoints, (_, layers)| layers(endpoints))
    }
}

/// Stops the session's server when the session is dropped.
#[derive(Default)]
struct Serving(Mutex<Option<oneshot::Sender<()>>>);

impl State for Serving {
    fn open(_: &Open) -> Result<Self, Failure> {
        Ok(Self::default())
    }
}

/// Starts the server of a session and returns its address. The server stops when the session is dropped.
async fn open(session: &Session, fakes: Fakes) -> Result<Value, String> {
    let changes = session.state::<Changes>().map_err(|_| "the session cannot keep changes")?;
    let script = session.script();
    let folder = script.workspace.as_ref().ok_or("the server needs a workspace for its runs")?;
    let now: Timestamp = script
        .clock
        .start
        .parse()
        .map_err(|fault| format!("`clock.start` is not a time: {fault}"))?;
    let provider = Arc::new(HarnessProvider { fakes });
    let settings = Settings {
        policy: changes.policy(),
        // The harness kills the process, never the machine, so data need not reach the disk.
        flush: Flush::System,
        ..Settings::new(provider, Arc::new(move || now))
    };
    let engine = Engine::open(folder, settings).await.map_err(|fault| fault.to_string())?;
    let bound = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await;
    let listener = bound.map_err(|fault| format!("cannot bind a port: {fault}"))?;
    let address = listener.local_addr().map_err(|fault| fault.to_string())?;
    let (serving, dropped) = oneshot::channel::<()>();
    let kept = session.state::<Serving>().map_err(|_| "the session cannot keep its server")?;
    *kept.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(serving);
    let until = async {
        // Either a message or a dropped sender stops the server.
        let _end = dropped.await;
    };
    let endpoints = changes.layer(agent_runs::router(Arc::clone(&engine)));
    tokio::spawn(agent_runs::serve_router(engine, endpoints, listener, until));
    Ok(json!({ "wire": { "http": { "base": format!("http://{address}") } } }))
}

/// A provider played by the harness.
struct HarnessProvider {
    fakes: Fakes,
}

impl HarnessProvider {
    async fn ask(&self, method: &str, args: Value) -> Result<Value, ProviderFault> {
        self.fakes.ask("provider", method, args).await.map_err(|failure| match failure {
            Failure::Contract(error) => {
                let message = error.get("message").and_then(Value::as_str);
                ProviderFault(message.unwrap_or_default().to_owned())
            }
            Failure::Adapter(error) => ProviderFault(error.message),
        })
    }
}

impl Provider for HarnessProvider {
    fn turn(&self, ask: TurnAsk) -> BoxFuture<'_, Result<String, ProviderFault>> {
        Box::pin(async move {
            let answer = self.ask("turn", json!(ask)).await?;
            let turn = answer["turn"].as_str();
            turn.map(str::to_owned).ok_or_else(|| unplayable("turn", &answer))
        })
    }

    fn next<'a>(&'a self, turn: &'a str) -> BoxFuture<'a, Result<Item, ProviderFault>> {
        Box::pin(async move {
            let answer = self.ask("next", json!({ "turn": turn })).await?;
            serde_json::from_value(answer.clone()).map_err(|_| unplayable("item", &answer))
        })
    }

    fn resolve<'a>(
        &'a self,
        turn: &'a str,
        forward: Forward,
    ) -> BoxFuture<'a, Result<(), ProviderFault>> {
        Box::pin(async move {
            let mut args = json!(forward);
            args["turn"] = turn.into();
            self.ask("resolve", args).await.map(drop)
        })
    }

    fn stop<'a>(&'a self, turn: &'a str) -> BoxFuture<'a, Result<(), ProviderFault>> {
        Box::pin(async move { self.ask("stop", json!({ "turn": turn })).await.map(drop) })
    }
}

fn unplayable(what: &str, answer: &Value) -> ProviderFault {
    ProviderFault(format!("the answer of fake `provider` is not a valid {what}: {answer}"))
}
