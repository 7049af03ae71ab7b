//! What the harness saw of a subject in one case: all that the verdict rests on.
//!
//! A verdict is a function of a case and its transcript, and of nothing else. So a transcript can be
//! judged again without the subject, written down, and changed on purpose to see whether the case
//! notices.

use std::collections::BTreeMap;

use proofmark_protocol::RpcError;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::fault::Fault;

/// One observation for each step that took place, and what happened at the end.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Transcript {
    pub steps: Vec<Seen>,
    /// Why there are no further steps, if the subject kept the case from going on.
    pub stopped: Option<Stopped>,
    pub end: Ending,
    /// Of a law, which has no steps of its own: what was seen of each input, in order. Only the last
    /// one can have failed.
    pub tries: Vec<Try>,
}

impl Transcript {
    /// There was no process to run the case on.
    pub fn never_begun(fault: Fault) -> Self {
        let stopped = Stopped::Fault { fault, when: When::Start, asks: Vec::new() };
        Self { stopped: Some(stopped), ..Self::default() }
    }

    /// How many bytes it has when it is written down, or nearly so.
    pub fn weight(&self) -> usize {
        let of_asks = |asks: &[Ask]| -> usize {
            asks.iter().map(|ask| weight(&ask.args) + weight(&ask.answer)).sum()
        };
        let of_answer = |answer: &Answered| {
            let reply = answer.reply.as_ref().map_or(100, weight);
            reply + of_asks(&answer.asks) + answer.events.iter().map(weight).sum::<usize>()
        };
        let of_file = |file: &FileSeen| match file {
            FileSeen::Nothing => 4,
            FileSeen::Text(text)
            | FileSeen::Bytes(text)
            | FileSeen::Symlink(text)
            | FileSeen::Other(text) => text.len(),
            FileSeen::Entries(names) => names.iter().map(|name| name.len() + 3).sum(),
        };
        let of_step = |seen: &Seen| match seen {
            Seen::Calls(answers) => answers.iter().map(of_answer).sum(),
            Seen::Files(files) => files.values().map(of_file).sum(),
            Seen::Nothing => 4,
        };
        self.steps.iter().map(of_step).sum::<usize>()
            + of_asks(&self.end.asks)
            + self.tries.iter().map(|one| one.transcript.weight()).sum::<usize>()
    }

    /// More is known of the fault that ended it.
    pub fn refine(&mut self, refined: &Fault) {
        let last = match self.tries.last_mut() {
            Some(last) => &mut last.transcript,
            None => self,
        };
        if let Some(Stopped::Fault { fault, .. }) = &mut last.stopped {
            fault.clone_from(refined);
        }
    }
}

/// What kept a case from going on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Stopped {
    /// The adapter refused `open`.
    Refused(RpcError),
    /// The case's fakes cannot be made from their scripts.
    Fakes(String),
    /// A process faulted, or could not be had.
    #[serde(rename_all = "camelCase")]
    Fault {
        fault: Fault,
        when: When,
        /// Calls of fakes that no answer came after.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        asks: Vec<Ask>,
    },
}

/// What a case was at when a process faulted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum When {
    /// It had not begun.
    Start,
    /// The step after those that were seen.
    Step,
    Close,
}

/// What was seen of one input of a law.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Try {
    /// How the input was made smaller: `s` for each step down, `c` for each part of one taken back.
    pub path: String,
    pub transcript: Transcript,
}

/// What came of one step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Seen {
    /// The answers, in the order of the step's calls.
    Calls(Vec<Answered>),
    /// The files that the step speaks of.
    Files(BTreeMap<String, FileSeen>),
    /// The step shows nothing.
    Nothing,
}

/// The answer to one call. The workspace's own path is hidden in it, so that two runs see the same.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Answered {
    #[serde(with = "reply")]
    pub reply: Result<Value, RpcError>,
    /// Calls of fakes meanwhile. With several calls at once nobody can tell whose they are, so they
    /// are told at the end, among those that belong to no call.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub asks: Vec<Ask>,
    /// The items of its stream, in the order in which they came.
    #[serde(default, deserialize_with = "all_deep", skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<Value>,
}

impl Answered {
    /// Puts the members of every object in order: a subject may give them in another one each time.
    pub fn sort(&mut self) {
        match &mut self.reply {
            Ok(value) => value.sort_all_objects(),
            Err(error) => error.data.iter_mut().for_each(Value::sort_all_objects),
        }
        self.events.iter_mut().for_each(Value::sort_all_objects);
    }

    pub fn sorted(&self) -> Self {
        let mut sorted = self.clone();
        sorted.sort();
        sorted
    }
}

/// A call of a fake, as the harness saw it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ask {
    pub fake: String,
    pub method: String,
    #[serde(deserialize_with = "deep")]
    pub args: Value,
    /// The fake's answer: `{"value": …}` or `{"error": …}`.
    #[serde(deserialize_with = "deep")]
    pub answer: Value,
}

impl Ask {
    /// Whether the call only releases a stream.
    pub fn gives_back(&self) -> bool {
        (self.fake.as_str(), self.method.as_str()) == ("llm", "stop")
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FileSeen {
    Nothing,
    Text(String),
    /// Where bytes are spoken of: hex digits.
    Bytes(String),
    /// Where a symlink is spoken of: its target.
    Symlink(String),
    /// Where the names in a folder are spoken of, in order.
    Entries(Vec<String>),
    /// There, but not what is spoken of; why.
    Other(String),
}

/// The sessions' end.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ending {
    /// Why the adapter refused `close`, if it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
    /// Calls of fakes that belong to no call.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub asks: Vec<Ask>,
}

fn weight(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len() + 2,
        Value::Array(items) => items.iter().map(|item| 1 + weight(item)).sum::<usize>() + 2,
        Value::Object(map) => {
            map.iter().map(|(key, item)| key.len() + 4 + weight(item)).sum::<usize>() + 2
        }
        _ => 5,
    }
}

/// A subject's own value. It may be as deep as a message may be, wherever it is written down, so it is
/// read on its own.
pub fn deep<'de, D: Deserializer<'de>>(from: D) -> Result<Value, D::Error> {
    let raw = Box::<RawValue>::deserialize(from)?;
    serde_json::from_str(raw.get()).map_err(serde::de::Error::custom)
}

fn all_deep<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Value>, D::Error> {
    let raw = Vec::<Box<RawValue>>::deserialize(from)?;
    let read = raw.iter().map(|item| serde_json::from_str(item.get()));
    read.collect::<Result<_, _>>().map_err(serde::de::Error::custom)
}

/// `{"result": …}` or `{"error": …}`, as on the wire.
mod reply {
    use proofmark_protocol::RpcError;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use serde_json::Value;

    #[derive(Serialize)]
    #[serde(rename_all = "lowercase")]
    enum Borrowed<'a> {
        Result(&'a Value),
        Error(&'a RpcError),
    }

    #[derive(Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum Owned {
        Result(#[serde(deserialize_with = "super::deep")] Value),
        Error(RpcError),
    }

    pub(super) fn serialize<S: Serializer>(
        reply: &Result<Value, RpcError>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        match reply {
            Ok(value) => Borrowed::Result(value).serialize(to),
            Err(error) => Borrowed::Error(error).serialize(to),
        }
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Result<Value, RpcError>, D::Error> {
        Ok(match Owned::deserialize(from)? {
            Owned::Result(value) => Ok(value),
            Owned::Error(error) => Err(error),
        })
    }
}
