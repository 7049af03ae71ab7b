//! Computes the verdict of a case from its transcript. Nothing here talks to a subject.

use std::borrow::{Borrow, Cow};

use proofmark_protocol::RpcError;
use serde_json::{Value, json};

use crate::case::{Action, CallStep, Case, CaseKind, Step};
use crate::examples::Example;
use crate::fault::Fault;
use crate::files;
use crate::law::{Law, LawOptions};
use crate::matcher::Difference;
use crate::outcome::{
    Kind, asks_differ, differs, events_differ, expectation, find_hidden, joined, reply_of,
};
use crate::saved::Saved;
use crate::transcript::{Answered, Ask, Ending, Seen, Stopped, Transcript, When};
use crate::value::{bounded, bounded_copy};
use crate::verdict::{CallSeen, Exchange, Failure, Verdict};
use crate::wire;

/// Judges a case by its transcript.
pub fn judge(case: &Case, transcript: &Transcript) -> Verdict {
    let mut judge = Judge::new(case);
    let next = case.steps.get(transcript.steps.len());
    let mut judged = case
        .steps
        .iter()
        .zip(&transcript.steps)
        .try_for_each(|(step, seen)| judge.step(step, seen));
    match &transcript.stopped {
        Some(Stopped::Fault { fault, when, asks }) => {
            let step = next.filter(|_| *when == When::Step);
            let mut failure = judge.faulted(step, fault, asks);
            failure.setup |= *when == When::Start;
            return Verdict::of(failure);
        }
        Some(Stopped::Refused(error)) => {
            judged = judged.and_then(|()| Err(refused_open(case, error)));
        }
        Some(Stopped::Fakes(message)) => {
            judged = judged.and_then(|()| Err(broken_fakes(case, message.clone())));
        }
        None => {
            judged = judged.and_then(|()| next.map_or(Ok(()), |step| Err(judge.unseen(step))));
        }
    }
    // Also after a failure: the report shows the calls of fakes at the end, too.
    let ended = judge.end(&transcript.end);
    match judged.and(ended) {
        Ok(()) => Verdict::Passed,
        Err(failure) => Verdict::of(judge.explained(failure)),
    }
}

/// Judges a case of any kind. A law's inputs are regenerated from `laws`.
pub fn judge_case(case: &Case, laws: LawOptions, transcript: &Transcript) -> Verdict {
    match case.kind {
        CaseKind::Law(law) => {
            judge_law(case, law, laws, law.tried(laws, &transcript.tries), transcript)
        }
        CaseKind::Fixture | CaseKind::Scenario => judge(case, transcript),
    }
}

/// `examples` are the law's inputs, one for each attempt of the transcript.
pub(crate) fn judge_law(
    case: &Case,
    law: &Law,
    options: LawOptions,
    examples: impl IntoIterator<Item = impl Borrow<Example>>,
    transcript: &Transcript,
) -> Verdict {
    if let Some(Stopped::Fault { fault, .. }) = &transcript.stopped {
        let failure = Failure::new(fault.code(), fault.to_string(), &case.at);
        return Verdict::of(Box::new(Failure { setup: true, ..failure }));
    }
    let mut tried = 0;
    for (example, attempt) in examples.into_iter().zip(&transcript.tries) {
        let example: &Example = example.borrow();
        match example.case.as_ref().map(|made| judge(made, &attempt.transcript)) {
            // A passing shrunk input says nothing about the input that it came from.
            Ok(Verdict::Passed) if attempt.path.is_empty() => tried += 1,
            Ok(Verdict::Passed | Verdict::NotExercised { .. }) => break,
            Ok(Verdict::Failed { failure } | Verdict::Blocked { failure }) => {
                return Verdict::of(broken_law(case, law, &example.input, failure));
            }
            Err(message) => {
                return Verdict::of(bad_input(case, law, &example.input, message.clone()));
            }
        }
    }
    if tried < options.cases {
        return Verdict::of(too_few_inputs(case, tried, options));
    }
    Verdict::Passed
}

/// Reports the failure of one input as the failure of its law.
pub fn broken_law(
    case: &Case,
    law: &Law,
    input: &Value,
    mut failure: Box<Failure>,
) -> Box<Failure> {
    failure.at = case.at.to_string();
    failure.found = Some(law.fixture(input));
    failure
}

/// The law generated something that is not a case.
pub fn bad_input(case: &Case, law: &Law, input: &Value, message: String) -> Box<Failure> {
    broken_law(case, law, input, Box::new(Failure::new("broken-law", message, &case.at)))
}

