//! A case: one run against a subject, with exact expectations.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use proofmark_protocol::{ClockScript, RandomTape};
use serde_json::{Map, Value};

use crate::law::Law;
use crate::matcher::Pattern;
use crate::problem::Location;
use crate::wire::Wire;

/// The process of steps that name none.
pub const MAIN_PROCESS: &str = "a";
/// The session of steps that name none.
pub const MAIN_SESSION: &str = "";

/// One case, whether it came from a fixture, a narrative or a law.
#[derive(Debug, Clone)]
pub struct Case {
    /// The full, permanent name: `my.notes/append/round-trip`.
    pub name: String,
    /// Former names.
    pub aliases: Vec<String>,
    pub contract: String,
    pub kind: CaseKind,
    /// One sentence: what breaks for a user if the case fails.
    pub why: String,
    /// Ids of the requirements that the case shows.
    pub shows: Vec<String>,
    pub origin: Origin,
    /// Test hooks that the case needs.
    pub needs: Vec<String>,
    /// It takes a second or more, mostly waiting, so a run starts it early.
    pub slow: bool,
    pub given: Given,
    pub steps: Vec<Step>,
    pub at: Location,
}

#[derive(Debug, Clone, Copy)]
pub enum CaseKind {
    Fixture,
    Scenario,
    /// Generates its steps anew for each input.
    Law(&'static Law),
}

/// Where the expected values come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// From the contract's text.
    Contract,
    /// From published vectors or an independent program, named here.
    Oracle(String),
    /// Blessed from our own implementation and reviewed by a person.
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

/// The environment that a case starts in.
#[derive(Debug, Clone, Default)]
pub struct Given {
    pub clock: ClockScript,
    pub random: RandomTape,
    pub files: BTreeMap<String, FileGiven>,
    /// The fakes that the subject may call, each with its script.
    pub fakes: BTreeMap<String, Value>,
}

/// A file that the harness puts into the workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileGiven {
    Text(String),
    /// Bytes that are not UTF-8.
    Bytes(Vec<u8>),
    Symlink(String),
    /// A second name of an existing file.
    Hardlink(String),
    /// A named pipe without a writer.
    Fifo,
    Folder,
}

/// What a file must contain. Files that a case does not name are not judged.
#[derive(Debug, Clone)]
pub enum FileExpected {
    Absent,
    Text(String),
    /// Bytes that are not UTF-8.
    Bytes(Vec<u8>),
    /// A symlink with this target.
    Symlink(String),
    /// A folder with these entries, sorted.
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
    /// The step's text in a narrative.
    pub words: Option<String>,
    /// It only prepares the case: if it goes wrong, the case is blocked.
    pub setup: bool,
}

#[derive(Debug, Clone)]
#[expect(clippy::large_enum_variant, reason = "nearly every step is a call")]
pub enum Action {
    Call(CallStep),
    /// Sent together, each `after` its time, without waiting for the answers.
    Together(Vec<CallStep>),
    /// SIGKILL. The next step that names the process starts a new one.
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
    /// How long the harness waits before it sends this call of a `together`.
    pub after: Duration,
    /// A separate session in that process. All sessions of a case share its workspace.
    pub session: String,
    /// Later steps refer to the answer by this name.
    pub saved_as: Option<String>,
    /// Later steps refer to the items of the stream by this name.
    pub stream_as: Option<String>,
    /// One of these outcomes is needed before the case can show anything. Any other blocks the case.
    pub assumes: Vec<Outcome>,
    /// The outcomes that the requirement allows; nearly every call has one. Empty if the outcome shows nothing.
    pub expect: Vec<Outcome>,
    /// The expected calls of fakes during this call. A server on its own wire calls fakes at any time, so there
    /// `asks` is judged only where the author wrote it.
    pub asks: Option<Pattern>,
    /// The expected items of the stream, with adjacent texts joined. `None` if they are not judged.
    pub streams: Option<Pattern>,
    /// Which of `asks` and `streams` the author left out. They are empty lists then, and anything else blocks the case.
    pub implied: Implied,
    /// Texts that must not occur in the answer or the stream.
    pub hides: Vec<String>,
}

