//! What the harness saw of a subject in one case.
//!
//! A verdict is a function of a case and its transcript only. So a transcript can be judged again without the
//! subject, written to a file, and mutated to test whether the case notices.

use std::collections::BTreeMap;

use proofmark_protocol::RpcError;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::fault::Fault;

/// One observation for each executed step, and what happened at the end.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Transcript {
    pub steps: Vec<Seen>,
    /// Why the case stopped early, if the subject prevented the next step.
    pub stopped: Option<Stopped>,
    pub end: Ending,
    /// Only for a law, which has no steps of its own: the transcript of each input, in order. Only the last one can
    /// have failed.
    pub tries: Vec<Try>,
}

impl Transcript {
    /// The transcript of a case for which no process could be started.
    pub fn never_begun(fault: Fault) -> Self {
        let stopped = Stopped::Fault { fault, when: When::Start, asks: Vec::new() };
        Self { stopped: Some(stopped), ..Self::default() }
    }

    /// The approximate size in bytes when written.
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

    /// Replaces the fault that ended it with a more precise one.
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

/// What stopped a case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Stopped {
    /// The adapter refused `open`.
    Refused(RpcError),
    /// The scripts of the case's fakes are invalid.
    Fakes(String),
    /// A process faulted, or could not be started.
    #[serde(rename_all = "camelCase")]
    Fault {
        fault: Fault,
        when: When,
        /// Calls of fakes that no answer followed.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        asks: Vec<Ask>,
    },
}

/// Where a case was when a process faulted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum When {
    /// Before the first step.
    Start,
    /// In the step after the observed ones.
    Step,
    Close,
}

/// The transcript of one input of a law.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Try {
    /// The shrink steps of the input: `s` for each simplification, `c` for each partial undo.
    pub path: String,
    pub transcript: Transcript,
}

/// The observation of one step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Seen {
    /// The answers, in the order of the step's calls.
    Calls(Vec<Answered>),
    /// The files that the step names.
    Files(BTreeMap<String, FileSeen>),
    /// The step has nothing to observe.
    Nothing,
}

/// The answer to one call. The workspace path is masked, so that two runs see the same.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Answered {
    #[serde(with = "reply")]
    pub reply: Result<Value, RpcError>,
    /// Calls of fakes during this call. With concurrent calls nobody knows which call they belong to, so they are
    /// reported at the end ([`Ending::asks`]).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub asks: Vec<Ask>,
    /// The items of its stream, in order of arrival.
    #[serde(default, deserialize_with = "all_deep", skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<Value>,
}

impl Answered {
    /// Sorts the members of every object: a subject's member order may vary between runs.
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

/// A call of a fake.
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

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FileSeen {
    Nothing,
    Text(String),
    /// If the case expects bytes: hex digits.
    Bytes(String),
    /// If the case expects a symlink: its target.
    Symlink(String),
    /// If the case expects a folder: its entries, sorted.
    Entries(Vec<String>),
    /// Something else than the case expects; why.
    Other(String),
}

/// What happened when the sessions were closed.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ending {
    /// Why the adapter refused `close`, if it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
    /// Calls of fakes outside any call.
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

/// Parses a subject's value separately, so that it may be as deep as a message allows, wherever it is nested.
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
