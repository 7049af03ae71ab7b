//! Checks the adapter, independently of the implementation behind it.
//!
//! Each check drives a separate process through one aspect of the protocol, and needs no operation to be implemented.
//! Each finding says what to change.

mod checks;
pub mod envelope;
mod lifetime;
mod probe;
mod servers;
mod unicode;
mod wire;

use std::cell::RefCell;
use std::collections::HashMap;
use std::time::Duration;

use serde::Serialize;
use serde_json::{Value, json};

use proofmark_judge::suite::Suite;
use proofmark_protocol::{FrameError, PROTOCOL};
use proofmark_suite::Probe;
use proofmark_suite::subject::{Orphans, Patience, StartError, SubjectCommand};
use wire::{Trouble, Wire};

/// The result of one check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The name of the check, a word or two.
    pub check: &'static str,
    pub state: State,
    /// What the check observed.
    pub message: String,
    /// What to change, unless the check passed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub change: Option<String>,
    /// The adapter's last lines on stderr before it exited. They are untrusted: escape them before showing them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stderr: Vec<String>,
    /// Identifies the fault, to recognise it when it ends another check.
    #[serde(skip)]
    fault: Option<String>,
}

/// The state of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    Sound,
    /// It must be fixed before a verdict on the implementation means anything.
    Unsound,
    /// This check needs an operation that is not implemented yet.
    NotYet,
    /// An already reported fault prevents this check.
    Spoilt,
}

/// What the subject's manifest says that `hello` will claim.
#[derive(Debug, Clone, Default)]
pub struct Promised {
    /// The claimed contracts.
    pub claims: Vec<String>,
    /// The offered test hooks.
    pub hooks: Vec<String>,
}

impl Finding {
    fn new(check: &'static str, state: State, message: impl Into<String>) -> Self {
        Self {
            check,
            state,
            message: cut(message.into()),
            change: None,
            stderr: Vec::new(),
            fault: None,
        }
    }

    fn sound(check: &'static str, message: impl Into<String>) -> Self {
        Self::new(check, State::Sound, message)
    }

    fn unsound(check: &'static str, message: impl Into<String>, change: impl Into<String>) -> Self {
        Self { change: Some(change.into()), ..Self::new(check, State::Unsound, message) }
    }

    fn not_yet(check: &'static str, message: impl Into<String>) -> Self {
        Self::new(check, State::NotYet, message)
    }
}

/// Limits a message: a quoted answer may have megabytes.
fn cut(message: String) -> String {
    const MOST: usize = 1_000;
    match message.char_indices().nth(MOST) {
        Some((at, _)) => format!("{}… ({} bytes in all)", &message[..at], message.len()),
        None => message,
    }
}

/// Runs all checks and reports each finding at once. Stops if the adapter does not answer `hello`.
pub async fn examine(
    command: &SubjectCommand,
    patience: Patience,
    suite: &Suite,
    promised: &Promised,
    probes: &[&Probe],
    orphans: &Orphans,
    tell: &mut dyn FnMut(Finding),
) -> Result<(), StartError> {
    let exam = Exam { command, patience, orphans, faults: RefCell::default() };
    let first = exam.start()?;
    let (finding, hello) = lifetime::hello(first, patience).await;
    let mut tell = |finding| tell(exam.once(finding));
    tell(finding);
    let Some(hello) = hello else { return Ok(()) };
    tell(lifetime::introduction(&hello, suite, promised));
    tell(exam.check("unknown members", checks::unknown_members).await?);
    tell(exam.check("framing", checks::framing).await?);
    let check = async |wire: &mut Wire| unicode::unicode(wire, probes).await;
    tell(exam.check("unicode", check).await?);
    tell(exam.check("ids", checks::ids).await?);
    tell(exam.check("sessions", checks::sessions).await?);
    tell(exam.check("not implemented", checks::not_implemented).await?);
    tell(exam.check("large messages", checks::large).await?);
    tell(exam.check("deep messages", checks::deep).await?);
    tell(exam.check("many at a time", checks::many).await?);
    if let Some((probe, fake)) = probe::asking(probes) {
        let check = async |wire: &mut Wire| checks::waiting(wire, probe, fake).await;
        tell(exam.check("waiting calls", check).await?);
    }
    tell(exam.check("garbage", checks::garbage).await?);
    for claimed in servers::claimed(&hello, suite) {
        let check = async |pipe: &mut Wire| servers::server(pipe, claimed, patience).await;
        tell(exam.check(servers::check(claimed.0), check).await?);
    }
    tell(exam.check("other version", lifetime::other_version).await?);
    // Processes left by killed adapters are not their fault, and must not be blamed on the next check.
    orphans.kill();
    tell(exam.shutdown().await?);
    tell(exam.end_of_input().await?);
    Ok(())
}

