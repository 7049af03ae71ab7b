//! One case on one subject: open, act, judge, close.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;
use std::rc::Rc;

use futures::future::join_all;
use proofmark_fakes::host::Host;
use proofmark_fakes::workspace::TempWorkspace;
use proofmark_protocol::{Close, Open, RpcError};
use serde_json::{Value, json};

use super::files;
use super::outcome::{asks_differ, differs, expectation, reply_of};
use crate::case::{Action, CallStep, Case, MAIN_PROCESS, Step};
use crate::ledger::Contract;
use crate::problem::Location;
use crate::subject::Fault;
use crate::subject::connection::{Ask, Connection, SessionHost};
use crate::verdict::{CallSeen, Exchange, Failure, Verdict};

/// Where a case gets a process from, and gives it back to.
pub(super) trait Processes {
    /// The process that many cases share.
    fn shared(&self) -> Rc<Connection>;
    /// A process that no other case uses.
    async fn spare(&self) -> Result<Rc<Connection>, Fault>;
    fn give_back(&self, spare: Rc<Connection>);
}

/// Runs a case. `Err` is a fault of a process, for which this case may or may not be to blame.
pub(super) async fn execute<P: Processes>(
    case: &Case,
    contract: &Contract,
    processes: &P,
    scratch: &Path,
    number: u64,
) -> Result<Verdict, Fault> {
    let workspace = match contract.workspace.then(|| prepare(case, scratch, number)).transpose() {
        Ok(workspace) => workspace,
        // The harness's own folder: the subject has not been asked anything yet.
        Err(message) => {
            return Ok(Verdict::Failed { failure: Box::new(bare("workspace", message, &case.at)) });
        }
    };
    let mut stage = Stage {
        case,
        processes,
        workspace,
        session: format!("s{number}"),
        seats: BTreeMap::new(),
        exchanges: Vec::new(),
        asks: Vec::new(),
    };
    let mut failure = None;
    for step in &case.steps {
        if let Err(stop) = stage.step(step).await {
            match stop {
                Stop::Failure(found) => failure = Some(found),
                Stop::Fault(fault) => return Err(fault),
            }
            break;
        }
    }
    let closed = stage.close().await?;
    let failure = failure.or(closed).map(|found| stage.explain(found));
    Ok(match failure {
        Some(failure) => Verdict::Failed { failure },
        None => Verdict::Passed,
    })
}

fn prepare(case: &Case, scratch: &Path, number: u64) -> Result<TempWorkspace, String> {
    let workspace =
        TempWorkspace::new_in(scratch, &format!("{number}-")).map_err(|fault| fault.to_string())?;
    files::write(&workspace, &case.given.files).map_err(|fault| fault.to_string())?;
    Ok(workspace)
}

/// A failure with nothing but a reason.
pub(super) fn bare(reason: &str, told: String, at: &Location) -> Failure {
    Failure {
        reason: reason.to_owned(),
        told,
        at: at.to_string(),
        words: None,
        call: None,
        expected: None,
        got: None,
        difference: None,
        asks: Vec::new(),
        transcript: Vec::new(),
        stderr: Vec::new(),
    }
}

/// Why a case ends early.
enum Stop {
    Failure(Box<Failure>),
    Fault(Fault),
}

impl From<Failure> for Stop {
    fn from(failure: Failure) -> Self {
        Self::Failure(Box::new(failure))
    }
}