impl CallStep {
    /// Whether it expects calls of fakes.
    pub fn wants_asks(&self) -> bool {
        self.asks.as_ref().is_some_and(|asks| !asks.is_empty_list())
    }

    /// Whether it leaves open what it asks of fakes.
    pub fn asks_anything(&self) -> bool {
        self.asks.as_ref().is_some_and(Pattern::is_any_list)
    }

    /// A call in the main process and session. Its outcome is evidence.
    pub fn new(operation: &str, args: Value, expect: Vec<Outcome>) -> Self {
        let mut call = Self { expect, ..Self::setup(operation, args, Vec::new()) };
        call.judge_side_effects();
        call
    }

    /// A call in the main process and session that only prepares the case.
    pub fn setup(operation: &str, args: Value, assumes: Vec<Outcome>) -> Self {
        Self {
            operation: operation.to_owned(),
            args,
            process: MAIN_PROCESS.to_owned(),
            after: Duration::ZERO,
            session: MAIN_SESSION.to_owned(),
            saved_as: None,
            stream_as: None,
            assumes,
            expect: Vec::new(),
            asks: None,
            streams: None,
            implied: Implied::default(),
            hides: Vec::new(),
        }
    }

    /// Whether nothing about the call is evidence: if it goes wrong, the case is blocked.
    pub fn is_setup(&self) -> bool {
        self.expect.is_empty()
            && self.asks.is_none()
            && self.streams.is_none()
            && self.hides.is_empty()
    }

    /// A call that is evidence calls no fake and streams nothing, unless the case says otherwise. This is an
    /// assumption: a case that does not mention them is not about them.
    pub fn judge_side_effects(&mut self) {
        if self.asks.is_none() && Wire::of(&self.operation).is_none() {
            self.asks = Some(Pattern::empty_list());
            self.implied.asks = true;
        }
        if self.streams.is_none() {
            self.streams = Some(Pattern::empty_list());
            self.implied.streams = true;
        }
    }

    pub fn expect_asks(&mut self, asks: Pattern) {
        self.asks = Some(asks);
        self.implied.asks = false;
    }

    pub fn expect_stream(&mut self, items: Pattern) {
        self.streams = Some(items);
        self.implied.streams = false;
    }

    /// Makes what the call implies evidence, as if the case had mentioned it.
    pub fn mention_what_is_implied(&mut self) {
        self.implied = Implied::default();
    }

    /// Makes everything that was evidence an assumption.
    pub fn only_assume(&mut self) {
        self.assumes.append(&mut self.expect);
        (self.asks, self.streams) = (None, None);
        self.implied = Implied::default();
        self.hides.clear();
    }

    /// Every outcome that the case mentions, assumed or expected.
    pub fn outcomes(&self) -> impl Iterator<Item = &Outcome> {
        self.assumes.iter().chain(&self.expect)
    }
}

/// Lists that a case implies.
#[derive(Debug, Clone, Copy, Default)]
pub struct Implied {
    pub asks: bool,
    pub streams: bool,
}

/// An allowed result of a call.
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

    /// As a fixture writes it, for people.
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
    /// The calls of this step.
    pub fn calls(&self) -> &[CallStep] {
        match &self.action {
            Action::Call(call) => std::slice::from_ref(call),
            Action::Together(calls) => calls,
            Action::Kill { .. } | Action::Write(_) | Action::Leaves(_) => &[],
        }
    }

    pub fn calls_mut(&mut self) -> &mut [CallStep] {
        match &mut self.action {
            Action::Call(call) => std::slice::from_mut(call),
            Action::Together(calls) => calls,
            Action::Kill { .. } | Action::Write(_) | Action::Leaves(_) => &mut [],
        }
    }

    /// Whether the step only prepares the case: if it goes wrong, the case is blocked.
    pub fn is_setup(&self) -> bool {
        self.setup
            || match &self.action {
                Action::Call(call) => call.is_setup(),
                Action::Together(calls) => calls.iter().all(CallStep::is_setup),
                Action::Kill { .. } | Action::Write(_) => true,
                Action::Leaves(_) => false,
            }
    }

    /// Makes everything that was evidence an assumption.
    pub fn only_assume(&mut self) {
        self.setup = true;
        self.calls_mut().iter_mut().for_each(CallStep::only_assume);
    }
}
