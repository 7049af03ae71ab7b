//! Language models that always say the same: [`ScriptedLlm`] what a script tells, [`SeededLlm`] what
//! follows from a seed and the conversation.
//!
//! Both are pure: a conversation goes in, a [`Turn`] comes out, and the items of its [`Playback`] are
//! taken one by one. Nothing waits here; that an answer never comes is a value like any other.

mod arguments;
mod client;
mod provider;
mod script;
mod scripted;
mod seeded;
mod wire;

use std::collections::VecDeque;

use sage_utils::TypedError;
use serde_json::Value;

pub use arguments::fitting;
pub use client::{FakeLlm, Said};
pub use provider::FakeProvider;
pub use scripted::ScriptedLlm;
pub use seeded::{Draws, SeededLlm};
pub(crate) use wire::WireLlm;

/// One model or the other.
#[derive(Debug, Clone, PartialEq)]
pub enum Voice {
    Scripted(ScriptedLlm),
    Seeded(SeededLlm),
}

impl Voice {
    /// What it answers. `options` are the contract's `ChatOptions`.
    ///
    /// # Errors
    /// A sentence, when it has no answer.
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

/// What a model does when it is asked.
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
    /// It sends this, which need not be a stream event.
    Event(Value),
    /// It fails, and is over.
    Error(TypedError),
    /// It sends nothing for as long as anybody waits.
    Stall,
}

/// A stream that is being played.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Playback {
    items: VecDeque<Item>,
    endless: Option<Value>,
    ended: bool,
}

impl Playback {
    /// These items; then `endless` again and again, if it is given.
    pub fn new(items: impl IntoIterator<Item = Item>, endless: Option<Value>) -> Self {
        Self { items: items.into_iter().collect(), endless, ended: false }
    }

    /// Whether there is nothing left that anybody would miss: all was sent, or an `end` was.
    pub fn is_told(&self) -> bool {
        self.ended || (self.items.is_empty() && self.endless.is_none())
    }

    /// Everything that is still to come, if that is not without end.
    pub fn rest(&self) -> Option<Vec<Item>> {
        self.endless.is_none().then(|| self.items.iter().cloned().collect())
    }
}

/// After an error there is nothing more.
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