impl From<Fault> for Stop {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

/// A session in one process of the subject.
struct Seat {
    connection: Rc<Connection>,
    host: Rc<SessionHost>,
    shared: bool,
}

struct Stage<'a, P> {
    case: &'a Case,
    processes: &'a P,
    workspace: Option<TempWorkspace>,
    session: String,
    seats: BTreeMap<&'a str, Seat>,
    exchanges: Vec<(&'a CallStep, Value)>,
    asks: Vec<Ask>,
}

impl<'a, P: Processes> Stage<'a, P> {
    async fn step(&mut self, step: &'a Step) -> Result<(), Stop> {
        match &step.action {
            Action::Call(call) => {
                self.seat(&call.process).await?;
                let answer = self.send(call).await?;
                self.judge(step, call, answer, true)
            }
            Action::Together(calls) => {
                for call in calls {
                    self.seat(&call.process).await?;
                }
                let answers = join_all(calls.iter().map(|call| self.send(call))).await;
                for (call, answer) in calls.iter().zip(answers) {
                    self.judge(step, call, answer?, false)?;
                }
                Ok(())
            }
            Action::Kill { process } => {
                self.seat(process).await?;
                match self.seats.remove(process.as_str()) {
                    // What it did before it was killed still counts.
                    Some(seat) => {
                        seat.connection.kill().await.map_or(Ok(()), |fault| Err(Stop::Fault(fault)))
                    }
                    None => Ok(()),
                }
            }
            Action::Write(given) => {
                match self.workspace.as_ref().map(|workspace| files::write(workspace, given)) {
                    Some(Err(fault)) => {
                        Err(Stop::from(at_step(step, "workspace", fault.to_string())))
                    }
                    Some(Ok(())) | None => Ok(()),
                }
            }
            Action::Leaves(expected) => {
                match self
                    .workspace
                    .as_ref()
                    .and_then(|workspace| files::check(workspace, expected))
                {
                    Some(file) => Err(Stop::from(Failure {
                        expected: Some(file.expected),
                        got: Some(file.got),
                        difference: Some(file.difference),
                        ..at_step(step, "difference", "a file is not as expected".to_owned())
                    })),
                    None => Ok(()),
                }
            }
        }
    }

    /// Makes sure that there is a session in the process of that name.
    async fn seat(&mut self, process: &'a str) -> Result<(), Stop> {
        if self.seats.contains_key(process) {
            return Ok(());
        }
        // A process that the case kills must be its own.
        let killed =
            |step: &Step| matches!(&step.action, Action::Kill { process: name } if name == process);
        let shared = process == MAIN_PROCESS && !self.case.steps.iter().any(killed);
        let connection =
            if shared { self.processes.shared() } else { self.processes.spare().await? };
        let given = &self.case.given;
        let fakes = Host::new(&given.fakes)
            .map_err(|message| Stop::from(self.refused("fakes", message)))?;
        let host = Rc::new(SessionHost { fakes: RefCell::new(fakes), ..SessionHost::default() });
        let open = Open {
            session: self.session.clone(),
            workspace: self
                .workspace
                .as_ref()
                .map(|workspace| workspace.root().to_string_lossy().into_owned()),
            clock: given.clock.clone(),
            random: given.random.clone(),
            fakes: given.fakes.keys().cloned().collect(),
        };
        connection.attach(&self.session, Rc::clone(&host));
        let answer = connection.call("open", &open).await?;
        self.seats.insert(process, Seat { connection, host, shared });
        match answer {
            Ok(_) => Ok(()),
            Err(error) => Err(Stop::from(
                self.refused("adapter-error", format!("the adapter refused `open`: {error}")),
            )),
        }
    }

    async fn send(&self, call: &CallStep) -> Result<Result<Value, RpcError>, Fault> {
        let seat = &self.seats[call.process.as_str()];
        // Borrowed, so that large arguments are written once and never copied.
        let params =
            CallRef { session: &self.session, operation: &call.operation, args: &call.args };
        seat.connection.call("call", &params).await
    }