/// A law passes only if every input was tried.
pub fn too_few_inputs(case: &Case, tried: u32, options: LawOptions) -> Box<Failure> {
    let message = format!("the law was tried with {tried} of {} inputs", options.cases);
    Box::new(Failure::new("incomplete", message, &case.at))
}

/// The adapter refused `open`, so the case could not begin.
pub fn refused_open(case: &Case, error: &RpcError) -> Box<Failure> {
    let failure = if error.code == wire::NO_WIRE {
        Failure::new("bad-answer", error.message.clone(), &case.at)
    } else {
        let message = format!("the adapter refused `open`: {error}");
        Failure::new("adapter-error", message, &case.at)
    };
    Box::new(Failure { setup: true, ..failure })
}

/// The scripts of the case's fakes are invalid.
pub fn broken_fakes(case: &Case, message: String) -> Box<Failure> {
    Box::new(Failure::new("fakes", message, &case.at))
}

/// Judges one case step by step, up to the first difference.
pub struct Judge<'a> {
    case: &'a Case,
    saved: Saved,
    exchanges: Vec<(&'a CallStep, Value)>,
    asks: Vec<Ask>,
    /// Only the reason of a failure is needed: skip copying values for the report.
    brief: bool,
    /// The arguments of calls may refer to answers that this judge has not seen.
    out_of_context: bool,
}

impl<'a> Judge<'a> {
    pub fn new(case: &'a Case) -> Self {
        let (exchanges, asks) = (Vec::new(), Vec::new());
        let saved = Saved::default();
        Self { case, saved, exchanges, asks, brief: false, out_of_context: false }
    }

    /// A copy that continues from here, without the history.
    pub fn fork(&self) -> Self {
        Self { saved: self.saved.clone(), ..Self::new(self.case) }
    }

    /// Failures carry a reason and little else. Mutation testing judges hundreds of thousands of mutants this way.
    #[must_use]
    pub fn briefly(self) -> Self {
        Self { brief: true, ..self }
    }

    /// Judges single steps without those before them.
    #[must_use]
    pub fn out_of_context(self) -> Self {
        Self { out_of_context: true, ..self }
    }

