//! A case: one run against a subject with an exact expectation.

use std::collections::BTreeMap;
use std::fmt;

use proofmark_protocol::{ClockScript, RandomTape};
use serde_json::{Map, Value};

use crate::law::Law;
use crate::matcher::Pattern;
use crate::problem::Location;
use crate::wire::Wire;

/// The process that steps use when they name none.
pub const MAIN_PROCESS: &str = "a";
/// The session that steps use when they name none.
pub const MAIN_SESSION: &str = "";

/// One case, whether it came from a fixture, a narrative or a law.
#[derive(Debug, Clone)]
pub struct Case {
    /// The whole, permanent name: `my.notes/append/round-trip`.
    pub name: String,
    /// Names that it had before.
    pub aliases: Vec<String>,
    pub contract: String,
    pub kind: CaseKind,
    /// What breaks for a user if it fails, in one sentence.
    pub why: String,
    /// Ids of the requirements that it shows.
    pub shows: Vec<String>,
    pub origin: Origin,
    /// Test hooks without which it cannot run.
    pub needs: Vec<String>,
    pub given: Given,
    pub steps: Vec<Step>,
    pub at: Location,
}

#[derive(Debug, Clone, Copy)]
pub enum CaseKind {
    Fixture,
    Scenario,
    /// Its steps are made anew for each input.
    Law(&'static Law),
}

/// Where the expected values come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// They stand in the contract's text.
    Contract,
    /// Published vectors or an independent program; which.
    Oracle(String),
    /// Blessed from our own implementation and read by a person.
    Reference,
}

impl Origin {
    pub fn parse(text: &str) -> Result<Self, String> {
        match text.split_once(':').map(|(kind, which)| (kind, which.trim())) {
            None if text == "contract" => Ok(Self::Contract),
            None if text == "reference" => Ok(Self::Reference),
            Some(("oracle", which)) if !which.is_empty() => Ok(Self::Oracle(which.to_owned())),
            _ => Err(format!(
                "origin `{text}` must be `contract`, `reference` or `oracle: <which vectors or program>`"
            )),
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Contract => f.write_str("contract"),
            Self::Oracle(which) => write!(f, "oracle: {which}"),
            Self::Reference => f.write_str("reference"),
        }
    }
}

/// The world that a case starts in.
#[derive(Debug, Clone, Default)]
pub struct Given {
    pub clock: ClockScript,
    pub random: RandomTape,
    pub files: BTreeMap<String, FileGiven>,
    /// Fakes on offer, each with its script.
    pub fakes: BTreeMap<String, Value>,
}

/// Something in the workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileGiven {
    Text(String),
    /// What is no text.
    Bytes(Vec<u8>),
    Symlink(String),
    /// Another name of a file that is there.
    Hardlink(String),
    /// A named pipe, which nobody writes to.
    Fifo,
    Folder,
}

/// What a file must be like. Files that nobody names are not judged.
#[derive(Debug, Clone)]
pub enum FileExpected {
    Absent,
    Text(String),
    /// What is no text.
    Bytes(Vec<u8>),
    /// A symlink with this target.
    Symlink(String),
    /// A folder with these names in it, in order.
    Entries(Vec<String>),
    Lines {
        prefix: Option<String>,
        ndjson: Option<Pattern>,
    },
}

#[derive(Debug, Clone)]
pub struct Step {
    pub action: Action,
    pub at: Location,
    /// A narrative's own words.
    pub words: Option<String>,
}

#[derive(Debug, Clone)]
#[expect(clippy::large_enum_variant, reason = "nearly every step is a call")]
pub enum Action {
    Call(CallStep),
    /// Sent at once, without waiting for one another.
    Together(Vec<CallStep>),
    /// SIGKILL; the next step that names the process starts a fresh one.
    Kill {
        process: String,
    },
    Write(BTreeMap<String, FileGiven>),
    Leaves(BTreeMap<String, FileExpected>),
}

#[derive(Debug, Clone)]
pub struct CallStep {
    pub operation: String,
    /// May hold `{"$ref": …}`, which stands for an earlier answer or stream.
    pub args: Value,
    pub process: String,
    /// A session of its own in that process; the workspace is the case's.
    pub session: String,
    /// The name under which later steps refer to its answer.
    pub saved_as: Option<String>,
    /// The name under which later steps refer to the items of its stream.
    pub stream_as: Option<String>,
    /// Alternatives, each exact; one for nearly every call.
    pub expect: Vec<Outcome>,
    /// The list of the calls of fakes during this call. On a wire of its own a server asks when it will, so there it is
    /// judged only where it is written.
    pub asks: Option<Pattern>,
    /// The list of the items of its stream, with adjacent texts joined.
    pub streams: Pattern,
    /// Texts that stand nowhere in its answer and its stream.
    pub hides: Vec<String>,
}

impl CallStep {
    /// What it says of the calls of fakes, if anything.
    pub fn wants_asks(&self) -> bool {
        self.asks.as_ref().is_some_and(|asks| !asks.is_empty_list())
    }

    /// A call in the main process and session.
    pub fn new(operation: &str, args: Value, expect: Vec<Outcome>) -> Self {
        Self {
            operation: operation.to_owned(),
            args,
            process: MAIN_PROCESS.to_owned(),
            session: MAIN_SESSION.to_owned(),
            saved_as: None,
            stream_as: None,
            expect,
            asks: Wire::of(operation).is_none().then(Pattern::empty_list),
            streams: Pattern::empty_list(),
            hides: Vec::new(),
        }
    }
}

/// What a call may end in.
#[derive(Debug, Clone)]
pub enum Outcome {
    Returns(Pattern),
    Fails(Pattern),
}

impl Outcome {
    pub fn pattern(&self) -> &Pattern {
        match self {
            Self::Returns(pattern) | Self::Fails(pattern) => pattern,
        }
    }

    /// As it is written in a fixture, for people.
    pub fn to_value(&self) -> Value {
        let (key, pattern) = match self {
            Self::Returns(pattern) => ("returns", pattern),
            Self::Fails(pattern) => ("fails", pattern),
        };
        Value::Object(Map::from_iter([(key.to_owned(), pattern.source.clone())]))
    }
}

impl Case {
    /// The id within its contract: `append/round-trip`.
    pub fn id(&self) -> &str {
        self.name
            .strip_prefix(&self.contract)
            .and_then(|rest| rest.strip_prefix('/'))
            .unwrap_or(&self.name)
    }

    /// Every call, in order.
    pub fn calls(&self) -> impl Iterator<Item = &CallStep> {
        self.steps.iter().flat_map(Step::calls)
    }
}

impl Step {
    /// The calls that it makes.
    pub fn calls(&self) -> &[CallStep] {
        match &self.action {
            Action::Call(call) => std::slice::from_ref(call),
            Action::Together(calls) => calls,
            Action::Kill { .. } | Action::Write(_) | Action::Leaves(_) => &[],
        }
    }
}
