//! Runs whose log, history or stream differs from what happened.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::driver::under_rules;
use agent_runs::{Id, Line, Policy, Served};
use serde_json::Value;

use proofmark_room::Adversary;

pub(crate) const ALL: &[Adversary] = &[
    Adversary::saboteur(
        "loses-an-event-on-reconnect",
        "a consumer that comes back misses the first event after the one that it names",
        &["RUNS-136"],
        |subject| under_rules(subject, Arc::new(LosesOnReconnect)),
    ),
    Adversary::saboteur(
        "cuts-its-history-at-a-hundred",
        "the history has the last hundred events",
        &["RUNS-027"],
        |subject| under_rules(subject, Arc::new(CutsHistory)),
    ),
    Adversary::saboteur(
        "answers-one-event-too-few",
        "the history after an event leaves the next one out",
        &["RUNS-031"],
        |subject| under_rules(subject, Arc::new(AnswersTooFew)),
    ),
    Adversary::saboteur(
        "leaves-a-gap-before-the-present",
        "the last event of a past of several is not streamed",
        &["RUNS-019", "RUNS-135", "RUNS-151"],
        |subject| under_rules(subject, Arc::new(LeavesAGap)),
    )
    .slow(),
    Adversary::saboteur(
        "repeats-where-the-present-begins",
        "the last event of a past of several is streamed twice",
        &["RUNS-019", "RUNS-135"],
        |subject| under_rules(subject, Arc::new(RepeatsTheLast)),
    ),
    Adversary::saboteur(
        "streams-the-past-backwards",
        "the stream begins with the newest event",
        &["RUNS-019", "RUNS-135"],
        |subject| under_rules(subject, Arc::new(StreamsBackwards)),
    ),
    Adversary::saboteur(
        "streams-the-diff-first",
        "the stream has the diff of a turn before its final message; the log does not",
        &["RUNS-019"],
        |subject| under_rules(subject, Arc::new(StreamsDiffFirst)),
    ),
    Adversary::saboteur(
        "streams-to-one-consumer-alone",
        "only the first consumer gets the event of a new edge",
        &["RUNS-132"],
        |subject| under_rules(subject, Arc::new(StreamsToOne::default())),
    )
    .slow(),
    Adversary::saboteur(
        "logs-the-diff-first",
        "the log has the diff of a turn before its final message; the stream does not",
        &["RUNS-019"],
        |subject| under_rules(subject, Arc::new(LogsDiffFirst)),
    ),
    Adversary::saboteur(
        "does-not-log-deleted-edges",
        "the removal of an edge is streamed but not logged",
        &["RUNS-014", "RUNS-019"],
        |subject| under_rules(subject, Arc::new(DoesNotLogDeletions)),
    )
    .slow(),
    Adversary::saboteur(
        "logs-one-event-late",
        "the last event of each write waits for the next one",
        &["RUNS-014", "RUNS-020", "RUNS-152"],
        |subject| under_rules(subject, Arc::new(LogsLate::default())),
    )
    .slow(),
    Adversary::saboteur(
        "writes-the-log-anew",
        "what is new takes the place of what was logged",
        &["RUNS-015", "RUNS-019", "RUNS-150"],
        |subject| under_rules(subject, Arc::new(WritesAnew)),
    ),
    Adversary::saboteur(
        "logs-eight-edges-and-messages",
        "of more than eight edges or messages of a run the rest is not written",
        &["RUNS-152"],
        |subject| under_rules(subject, Arc::new(LogsEight::default())),
    )
    .slow(),
    Adversary::saboteur(
        "records-what-it-refuses",
        "a message to a missing node is refused, but reported",
        &["RUNS-146"],
        |subject| under_rules(subject, Arc::new(RecordsRefused)),
    ),
];

/// A member of the event, if it is a string.
fn text_of(line: &Line, name: &str) -> Option<String> {
    let event: Value = serde_json::from_str(&line.json).ok()?;
    event[name].as_str().map(str::to_owned)
}

fn is(line: &Line, kind: &str) -> bool {
    text_of(line, "type").is_some_and(|text| text == kind)
}

fn lock<T>(memory: &Mutex<T>) -> MutexGuard<'_, T> {
    memory.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Swaps final messages with the diffs that follow them; they are always written together.
fn diff_first(mut lines: Vec<Line>) -> Vec<Line> {
    let last = lines.len().saturating_sub(1);
    for at in 0..last {
        if is(&lines[at], "message.assistant.final") && is(&lines[at + 1], "artifact.created") {
            lines.swap(at, at + 1);
        }
    }
    lines
}