    /// The arguments of a call, with references to earlier answers filled in. If they cannot be, the case is blocked.
    pub fn args(&self, step: &Step, call: &'a CallStep) -> Result<Cow<'a, Value>, Box<Failure>> {
        let failed = |message: String| {
            Box::new(Failure {
                call: Some(seen_call(call)),
                setup: true,
                ..at_step(step, "difference", message)
            })
        };
        let args = self.saved.fill(&call.args).map_err(|reference| {
            let message = "the call needs something that an earlier answer does not have";
            let mut failure = failed(message.to_owned());
            failure.difference = Some(missing(&reference));
            failure
        })?;
        wire::arguments::check(&call.operation, &args).map_err(|message| {
            failed(format!("earlier answers give invalid arguments for this call: {message}"))
        })?;
        Ok(args)
    }

    /// Compares one step with what was seen of it.
    pub fn step(&mut self, step: &'a Step, seen: &Seen) -> Result<(), Box<Failure>> {
        let judged = self.step_as_evidence(step, seen);
        judged.map_err(|failure| {
            let setup = failure.setup || step.setup;
            Box::new(Failure { setup, ..*failure })
        })
    }

    fn step_as_evidence(&mut self, step: &'a Step, seen: &Seen) -> Result<(), Box<Failure>> {
        match (&step.action, seen) {
            (Action::Call(call), Seen::Calls(answers)) if answers.len() == 1 => {
                self.call(step, call, &answers[0], true)
            }
            (Action::Together(calls), Seen::Calls(answers)) if answers.len() == calls.len() => {
                calls
                    .iter()
                    .zip(answers)
                    .try_for_each(|(call, answer)| self.call(step, call, answer, false))
            }
            (Action::Leaves(expected), Seen::Files(found)) => {
                match files::check(expected, found, &self.saved) {
                    Some(file) => Err(Box::new(Failure {
                        expected: Some(file.expected),
                        got: Some(file.got),
                        difference: Some(file.difference),
                        ..at_step(step, "difference", "a file is not as expected".to_owned())
                    })),
                    None => Ok(()),
                }
            }
            (Action::Kill { .. } | Action::Write(_), Seen::Nothing) => Ok(()),
            _ => Err(Box::new(at_step(
                step,
                "incomplete",
                "the transcript does not fit this step".to_owned(),
            ))),
        }
    }

    /// A step without an observation did not run, so the case cannot pass.
    fn unseen(&self, step: &'a Step) -> Box<Failure> {
        let mut calls = step.calls().iter();
        match calls.find_map(|call| self.args(step, call).err()) {
            Some(failure) => failure,
            None => Box::new(at_step(step, "incomplete", "the step was not executed".to_owned())),
        }
    }

    /// A process faulted, at this step or outside any step.
    pub fn faulted(&mut self, step: Option<&Step>, fault: &Fault, asks: &[Ask]) -> Box<Failure> {
        self.asks.extend(asks.iter().cloned());
        let mut failure = Box::new(match step {
            Some(step) => {
                // Without an answer, nothing that the case assumes is there.
                let unassumed = matches!(fault, Fault::NoAnswer { .. })
                    && step.calls().iter().any(|call| !call.assumes.is_empty());
                let setup = step.is_setup() || unassumed;
                Failure { setup, ..at_step(step, fault.code(), fault.to_string()) }
            }
            None => Failure::new(fault.code(), fault.to_string(), &self.case.at),
        });
        if let Some(Action::Call(call)) = step.map(|step| &step.action) {
            failure.call = Some(seen_call(call));
        }
        self.explained(failure)
    }

    fn call(
        &mut self,
        step: &Step,
        call: &'a CallStep,
        answer: &Answered,
        alone: bool,
    ) -> Result<(), Box<Failure>> {
        // A changed earlier answer may lack what the arguments refer to.
        if !self.out_of_context {
            self.args(step, call)?;
        }
        let (kind, value) = match outcome(step, call, answer, &self.saved, self.brief) {
            Ok(found) => found,
            Err(failure) if self.brief => return Err(failure),
            // Report failures with sorted members: a subject's member order may vary between runs.
            Err(_) => {
                self.asks.extend(answer.asks.iter().cloned());
                return outcome(step, call, &answer.sorted(), &self.saved, false).map(drop);
            }
        };
        if !self.brief {
            self.asks.extend(answer.asks.iter().cloned());
            self.exchanges.push((call, shown_outcome(kind, value)));
        }
        if let Some(name) = &call.saved_as {
            self.saved.keep(name, value.clone());
        }
        if let Some(name) = &call.stream_as {
            self.saved.keep(name, joined(&answer.events).into());
        }
        let done = side_effects(step, call, answer, alone, &self.saved);
        if self.brief {
            return done;
        }
        done.or_else(|_| side_effects(step, call, &answer.sorted(), alone, &self.saved))
    }

    /// Fakes may only be called during a call, which states what it expects. Any other call of a fake blocks the case,
    /// since no case is about it.
    pub fn end(&mut self, end: &Ending) -> Result<(), Box<Failure>> {
        self.asks.extend(end.asks.iter().cloned());
        let whole = |reason, message| Err(Box::new(Failure::new(reason, message, &self.case.at)));
        match (&end.refused, end.asks.first()) {
            (Some(message), _) => {
                whole("adapter-error", format!("the adapter refused `close`: {message}"))
            }
            (None, Some(ask)) => {
                let message =
                    format!("`{}.{}` was called outside of any call", ask.fake, ask.method);
                let failure = Failure::new("difference", message, &self.case.at);
                Err(Box::new(Failure { setup: true, ..failure }))
            }
            (None, None) => Ok(()),
        }
    }

    /// Adds the preceding calls.
    pub fn explained(&self, mut failure: Box<Failure>) -> Box<Failure> {
        let exchange = |(call, outcome): &(&CallStep, Value)| {
            let mut outcome = outcome.clone();
            outcome.sort_all_objects();
            Exchange { call: seen_call(call), outcome }
        };
        failure.transcript = self.exchanges.iter().map(exchange).collect();
        failure.asks = self.asks.iter().take(SHOWN_ASKS).cloned().collect();
        for ask in &mut failure.asks {
            ask.args = bounded(std::mem::take(&mut ask.args));
        }
        failure
    }
}

/// The outcome of one call, if it is as expected and leaks no hidden text.
fn outcome<'a>(
    step: &Step,
    call: &CallStep,
    answer: &'a Answered,
    saved: &Saved,
    brief: bool,
) -> Result<(Kind, &'a Value), Box<Failure>> {
    // Without an answer, nothing that the case assumes is there.
    let of_call = |reason, message| Failure {
        call: Some(seen_call(call)),
        setup: !call.assumes.is_empty(),
        ..at_step(step, reason, message)
    };
    let reply = match &answer.reply {
        Ok(reply) => reply,
        Err(error) if error.code == RpcError::NOT_IMPLEMENTED => {
            let message = format!("the adapter does not implement it: {error}");
            return Err(Box::new(of_call("not-implemented", message)));
        }
        Err(error) if error.code == wire::ODD => {
            return Err(Box::new(of_call("bad-answer", error.message.clone())));
        }
        Err(error) => {
            let message = format!("the adapter failed instead of answering: {error}");
            return Err(Box::new(of_call("adapter-error", message)));
        }
    };
    let Some((kind, value)) = reply_of(reply) else {
        if brief {
            return Err(bare(step, "bad-answer", !call.assumes.is_empty()));
        }
        let message = "the answer to `call` must be {\"value\": …} or {\"error\": {\"code\": …, \"message\": …, …}}; `code`, `message` and an optional `name` must be strings";
        return Err(Box::new(Failure {
            got: Some(bounded_copy(reply)),
            ..of_call("bad-answer", message.to_owned())
        }));
    };
    for (outcomes, setup) in [(&call.assumes, true), (&call.expect, false)] {
        let Some(difference) = differs(outcomes, kind, value, saved) else { continue };
        if brief {
            return Err(bare(step, "difference", setup));
        }
        let message = if setup {
            "the call did not do what the case needs first"
        } else {
            "the outcome is not as expected"
        };
        return Err(Box::new(Failure {
            expected: Some(bounded(expectation(outcomes))),
            got: Some(shown_outcome(kind, value)),
            difference: Some(difference),
            setup,
            ..of_call("difference", message.to_owned())
        }));
    }
    if let Some((hidden, path)) = leaked(call, value, &answer.events) {
        return Err(Box::new(Failure {
            difference: Some(Difference {
                path,
                expected: format!("no text that contains {}", Value::from(hidden)),
                got: "a text that contains it".to_owned(),
            }),
            got: Some(shown_outcome(kind, value)),
            setup: false,
            ..of_call("difference", "the call leaked a text that must stay hidden".to_owned())
        }));
    }
    Ok((kind, value))
}

