//! The context of a handler: its session's state, and access to the harness.

use std::sync::Arc;

use serde_json::Value;

use crate::failure::Failure;
use crate::message::{Event, FakeCall, Id, Reply, push_notification, push_request};
use crate::outbox::Outbox;

type OnEmit = Arc<dyn Fn(Value) -> Vec<Value> + Send + Sync>;
type OnAsk = Arc<dyn Fn(&str, &str, &Value) -> Option<Result<Value, Failure>> + Send + Sync>;

/// Calls the fakes of one session, which the harness plays. It outlives calls: a server may call fakes at any time.
#[derive(Clone)]
pub struct Fakes {
    session: Arc<str>,
    outbox: Arc<Outbox>,
}

impl Fakes {
    pub(crate) fn new(session: &str, outbox: Arc<Outbox>) -> Self {
        Self { session: session.into(), outbox }
    }

    /// Calls a fake.
    pub async fn ask(&self, fake: &str, method: &str, args: Value) -> Result<Value, Failure> {
        let (id, receiver) = self.outbox.begin_ask();
        let request = FakeCall {
            session: self.session.to_string(),
            fake: fake.to_owned(),
            method: method.to_owned(),
            args,
        };
        self.outbox.push(|out| push_request(out, &Id::Number(id), "fake", &request));
        let outcome = receiver.await.map_err(|_| Failure::broken("the harness went away"))?;
        match serde_json::from_value(outcome.map_err(Failure::Adapter)?) {
            Ok(Reply::Value(value)) => Ok(value),
            Ok(Reply::Error(error)) => Err(Failure::Contract(error)),
            Err(fault) => Err(Failure::broken(format!(
                "the answer of fake `{fake}` is not a valid reply: {fault}"
            ))),
        }
    }
}

/// The context of one call.
pub struct Context<S> {
    state: Arc<S>,
    fakes: Fakes,
    call: Id,
    on_emit: Option<OnEmit>,
    on_ask: Option<OnAsk>,
}

impl<S> Clone for Context<S> {
    fn clone(&self) -> Self {
        Self {
            state: Arc::clone(&self.state),
            fakes: self.fakes.clone(),
            call: self.call.clone(),
            on_emit: self.on_emit.clone(),
            on_ask: self.on_ask.clone(),
        }
    }
}

impl<S> Context<S> {
    pub(crate) fn new(state: Arc<S>, fakes: Fakes, call: Id) -> Self {
        Self { state, fakes, call, on_emit: None, on_ask: None }
    }

    pub fn state(&self) -> &Arc<S> {
        &self.state
    }

    /// The name of the session, as the harness gave it.
    pub fn session(&self) -> &str {
        &self.fakes.session
    }

    /// For a wrapped handler ([`Adapter::around`](crate::Adapter::around)): passes each item to `change` first, and
    /// sends its result instead.
    #[must_use]
    pub fn changing_items(
        self,
        change: impl Fn(Value) -> Vec<Value> + Send + Sync + 'static,
    ) -> Self {
        let Some(outer) = self.on_emit.clone() else {
            return Self { on_emit: Some(Arc::new(change)), ..self };
        };
        let both = move |item| change(item).into_iter().flat_map(|item| outer(item)).collect();
        Self { on_emit: Some(Arc::new(both)), ..self }
    }

    /// For a wrapped handler: passes each call of a fake (fake, method, arguments) to `answer` first. Calls that it
    /// answers do not reach the harness.
    #[must_use]
    pub fn answering(
        self,
        answer: impl Fn(&str, &str, &Value) -> Option<Result<Value, Failure>> + Send + Sync + 'static,
    ) -> Self {
        let Some(outer) = self.on_ask.clone() else {
            return Self { on_ask: Some(Arc::new(answer)), ..self };
        };
        let both = move |fake: &str, method: &str, args: &Value| {
            answer(fake, method, args).or_else(|| outer(fake, method, args))
        };
        Self { on_ask: Some(Arc::new(both)), ..self }
    }

    /// Calls a fake.
    pub async fn ask(&self, fake: &str, method: &str, args: Value) -> Result<Value, Failure> {
        if let Some(answer) = self.on_ask.as_ref().and_then(|answer| answer(fake, method, &args)) {
            return answer;
        }
        self.fakes.ask(fake, method, args).await
    }

    /// Sends an item of this call's stream or log.
    pub fn emit(&self, item: Value) {
        let items = match &self.on_emit {
            Some(change) => change(item),
            None => vec![item],
        };
        for item in items {
            let session = self.fakes.session.to_string();
            let event = Event { session, call: self.call.clone(), item };
            self.fakes.outbox.push(|out| push_notification(out, "event", &event));
        }
    }
}
