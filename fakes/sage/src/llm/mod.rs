//! Deterministic language models: [`ScriptedLlm`] plays a script, [`SeededLlm`] derives its answers from a
//! seed and the conversation.
//!
//! Both are pure: a conversation goes in, a [`Turn`] comes out, and the caller takes the items of its
//! [`Playback`] one by one. Nothing here blocks; a stall is a value.

mod client;
mod provider;
mod script;
mod scripted;
mod seeded;
mod wire;

use std::collections::VecDeque;

use proofmark_fakes::host::FakeKind;
use sage_utils::TypedError;
use serde_json::Value;

pub use client::{FakeLlm, Said};
pub use provider::FakeProvider;
pub use scripted::ScriptedLlm;
pub use seeded::SeededLlm;
use wire::WireLlm;

/// The fake `llm`: providers by name, each with its models and their scripted or seeded answers.
pub static LLM: FakeKind = FakeKind {
    name: "llm",
    make: |script| Ok(Box::new(WireLlm::from_script(script)?)),
    releases: &["stop"],
};

/// A scripted or a seeded model.
#[derive(Debug, Clone, PartialEq)]
pub enum Voice {
    Scripted(ScriptedLlm),
    Seeded(SeededLlm),
}

impl Voice {
    /// The model's answer. `options` are the contract's `ChatOptions`.
    ///
    /// # Errors
    /// The model has no answer; the message says why.
    pub fn turn(&mut self, options: &Value) -> Result<Turn, String> {
        match self {
            Self::Scripted(scripted) => scripted.turn(),
            Self::Seeded(seeded) => seeded.turn(options).map(Turn::Stream),
        }
    }
}

impl From<ScriptedLlm> for Voice {
    fn from(scripted: ScriptedLlm) -> Self {
        Self::Scripted(scripted)
    }
}

impl From<SeededLlm> for Voice {
    fn from(seeded: SeededLlm) -> Self {
        Self::Seeded(seeded)
    }
}

/// How a model answers.
#[derive(Debug, Clone, PartialEq)]
pub enum Turn {
    /// It answers all at once.
    Text(String),
    /// It answers item by item.
    Stream(Playback),
    /// It refuses.
    Error(TypedError),
    /// It never answers.
    Stall,
}

/// One thing that a stream does.
#[derive(Debug, Clone, PartialEq)]
pub enum Item {
    /// It sends this value, which need not be a valid stream event.
    Event(Value),
    /// It fails and ends.
    Error(TypedError),
    /// It stays open and sends nothing more.
    Stall,
}

/// The rest of a stream.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Playback {
    items: VecDeque<Item>,
    endless: Option<Value>,
    ended: bool,
}

impl Playback {
    /// Plays these items, then repeats `endless` for ever if it is given.
    pub fn new(items: impl IntoIterator<Item = Item>, endless: Option<Value>) -> Self {
        Self { items: items.into_iter().collect(), endless, ended: false }
    }

    /// Whether the stream is complete: it has sent all its items, or an `end`.
    pub fn is_complete(&self) -> bool {
        self.ended || (self.items.is_empty() && self.endless.is_none())
    }

    /// The remaining items; `None` if they are endless.
    pub fn rest(&self) -> Option<Vec<Item>> {
        self.endless.is_none().then(|| self.items.iter().cloned().collect())
    }
}

/// An error is the last item.
impl Iterator for Playback {
    type Item = Item;

    fn next(&mut self) -> Option<Item> {
        let item = match self.items.pop_front() {
            Some(item) => item,
            None => Item::Event(self.endless.clone()?),
        };
        match &item {
            Item::Event(event) => self.ended |= event["type"] == "end",
            Item::Error(_) => *self = Self::default(),
            Item::Stall => {}
        }
        Some(item)
    }
}
