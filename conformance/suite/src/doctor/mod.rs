//! Is the adapter sound, whatever becomes of the implementation behind it?
//!
//! Each check drives a process of its own through one side of the protocol: it needs no operation to be
//! there. What is found says what to change.

mod checks;
mod lifetime;
mod wire;

use serde::Serialize;
use std::time::Duration;

use serde_json::{Value, json};

use crate::subject::{Patience, StartError, SubjectCommand};
use crate::suite::Suite;
use proofmark_protocol::{FrameError, PROTOCOL};
use wire::{Trouble, Wire};

/// What one check came to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// What was checked, in a word or two.
    pub check: &'static str,
    pub state: State,
    /// What was seen.
    pub told: String,
    /// What to change, unless all is well.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub change: Option<String>,
    /// The last lines that an adapter wrote to stderr before it ended. They are its own words: whoever
    /// shows them makes them visible.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stderr: Vec<String>,
}

/// How a check went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    Sound,
    /// It must change before a verdict on the implementation means anything.
    Unsound,
    /// It cannot be checked before some operation is there.
    NotYet,
}

impl Finding {
    fn new(check: &'static str, state: State, told: impl Into<String>) -> Self {
        Self { check, state, told: cut(told.into()), change: None, stderr: Vec::new() }
    }

    fn sound(check: &'static str, told: impl Into<String>) -> Self {
        Self::new(check, State::Sound, told)
    }

    fn unsound(check: &'static str, told: impl Into<String>, change: impl Into<String>) -> Self {
        Self { change: Some(change.into()), ..Self::new(check, State::Unsound, told) }
    }

    fn not_yet(check: &'static str, told: impl Into<String>) -> Self {
        Self::new(check, State::NotYet, told)
    }
}

/// An answer that is told of may have megabytes.
fn cut(told: String) -> String {
    const MOST: usize = 1_000;
    match told.char_indices().nth(MOST) {
        Some((at, _)) => format!("{}… ({} bytes in all)", &told[..at], told.len()),
        None => told,
    }
}

/// Examines an adapter, check after check. An adapter that does not even say hello gets no further.
pub async fn examine(
    command: &SubjectCommand,
    patience: Patience,
    suite: &Suite,
) -> Result<Vec<Finding>, StartError> {
    let exam = Exam { command, patience, suite };
    let first = exam.start()?;
    let (finding, hello) = lifetime::hello(first, patience).await;
    let mut findings = vec![finding];
    let Some(hello) = hello else { return Ok(findings) };
    findings.push(lifetime::introduction(&hello, suite));
    let exam = &exam;
    findings.push(exam.check("unknown members", checks::unknown_members).await?);
    findings.push(exam.check("framing", checks::framing).await?);
    findings.push(exam.check("unicode", checks::unicode).await?);
    findings.push(exam.check("ids", checks::ids).await?);
    findings.push(exam.check("sessions", checks::sessions).await?);
    findings.push(exam.check("not implemented", checks::not_implemented).await?);
    findings.push(exam.check("large messages", checks::large).await?);
    findings.push(exam.check("deep messages", checks::deep).await?);
    findings.push(exam.check("many at a time", checks::many).await?);
    findings.push(exam.check("waiting calls", checks::waiting).await?);
    findings.push(exam.check("garbage", checks::garbage).await?);
    findings.push(exam.check("other version", lifetime::other_version).await?);
    findings.push(exam.shutdown().await?);
    findings.push(exam.end_of_input().await?);
    Ok(findings)
}

struct Exam<'a> {
    command: &'a SubjectCommand,
    patience: Patience,
    suite: &'a Suite,
}

impl Exam<'_> {
    fn start(&self) -> Result<Wire, StartError> {
        Wire::start(self.command, self.patience)
    }

    /// One check in a fresh process, which is killed afterwards.
    async fn check(
        &self,
        name: &'static str,
        check: impl AsyncFn(&mut Wire, &Suite) -> Result<Finding, Trouble>,
    ) -> Result<Finding, StartError> {
        let mut wire = self.start()?;
        let found = check(&mut wire, self.suite).await;
        Ok(found.unwrap_or_else(|trouble| troubled(name, &trouble)))
    }
}

fn greeting() -> Value {
    json!({ "protocol": PROTOCOL, "harness": { "name": "proofmark", "version": env!("CARGO_PKG_VERSION") } })
}

/// What to say about an answer that did not come.
fn troubled(check: &'static str, trouble: &Trouble) -> Finding {
    let seconds = |after: &Duration| format!("{:.1} s", after.as_secs_f64());
    match trouble {
        Trouble::Silent { to, after } => Finding::unsound(
            check,
            format!("no answer to `{to}` within {}", seconds(after)),
            "answer every request, whatever is in it, and flush stdout after each message",
        ),
        Trouble::Ended { status, to, stderr } => Finding {
            stderr: last(stderr),
            ..Finding::unsound(
                check,
                format!("the adapter ended {status} before it answered `{to}`"),
                "catch what a request may throw and answer it with a JSON-RPC error; only `shutdown` and the end of input end an adapter",
            )
        },
        Trouble::Frame(FrameError::HalfALine { excerpt }) => Finding::unsound(
            check,
            format!("stdout ended in the middle of a line: `{excerpt}`"),
            "end every message with `\\n`, and flush before the process ends",
        ),
        Trouble::Frame(fault) => Finding::unsound(
            check,
            fault.to_string(),
            "write one message a line, of at most 16 MiB",
        ),
        Trouble::NotAMessage { line } => Finding::unsound(
            check,
            format!("stdout carried what is no JSON-RPC 2.0 message: `{line}`"),
            "print for people on stderr; a message is one object on one line, with \"jsonrpc\": \"2.0\" and the request's `id`",
        ),
        Trouble::Unasked { what } => Finding::unsound(
            check,
            format!("it answers what nobody asked: {what}"),
            "answer each request once, with the `id` that it came with, and write nothing else to stdout",
        ),
        Trouble::AsksTooMuch { what } => Finding::unsound(
            check,
            format!("it asks without end: {what} of its own"),
            "ask a fake only while a call needs it, and wait for the answer before the next request",
        ),
        Trouble::ClosedStdin => Finding::unsound(
            check,
            "the adapter closed its stdin",
            "keep stdin open until it ends by itself",
        ),
    }
}

/// Enough to see what was thrown, and where.
fn last(stderr: &[String]) -> Vec<String> {
    const MOST: usize = 10;
    stderr[stderr.len().saturating_sub(MOST)..].to_vec()
}