    fn judge(
        &mut self,
        step: &Step,
        call: &'a CallStep,
        answer: Result<Value, RpcError>,
        alone: bool,
    ) -> Result<(), Stop> {
        let of_call =
            |reason, told| Failure { call: Some(seen(call)), ..at_step(step, reason, told) };
        let asks = alone.then(|| {
            std::mem::take(&mut *self.seats[call.process.as_str()].host.asks.borrow_mut())
        });
        let reply = match answer {
            Ok(reply) => reply,
            Err(error) if error.code == RpcError::NOT_IMPLEMENTED => {
                return Err(Stop::from(of_call(
                    "not-implemented",
                    format!("the adapter does not implement it: {error}"),
                )));
            }
            Err(error) => {
                return Err(Stop::from(of_call(
                    "adapter-error",
                    format!("the adapter broke instead of answering: {error}"),
                )));
            }
        };
        let (kind, value) = match reply_of(reply) {
            Ok(reply) => reply,
            Err(reply) => {
                let told =
                    "the answer to `call` must be {\"value\": …} or {\"error\": {\"code\": …, …}}"
                        .to_owned();
                return Err(Stop::from(Failure {
                    got: Some(reply),
                    ..of_call("bad-answer", told)
                }));
            }
        };
        let difference = differs(&call.expect, kind, &value);
        let asked = asks.and_then(|asks| {
            let difference = asks_differ(call, &asks);
            self.asks.extend(asks);
            difference
        });
        let outcome = json!({ kind.word(): value });
        if let Some(difference) = difference {
            return Err(Stop::from(Failure {
                expected: Some(expectation(&call.expect)),
                got: Some(outcome),
                difference: Some(difference),
                ..of_call("difference", "the outcome is not as expected".to_owned())
            }));
        }
        self.exchanges.push((call, outcome));
        match asked {
            Some((expected, got, difference)) => Err(Stop::from(Failure {
                expected: Some(expected),
                got: Some(got),
                difference: Some(difference),
                ..of_call("difference", "the calls of fakes are not as expected".to_owned())
            })),
            None => Ok(()),
        }
    }

    /// A failure of the case as a whole.
    fn refused(&self, reason: &str, told: String) -> Failure {
        bare(reason, told, &self.case.at)
    }

    /// Closes every session and gives the spare processes back.
    async fn close(&mut self) -> Result<Option<Box<Failure>>, Fault> {
        let mut refused = None;
        for seat in std::mem::take(&mut self.seats).into_values() {
            let answer =
                seat.connection.call("close", &Close { session: self.session.clone() }).await?;
            self.asks.append(&mut seat.host.asks.borrow_mut());
            seat.connection.detach(&self.session);
            if let Err(error) = answer {
                let told = format!("the adapter refused `close`: {error}");
                refused = Some(Box::new(self.refused("adapter-error", told)));
            }
            if !seat.shared {
                self.processes.give_back(seat.connection);
            }
        }
        Ok(refused)
    }

    /// Adds the surroundings; the workspace's own path becomes a word, so that two runs tell the same.
    fn explain(&self, mut failure: Box<Failure>) -> Box<Failure> {
        failure.transcript = self
            .exchanges
            .iter()
            .map(|(call, outcome)| Exchange { call: seen(call), outcome: outcome.clone() })
            .collect();
        failure.asks.clone_from(&self.asks);
        failure.stderr = self.processes.shared().stderr();
        if let Some(workspace) = &self.workspace {
            let root = workspace.root().to_string_lossy();
            let hide = |text: &mut String| {
                if text.contains(&*root) {
                    *text = text.replace(&*root, "<workspace>");
                }
            };
            hide(&mut failure.told);
            if let Some(difference) = &mut failure.difference {
                hide(&mut difference.expected);
                hide(&mut difference.got);
            }
            for value in failure
                .got
                .iter_mut()
                .chain(failure.transcript.iter_mut().map(|exchange| &mut exchange.outcome))
            {
                each_string(value, &hide);
            }
            failure.stderr.iter_mut().for_each(hide);
        }
        failure
    }
}

#[derive(serde::Serialize)]
struct CallRef<'a> {
    session: &'a str,
    operation: &'a str,
    args: &'a Value,
}

fn each_string(value: &mut Value, change: &impl Fn(&mut String)) {
    match value {
        Value::String(text) => change(text),
        Value::Array(items) => items.iter_mut().for_each(|item| each_string(item, change)),
        Value::Object(map) => map.values_mut().for_each(|item| each_string(item, change)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn seen(call: &CallStep) -> CallSeen {
    let CallStep { operation, args, process, .. } = call;
    CallSeen { operation: operation.clone(), args: args.clone(), process: process.clone() }
}

/// A failure of one step.
fn at_step(step: &Step, reason: &str, told: String) -> Failure {
    Failure { words: step.words.clone(), ..bare(reason, told, &step.at) }
}
