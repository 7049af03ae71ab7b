//! Interfaces that the caller implements: providers and tool runners.

use std::fmt;

use futures::stream::BoxStream;
use sage_utils::BoxFuture;
use serde_json::Value;

use crate::{ChatOptions, Error, Model, StreamEvent};

/// What a provider answers.
pub enum Reply {
    /// The whole text, from a provider that cannot stream.
    Text(String),
    /// A stream. Items are pulled only on demand, and dropping the stream tells the provider to stop.
    Stream(BoxStream<'static, Result<StreamEvent, Error>>),
}

impl fmt::Debug for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => f.debug_tuple("Text").field(text).finish(),
            Self::Stream(_) => f.debug_tuple("Stream").finish_non_exhaustive(),
        }
    }
}

/// A model behind some interface.
pub trait Provider: Send + Sync {
    /// The name under which it is set and asked for its models.
    fn name(&self) -> &str;

    /// Begins an answer. An error may have any code and properties; the caller gets it unchanged.
    fn chat(&self, options: ChatOptions) -> BoxFuture<'_, Result<Reply, Error>>;

    /// The models that it offers.
    fn models(&self) -> BoxFuture<'_, Result<Vec<Model>, Error>>;
}

/// Runs the tools that a model asks for.
pub trait ToolRunner: Send + Sync {
    /// Runs the tool `name` on valid arguments, and returns its result, `{ "ok": …, … }`. An error becomes a result
    /// that is not ok. Dropping the future stops the tool.
    fn run<'a>(&'a self, name: &'a str, input: &'a Value) -> BoxFuture<'a, Result<Value, Error>>;
}
