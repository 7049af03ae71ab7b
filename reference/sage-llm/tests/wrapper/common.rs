//! A provider and a tool runner that play scripts, and write down what they are asked.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use futures::{FutureExt as _, Stream, StreamExt as _};
use sage_llm::{
    ChatOptions, ChatStream, Error, Llm, Model, Provider, Reply, Settings, StreamEvent, ToolRunner,
};
use sage_utils::{BoxFuture, err};
use serde_json::{Value, json};

/// What a provider does when it is asked.
#[derive(Debug, Clone)]
pub(crate) enum Turn {
    Text(String),
    Events(Vec<Step>),
    Fails(Error),
    Stalls,
}

/// What a stream does when it is pulled.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    Event(StreamEvent),
    Fails(Error),
    Stalls,
}

/// A turn that sends these events, given as JSON.
pub(crate) fn events(events: &[Value]) -> Turn {
    Turn::Events(events.iter().map(|event| Step::Event(event_of(event))).collect())
}

pub(crate) fn event_of(value: &Value) -> StreamEvent {
    StreamEvent::from_json(value.clone()).unwrap()
}

pub(crate) fn text(value: &str) -> Value {
    json!({ "type": "text", "value": value })
}

pub(crate) fn call(id: &str, tool: &str, arguments: Value) -> Value {
    json!({ "type": "tool_call", "toolName": tool, "arguments": arguments, "callId": id })
}

pub(crate) fn result(id: &str, result: Value) -> Value {
    json!({ "type": "tool_result", "callId": id, "result": result })
}

pub(crate) fn end() -> Value {
    json!({ "type": "end" })
}

pub(crate) fn usage(prompt: u64, completion: u64) -> Value {
    json!({ "type": "end", "usage": { "prompt": prompt, "completion": completion } })
}

/// What happened, in order.
pub(crate) type Log = Arc<Mutex<Vec<String>>>;

#[derive(Clone, Default)]
pub(crate) struct Scripted {
    name: String,
    turns: Arc<Mutex<VecDeque<Turn>>>,
    pub(crate) log: Log,
    /// The options of every call.
    pub(crate) asked: Arc<Mutex<Vec<Value>>>,
    pub(crate) pulled: Arc<Mutex<u64>>,
    /// Streams that were given and not let go.
    pub(crate) open: Arc<Mutex<u64>>,
}

impl Scripted {
    pub(crate) fn new(turns: impl IntoIterator<Item = Turn>) -> Self {
        Self::named("scripted", turns)
    }

    pub(crate) fn named(name: &str, turns: impl IntoIterator<Item = Turn>) -> Self {
        Self {
            name: name.to_owned(),
            turns: Arc::new(Mutex::new(turns.into_iter().collect())),
            ..Self::default()
        }
    }

    pub(crate) fn calls(&self) -> Vec<String> {
        self.log.lock().unwrap().clone()
    }
}

impl Provider for Scripted {
    fn name(&self) -> &str {
        &self.name
    }

    fn chat(&self, options: ChatOptions) -> BoxFuture<'_, Result<Reply, Error>> {
        self.log.lock().unwrap().push("chat".to_owned());
        self.asked.lock().unwrap().push(serde_json::to_value(&options).unwrap());
        let turn = self.turns.lock().unwrap().pop_front().expect("the script has another turn");
        let playing = |steps| {
            *self.open.lock().unwrap() += 1;
            Playing { steps, provider: self.clone(), ended: false, done: false }
        };
        match turn {
            Turn::Text(text) => async { Ok(Reply::Text(text)) }.boxed(),
            Turn::Events(steps) => {
                let stream = playing(VecDeque::from(steps)).boxed();
                async { Ok(Reply::Stream(stream)) }.boxed()
            }
            Turn::Fails(error) => async { Err(error) }.boxed(),
            Turn::Stalls => futures::future::pending().boxed(),
        }
    }

    fn models(&self) -> BoxFuture<'_, Result<Vec<Model>, Error>> {
        async { Ok(vec![Model { name: format!("model of {}", self.name) }]) }.boxed()
    }
}

