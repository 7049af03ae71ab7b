//! The operations of `sage.llm`. The harness plays providers and tools.

use std::sync::Arc;

use futures::StreamExt as _;
use futures::stream::{self, BoxStream};
use proofmark_protocol::{Context, Failure, Open};
use proofmark_room::arguments::{contract_error, string};
use proofmark_room::{Session, State, Subject};
use room_sage_errors::driver::refused;
use room_sage_tools::call::{self, ask, during, tell, thrown};
use room_sage_tools::driver::execute_plainly;
use sage_llm::{
    ChatOptions, Error, Llm, Model, Provider, Reply, Settings, StreamEvent, ToolRunner,
};
use sage_utils::BoxFuture;
use serde_json::{Value, json};

use crate::CONTRACT;

/// The session's providers and prompt cache.
struct Providers(Llm);

impl State for Providers {
    fn open(_: &Open) -> Result<Self, Failure> {
        Ok(Self(Llm::new()))
    }
}

pub(crate) fn operations(subject: Subject) -> Subject {
    subject
        .claims(CONTRACT)
        .has_hook("llm.cache")
        .has_hook("llm.registry")
        .on("llm.setProvider", async |context: Context<Session>, args| {
            let name = string(&args, "name")?.to_owned();
            context.state().state::<Providers>()?.0.set_provider(Arc::new(FakeProvider { name }));
            Ok(Value::Null)
        })
        .on("llm.listModels", |context, args| {
            during(context, async move |context| {
                let name = args.get("providerName").map(|_| string(&args, "providerName"));
                let providers = context.state().state::<Providers>()?;
                let models = providers.0.list_models(name.transpose()?).await;
                models.map(|models| json!(models)).map_err(|fault| contract_error(fault.to_json()))
            })
        })
        .on("llm.createChatStream", |context, args| {
            during(context, async move |context| chat(&context, &args).await)
        })
}

async fn chat(context: &Context<Session>, args: &Value) -> Result<Value, Failure> {
    let options = ChatOptions::from_json(&args["options"]).map_err(|fault| refused(&fault))?;
    let take = count(args, "take")?;
    let providers = context.state().state::<Providers>()?;
    let mut stream = providers
        .0
        .create_chat_stream(options, settings(args)?)
        .map_err(|fault| contract_error(fault.to_json()))?;
    let mut taken = 0;
    while take != Some(taken) {
        match stream.next().await {
            Some(Ok(event)) => context.emit(json!(event)),
            Some(Err(error)) => return Err(contract_error(error.to_json())),
            None => break,
        }
        taken += 1;
    }
    Ok(Value::Null)
}

fn settings(args: &Value) -> Result<Settings, Failure> {
    let mut settings = Settings::default();
    match args.get("tools").map(Value::as_str) {
        None => {}
        Some(Some("fake")) => settings.runner = Some(Arc::new(FakeTools)),
        Some(Some("registry")) => settings.runner = Some(Arc::new(RegistryTools)),
        _ => return Err(Failure::broken("`tools` must be \"fake\" or \"registry\"")),
    }
    if let Some(most) = count(args, "maxRounds")? {
        settings.max_rounds = u32::try_from(most)
            .map_err(|_| Failure::broken(format!("`maxRounds` is too large: {most}")))?;
    }
    settings.cache = match args.get("cache") {
        None => false,
        Some(Value::Bool(cache)) => *cache,
        Some(other) => {
            return Err(Failure::broken(format!("`cache` must be a boolean, not {other}")));
        }
    };
    Ok(settings)
}

fn count(args: &Value, name: &str) -> Result<Option<u64>, Failure> {
    let wrong = |given| Failure::broken(format!("`{name}` must be a count, not {given}"));
    args.get(name).map(|given| given.as_u64().ok_or_else(|| wrong(given))).transpose()
}

/// The harness gave an unexpected answer, so the call fails with that.
fn unplayable(what: &str, answer: &Value) -> Error {
    thrown(Failure::broken(format!("the answer of fake `llm` is not a valid {what}: {answer}")))
}

struct FakeProvider {
    name: String,
}

impl Provider for FakeProvider {
    fn name(&self) -> &str {
        &self.name
    }

    fn chat(&self, options: ChatOptions) -> BoxFuture<'_, Result<Reply, Error>> {
        Box::pin(async move {
            let args = json!({ "provider": self.name, "options": options });
            let answer = ask("llm", "chat", args).await?;
            match (answer.get("text"), answer.get("stream")) {
                (Some(Value::String(text)), None) => Ok(Reply::Text(text.clone())),
                (None, Some(id)) => Ok(Reply::Stream(FakeStream::open(id.clone()))),
                _ => Err(unplayable("text or stream", &answer)),
            }
        })
    }

    fn models(&self) -> BoxFuture<'_, Result<Vec<Model>, Error>> {
        Box::pin(async move {
            let answer = ask("llm", "models", json!({ "provider": self.name })).await?;
            serde_json::from_value(answer.clone())
                .map_err(|_| unplayable("list of models", &answer))
        })
    }
}

/// A stream played by the harness. If it is dropped before its end, it asks the harness to stop.
struct FakeStream {
    id: Value,
    done: bool,
}

impl FakeStream {
    fn open(id: Value) -> BoxStream<'static, Result<StreamEvent, Error>> {
        let events = stream::unfold(Self { id, done: false }, async |mut stream| {
            stream.next().await.map(|event| (event, stream))
        });
        events.boxed()
    }

    async fn next(&mut self) -> Option<Result<StreamEvent, Error>> {
        if self.done {
            return None;
        }
        let mut answer = match ask("llm", "next", json!({ "stream": self.id })).await {
            Ok(answer) => answer,
            Err(error) => {
                self.done = true;
                return Some(Err(error));
            }
        };
        if answer.get("done") == Some(&Value::Bool(true)) {
            self.done = true;
            return None;
        }
        match answer.get_mut("event") {
            Some(event) => Some(StreamEvent::from_json(event.take())),
            None => Some(Err(unplayable("stream event", &answer))),
        }
    }
}

impl Drop for FakeStream {
    fn drop(&mut self) {
        if !self.done {
            tell("llm", "stop", json!({ "stream": self.id }));
        }
    }
}

/// Tools played by the harness.
struct FakeTools;

impl ToolRunner for FakeTools {
    fn run<'a>(&'a self, name: &'a str, input: &'a Value) -> BoxFuture<'a, Result<Value, Error>> {
        Box::pin(ask("tools", "execute", json!({ "name": name, "input": input })))
    }
}

/// The session's own tools, without permissions, secrets or logger.
struct RegistryTools;

impl ToolRunner for RegistryTools {
    fn run<'a>(&'a self, name: &'a str, input: &'a Value) -> BoxFuture<'a, Result<Value, Error>> {
        Box::pin(async move {
            let context = call::context()?;
            execute_plainly(context.state(), name, input.clone()).await.map_err(thrown)
        })
    }
}