struct LosesOnReconnect;

impl Policy for LosesOnReconnect {
    fn served(&self, to: Served, events: Vec<Line>) -> Vec<Line> {
        events.into_iter().skip(usize::from(to == Served::Missed)).collect()
    }
}

struct CutsHistory;

impl Policy for CutsHistory {
    fn served(&self, to: Served, events: Vec<Line>) -> Vec<Line> {
        let over = if to == Served::Answer { events.len().saturating_sub(100) } else { 0 };
        events.into_iter().skip(over).collect()
    }
}

struct AnswersTooFew;

impl Policy for AnswersTooFew {
    fn served(&self, to: Served, events: Vec<Line>) -> Vec<Line> {
        events.into_iter().skip(usize::from(to == Served::Rest)).collect()
    }
}

struct LeavesAGap;

impl Policy for LeavesAGap {
    fn served(&self, to: Served, mut events: Vec<Line>) -> Vec<Line> {
        if to == Served::Past && events.len() > 1 {
            events.pop();
        }
        events
    }
}

struct RepeatsTheLast;

impl Policy for RepeatsTheLast {
    fn served(&self, to: Served, mut events: Vec<Line>) -> Vec<Line> {
        if to == Served::Past && events.len() > 1 {
            events.extend(events.last().cloned());
        }
        events
    }
}

struct StreamsBackwards;

impl Policy for StreamsBackwards {
    fn served(&self, to: Served, mut events: Vec<Line>) -> Vec<Line> {
        if to == Served::Past {
            events.reverse();
        }
        events
    }
}

struct StreamsDiffFirst;

impl Policy for StreamsDiffFirst {
    fn served(&self, to: Served, events: Vec<Line>) -> Vec<Line> {
        match to {
            Served::Answer | Served::Rest => events,
            Served::Past | Served::Missed | Served::Live => diff_first(events),
        }
    }
}

#[derive(Default)]
struct StreamsToOne(Mutex<HashSet<Id>>);

impl Policy for StreamsToOne {
    fn served(&self, to: Served, events: Vec<Line>) -> Vec<Line> {
        if to != Served::Live {
            return events;
        }
        let mut read = lock(&self.0);
        let first = |line: &Line| !is(line, "edge.created") || read.insert(line.id);
        events.into_iter().filter(first).collect()
    }
}

struct LogsDiffFirst;

impl Policy for LogsDiffFirst {
    fn logged(&self, lines: Vec<Line>) -> Vec<Line> {
        diff_first(lines)
    }
}

struct DoesNotLogDeletions;

impl Policy for DoesNotLogDeletions {
    fn logged(&self, lines: Vec<Line>) -> Vec<Line> {
        lines.into_iter().filter(|line| !is(line, "edge.deleted")).collect()
    }
}

/// By run, the line that is not written yet.
#[derive(Default)]
struct LogsLate(Mutex<HashMap<String, Line>>);

impl Policy for LogsLate {
    fn logged(&self, mut lines: Vec<Line>) -> Vec<Line> {
        let Some(run) = lines.last().and_then(|line| text_of(line, "runId")) else { return lines };
        let mut late = lock(&self.0);
        let before = match lines.pop() {
            // Without its first line a run could not be reopened, which would break much else.
            Some(last) if is(&last, "run.patch") => {
                lines.push(last);
                late.remove(&run)
            }
            Some(last) => late.insert(run, last),
            None => None,
        };
        before.into_iter().chain(lines).collect()
    }
}

struct WritesAnew;

impl Policy for WritesAnew {
    fn adds_to_log(&self) -> bool {
        false
    }
}

/// The log keeps this many lines of each kind.
const ROOM: usize = 8;

/// Logged lines of each kind, by run.
#[derive(Default)]
struct LogsEight(Mutex<HashMap<(Option<String>, &'static str), usize>>);

impl Policy for LogsEight {
    fn logged(&self, lines: Vec<Line>) -> Vec<Line> {
        let mut counts = lock(&self.0);
        let fits = |line: &Line| {
            let kind = ["edge.created", "message.user"].into_iter().find(|kind| is(line, kind));
            kind.is_none_or(|kind| {
                let count = counts.entry((text_of(line, "runId"), kind)).or_default();
                *count += 1;
                *count <= ROOM
            })
        };
        lines.into_iter().filter(fits).collect()
    }
}

struct RecordsRefused;

impl Policy for RecordsRefused {
    fn records_refused(&self) -> bool {
        true
    }
}