/// Checks the calls of fakes and the items of the stream.
fn side_effects(
    step: &Step,
    call: &CallStep,
    answer: &Answered,
    alone: bool,
    saved: &Saved,
) -> Result<(), Box<Failure>> {
    let asks = asks_differ(call, &answer.asks, saved).filter(|_| alone);
    let events = || events_differ(call, &answer.events, saved);
    let implied = call.implied;
    let differs =
        asks.map(|lists| ("the calls of fakes are not as expected", lists, implied.asks)).or_else(
            || Some(("the items of the stream are not as expected", events()?, implied.streams)),
        );
    match differs {
        Some((message, (expected, got, difference), setup)) => Err(Box::new(Failure {
            call: Some(seen_call(call)),
            setup,
            expected: Some(expected),
            got: Some(got),
            difference: Some(difference),
            ..at_step(step, "difference", message.to_owned())
        })),
        None => Ok(()),
    }
}

fn shown_outcome(kind: Kind, value: &Value) -> Value {
    json!({ kind.word(): bounded_copy(value) })
}

/// The first leaked text of `hides`, and where it occurs.
fn leaked<'a>(call: &'a CallStep, value: &Value, events: &[Value]) -> Option<(&'a str, String)> {
    // Also in joined texts: a leaked text may be split over several items.
    let joined = joined(events);
    let mut items = events.iter().enumerate().chain(joined.iter().enumerate());
    find_hidden(&call.hides, value, "$").or_else(|| {
        items.find_map(|(index, item)| {
            find_hidden(&call.hides, item, &format!("item {} of the stream, $", index + 1))
        })
    })
}

/// A failure keeps at most this many calls of fakes.
const SHOWN_ASKS: usize = 100;

pub(crate) fn seen_call(call: &CallStep) -> CallSeen {
    let CallStep { operation, args, process, session, .. } = call;
    CallSeen {
        operation: operation.clone(),
        args: bounded_copy(args),
        process: process.clone(),
        session: session.clone(),
    }
}

/// A reference into an earlier answer, such as `plan/result/id`, that leads nowhere.
fn missing(reference: &str) -> Difference {
    let (name, pointer) = reference.split_once('/').unwrap_or((reference, ""));
    let path = pointer.split('/').filter(|part| !part.is_empty());
    Difference {
        path: path.fold(String::from("$"), |path, part| format!("{path}.{part}")),
        expected: format!("a value in the answer that the case calls `{name}`"),
        got: "nothing: the member is missing".to_owned(),
    }
}

/// A failure that no report shows.
fn bare(step: &Step, reason: &str, setup: bool) -> Box<Failure> {
    Box::new(Failure { setup, ..Failure::new(reason, String::new(), &step.at) })
}

/// A failure of one step.
pub(crate) fn at_step(step: &Step, reason: &str, message: String) -> Failure {
    Failure { words: step.words.clone(), ..Failure::new(reason, message, &step.at) }
}