struct Exam<'a> {
    command: &'a SubjectCommand,
    patience: Patience,
    orphans: &'a Orphans,
    /// The reported faults, with the check that reported each.
    faults: RefCell<HashMap<String, &'static str>>,
}

impl Exam<'_> {
    fn start(&self) -> Result<Wire, StartError> {
        Wire::start(self.command, self.patience)
    }

    /// Runs one check in a new process, which is killed afterwards.
    async fn check(
        &self,
        name: &'static str,
        check: impl AsyncFn(&mut Wire) -> Result<Finding, Trouble>,
    ) -> Result<Finding, StartError> {
        let mut wire = self.start()?;
        let found = check(&mut wire).await;
        Ok(found.unwrap_or_else(|trouble| troubled(name, &trouble)))
    }

    /// Reports a fault that ends several checks only once.
    fn once(&self, finding: Finding) -> Finding {
        let Some(fault) = &finding.fault else { return finding };
        let first = *self.faults.borrow_mut().entry(fault.clone()).or_insert(finding.check);
        if first == finding.check {
            return finding;
        }
        let message = format!("skipped because of the fault under `{first}`");
        Finding::new(finding.check, State::Spoilt, message)
    }
}

fn greeting() -> Value {
    json!({ "protocol": PROTOCOL, "harness": { "name": "proofmark", "version": env!("CARGO_PKG_VERSION") } })
}

/// The finding for an answer that did not come.
fn troubled(check: &'static str, trouble: &Trouble) -> Finding {
    let seconds = |time: &Duration| format!("{:.1} s", time.as_secs_f64());
    let finding = match trouble {
        Trouble::Silent { to, after, unfinished: Some(line) } => Finding::unsound(
            check,
            format!(
                "no answer to `{to}` within {}; stdout has a line without a newline: `{line}`",
                seconds(after)
            ),
            "end every message with `\\n` (a `\\r` alone does not end a line), write it on one line, and flush",
        ),
        Trouble::Silent { to, after, unfinished: None } => Finding::unsound(
            check,
            format!("no answer to `{to}` within {}", seconds(after)),
            "answer every request, whatever is in it, and flush stdout after each message",
        ),
        Trouble::Slow { to, took, limit } => Finding::unsound(
            check,
            format!(
                "slow: `{to}` was answered after {}; the limit is {}",
                seconds(took),
                seconds(limit)
            ),
            "answer faster, or allow more time: `--timeout MS`, or `timeout-ms` in the manifest, which `run` reads too",
        ),
        Trouble::Ended { status, to, stderr } => Finding {
            stderr: last(stderr),
            ..Finding::unsound(
                check,
                format!("the adapter ended {status} before it answered `{to}`"),
                "catch exceptions and answer with a JSON-RPC error; an adapter must exit only on `shutdown` or the end of input",
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
            "write one message per line, each at most 16 MiB",
        ),
        Trouble::NotAMessage { line, wrong, change } => Finding::unsound(
            check,
            format!("stdout has a line that is not a JSON-RPC 2.0 message ({wrong}): `{line}`"),
            *change,
        ),
        Trouble::Unasked { what } => Finding::unsound(
            check,
            format!("it sends answers that nobody requested: {what}"),
            "answer each request once, with its own `id`, and write nothing else to stdout",
        ),
        Trouble::AsksTooMuch { what } => Finding::unsound(
            check,
            format!("it sends too many requests: {what}"),
            "ask a fake only while a call needs it, and wait for the answer before the next request",
        ),
        Trouble::ClosedStdin => Finding::unsound(
            check,
            "the adapter closed its stdin",
            "keep stdin open until it ends by itself",
        ),
    };
    Finding { fault: sameness(trouble, &finding), ..finding }
}

/// Identifies the same fault in different checks. A missing answer may have a different cause each time.
fn sameness(trouble: &Trouble, finding: &Finding) -> Option<String> {
    match trouble {
        Trouble::Unasked { .. } => Some("unasked".to_owned()),
        Trouble::Slow { .. } => Some("slow".to_owned()),
        Trouble::NotAMessage { wrong, .. } if !wrong.contains("`id`") => {
            Some(finding.message.clone())
        }
        Trouble::NotAMessage { change, .. } => Some((*change).to_owned()),
        Trouble::Ended { status, to, .. } => {
            // Calls have many names here.
            let of_life = ["hello", "open", "close", "shutdown"].contains(&to.as_str());
            let to = if of_life { to } else { "call" };
            Some(format!("{status} {to}\n{}", finding.stderr.join("\n")))
        }
        Trouble::Silent { .. }
        | Trouble::Frame(_)
        | Trouble::AsksTooMuch { .. }
        | Trouble::ClosedStdin => None,
    }
}

/// Enough lines to see an exception and its location.
fn last(stderr: &[String]) -> Vec<String> {
    const MOST: usize = 10;
    stderr[stderr.len().saturating_sub(MOST)..].to_vec()
}
