//! The models as providers, for callers in the same process.

use std::sync::{Mutex, PoisonError};

use futures::StreamExt as _;
use futures::stream::{self, BoxStream};
use sage_errors::{Detail, SageError};
use sage_llm::{ChatOptions, Model, Provider, Reply, StreamEvent};
use sage_utils::{BoxFuture, TypedError};
use serde_json::Value;

use super::{Item, Playback, Turn, Voice};

/// A provider with a name, some models, and a voice. It records its calls.
#[derive(Debug)]
pub struct FakeProvider {
    name: String,
    models: Vec<String>,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    voice: Voice,
    asked: Vec<ChatOptions>,
}

impl FakeProvider {
    /// A provider without models.
    pub fn new(name: impl Into<String>, voice: impl Into<Voice>) -> Self {
        let state = State { voice: voice.into(), asked: Vec::new() };
        Self { name: name.into(), models: Vec::new(), state: Mutex::new(state) }
    }

    /// The same provider with these models.
    #[must_use]
    pub fn offering<M: Into<String>>(mut self, models: impl IntoIterator<Item = M>) -> Self {
        self.models = models.into_iter().map(Into::into).collect();
        self
    }

    /// The options of the calls so far, in order, including calls that it had no answer to.
    pub fn asked(&self) -> Vec<ChatOptions> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).asked.clone()
    }

    fn turn(&self, options: ChatOptions) -> Result<Turn, TypedError> {
        let json = serde_json::to_value(&options).unwrap_or(Value::Null);
        // No panic can leave the state half changed.
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.asked.push(options);
        let turn = state.voice.turn(&json);
        turn.map_err(|problem| SageError::validation(Detail::new("turns", problem)).into())
    }
}

impl Provider for FakeProvider {
    fn name(&self) -> &str {
        &self.name
    }

    fn chat(&self, options: ChatOptions) -> BoxFuture<'_, Result<Reply, TypedError>> {
        Box::pin(async move {
            match self.turn(options)? {
                Turn::Text(text) => Ok(Reply::Text(text)),
                Turn::Stream(playback) => Ok(Reply::Stream(streamed(playback))),
                Turn::Error(error) => Err(error),
                Turn::Stall => std::future::pending().await,
            }
        })
    }

    fn models(&self) -> BoxFuture<'_, Result<Vec<Model>, TypedError>> {
        let models = self.models.iter().map(|name| Model { name: name.clone() }).collect();
        Box::pin(std::future::ready(Ok(models)))
    }
}

/// An item that is not a stream event becomes the error that it would be over a wire.
fn streamed(playback: Playback) -> BoxStream<'static, Result<StreamEvent, TypedError>> {
    let items = stream::unfold(playback, async |mut playback| match playback.next()? {
        Item::Event(event) => Some((StreamEvent::from_json(event), playback)),
        Item::Error(error) => Some((Err(error), playback)),
        Item::Stall => std::future::pending().await,
    });
    items.boxed()
}