/// A stream that notes when it is dropped before it has said `end` or is over.
struct Playing {
    steps: VecDeque<Step>,
    provider: Scripted,
    ended: bool,
    done: bool,
}

impl Stream for Playing {
    type Item = Result<StreamEvent, Error>;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        assert!(!self.done, "a stream that is done is not pulled again");
        match self.steps.pop_front() {
            Some(Step::Event(event)) => {
                *self.provider.pulled.lock().unwrap() += 1;
                self.ended |= matches!(event, StreamEvent::End { .. });
                Poll::Ready(Some(Ok(event)))
            }
            Some(Step::Fails(error)) => {
                self.done = true;
                Poll::Ready(Some(Err(error)))
            }
            Some(Step::Stalls) => {
                self.steps.push_front(Step::Stalls);
                Poll::Pending
            }
            None => {
                self.done = true;
                Poll::Ready(None)
            }
        }
    }
}

impl Drop for Playing {
    fn drop(&mut self) {
        *self.provider.open.lock().unwrap() -= 1;
        if !self.done && !self.ended {
            self.provider.log.lock().unwrap().push("stop".to_owned());
        }
    }
}

/// Tools: `Echo` gives its input back, `Throw` fails, `Stall` never answers.
pub(crate) struct Tools {
    pub(crate) log: Log,
}

impl ToolRunner for Tools {
    fn run<'a>(&'a self, name: &'a str, input: &'a Value) -> BoxFuture<'a, Result<Value, Error>> {
        self.log.lock().unwrap().push(format!("run {name} {input}"));
        let dropped = Dropped(Arc::clone(&self.log), name.to_owned());
        async move {
            let answer = match name {
                "Throw" => {
                    let properties = json!({ "resource": "r", "operation": "execute" });
                    let properties = properties.as_object().unwrap().clone();
                    Err(err("ECUSTOM", "no", None).with_properties(properties).unwrap())
                }
                "Stall" => futures::future::pending().await,
                _ => Ok(json!({ "ok": true, "data": input })),
            };
            std::mem::forget(dropped);
            answer
        }
        .boxed()
    }
}

struct Dropped(Log, String);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.lock().unwrap().push(format!("dropped {}", self.1));
    }
}

/// Options with the tools Echo, Throw and Stall, each of which takes a string `a`.
pub(crate) fn options() -> ChatOptions {
    let parameters = json!({
        "type": "object", "properties": { "a": { "type": "string" } }, "required": ["a"],
    });
    let tool = |name: &str| json!({ "name": name, "parameters": parameters });
    ChatOptions::from_json(&json!({
        "model": "m",
        "messages": [{ "role": "user", "content": "hello" }],
        "tools": [tool("Echo"), tool("Throw"), tool("Stall")],
    }))
    .unwrap()
}

pub(crate) fn with_tools(provider: &Scripted) -> Settings {
    let runner = Tools { log: Arc::clone(&provider.log) };
    Settings { runner: Some(Arc::new(runner)), ..Settings::default() }
}

pub(crate) fn llm(provider: &Scripted) -> Llm {
    let llm = Llm::new();
    llm.set_provider(Arc::new(provider.clone()));
    llm
}

/// Every item as JSON, then the error that ended the stream.
pub(crate) async fn all(mut stream: ChatStream) -> (Vec<Value>, Option<Value>) {
    let mut items = Vec::new();
    while let Some(item) = stream.next().await {
        match item {
            Ok(event) => items.push(serde_json::to_value(event).unwrap()),
            Err(error) => {
                assert!(stream.next().await.is_none(), "nothing follows an error");
                return (items, Some(error.to_json()));
            }
        }
    }
    assert!(stream.next().await.is_none(), "a stream that is over stays over");
    (items, None)
}

/// What comes of `provider` with these options and settings.
pub(crate) async fn play(
    provider: &Scripted,
    options: ChatOptions,
    settings: Settings,
) -> (Vec<Value>, Option<Value>) {
    all(llm(provider).create_chat_stream(options, settings).unwrap()).await
}
