//! One case on one subject: open, act, judge, close.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;
use std::rc::Rc;

use futures::future::join_all;
use proofmark_fakes::host::Host;
use proofmark_fakes::workspace::TempWorkspace;
use proofmark_protocol::{Close, Open, RpcError};
use sage_errors::SageError;
use serde_json::{Value, json};

use super::files;
use super::outcome::{asks_differ, bounded, differs, each_string, expectation, reply_of};
use crate::case::{Action, CallStep, Case, MAIN_PROCESS, Step};
use crate::ledger::Contract;
use crate::subject::Fault;
use crate::subject::connection::{Ask, Connection, SessionHost};
use crate::verdict::{CallSeen, Exchange, Failure, NotExercised, Verdict};

/// Where a case gets a process from, and gives it back to.
pub(super) trait Processes {
    /// The process that many cases share.
    fn shared(&self) -> Rc<Connection>;
    /// A process that no other case uses.
    async fn spare(&self) -> Result<Rc<Connection>, Fault>;
    fn give_back(&self, spare: Rc<Connection>);
    /// A call was answered, in whatever way.
    fn note_answer(&self);
}

/// A process faulted while a case was under way, for which the case may or may not be to blame.
pub(super) struct Faulted {
    pub(super) fault: Fault,
    /// The failure that it is if the case is to blame.
    pub(super) failure: Box<Failure>,
    /// The process that faulted; none if it could not be started.
    pub(super) connection: Option<Rc<Connection>>,
}

/// Runs a case.
pub(super) async fn execute<P: Processes>(
    case: &Case,
    contract: &Contract,
    processes: &P,
    scratch: &Path,
    number: u64,
) -> Result<Verdict, Faulted> {
    let workspace = match contract.workspace.then(|| prepare(case, scratch, number)).transpose() {
        Ok(workspace) => workspace,
        Err(fault) => return Ok(no_workspace(&fault)),
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
    let mut failed = None;
    for step in &case.steps {
        match stage.step(step).await {
            Ok(()) => continue,
            Err(Stop::Failure(failure)) => failed = Some((failure, stage.process_of(step))),
            Err(Stop::Fault(fault)) => return Err(stage.faulted(fault, Some(step))),
            Err(Stop::NoWorkspace(fault)) => return Ok(no_workspace(&fault)),
        }
        break;
    }
    let closed = match stage.close().await {
        Ok(closed) => closed.map(|failure| (failure, None)),
        Err(fault) => return Err(stage.faulted(fault, None)),
    };
    Ok(match failed.or(closed) {
        Some((failure, process)) => {
            Verdict::Failed { failure: stage.explain(failure, process.as_deref()) }
        }
        None => Verdict::Passed,
    })
}

/// The harness's own trouble, for which no subject is to blame.
fn no_workspace(fault: &SageError) -> Verdict {
    Verdict::NotExercised { reason: NotExercised::NoWorkspace(fault.to_string()) }
}

fn prepare(case: &Case, scratch: &Path, number: u64) -> Result<TempWorkspace, SageError> {
    let workspace = TempWorkspace::new_in(scratch, &format!("{number}-"))?;
    files::write(&workspace, &case.given.files)?;
    Ok(workspace)
}

/// Why a case ends early.
enum Stop {
    Failure(Box<Failure>),
    Fault(Fault),
    /// The harness could not write a file.
    NoWorkspace(SageError),
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
            Action::Write(given) => match &self.workspace {
                Some(workspace) => files::write(workspace, given).map_err(Stop::NoWorkspace),
                None => Ok(()),
            },
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
        self.seats.insert(process, Seat { connection: Rc::clone(&connection), host, shared });
        match connection.call("open", "open", &open).await? {
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
        let answer = seat.connection.call(&call.operation, "call", &params).await?;
        self.processes.note_answer();
        Ok(answer)
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
        let (kind, mut value) = match reply_of(reply) {
            Ok(reply) => reply,
            Err(reply) => {
                let told =
                    "the answer to `call` must be {\"value\": …} or {\"error\": {\"code\": …, …}}"
                        .to_owned();
                return Err(Stop::from(Failure {
                    got: Some(bounded(reply)),
                    ..of_call("bad-answer", told)
                }));
            }
        };
        self.hide_workspace(&mut value);
        let difference = differs(&call.expect, kind, &value);
        let asked = asks.and_then(|asks| {
            let difference = asks_differ(call, &asks);
            self.asks.extend(asks);
            difference
        });
        let outcome = bounded(json!({ kind.word(): value }));
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

    /// The process that a step speaks to.
    fn process_of(&self, step: &Step) -> Option<Rc<Connection>> {
        let name = match &step.action {
            Action::Call(call) => &call.process,
            Action::Kill { process } => process,
            Action::Together(_) | Action::Write(_) | Action::Leaves(_) => MAIN_PROCESS,
        };
        self.seats.get(name).map(|seat| Rc::clone(&seat.connection))
    }

    /// What is known when a process faults. Its sessions are lost: a late word of them counts no more.
    fn faulted(&mut self, fault: Fault, step: Option<&Step>) -> Faulted {
        let dead = self.seats.values().find(|seat| !seat.connection.is_alive());
        let connection = match dead {
            Some(seat) => Some(Rc::clone(&seat.connection)),
            None => step.and_then(|step| self.process_of(step)),
        };
        for seat in std::mem::take(&mut self.seats).into_values() {
            self.asks.append(&mut seat.host.asks.borrow_mut());
            seat.connection.detach(&self.session);
        }
        let mut failure = match step {
            Some(step) => at_step(step, fault.code(), fault.to_string()),
            None => self.refused(fault.code(), fault.to_string()),
        };
        if let Some(Action::Call(call)) = step.map(|step| &step.action) {
            failure.call = Some(seen(call));
        }
        let failure = self.explain(Box::new(failure), connection.as_deref());
        Faulted { fault, failure, connection }
    }

    /// A failure of the case as a whole.
    fn refused(&self, reason: &str, told: String) -> Failure {
        Failure::new(reason, told, &self.case.at)
    }

    /// Closes every session and gives the spare processes back.
    async fn close(&mut self) -> Result<Option<Box<Failure>>, Fault> {
        let mut refused = None;
        let close = Close { session: self.session.clone() };
        while let Some((&process, seat)) = self.seats.first_key_value() {
            let answer = seat.connection.call("close", "close", &close).await?;
            seat.connection.detach(&self.session);
            let asks = std::mem::take(&mut *seat.host.asks.borrow_mut());
            if let Err(error) = answer {
                let told = format!("the adapter refused `close`: {error}");
                refused = Some(Box::new(self.refused("adapter-error", told)));
            } else if let Some(ask) = asks.first() {
                // Calls of fakes belong to a single call, which says what they must be.
                let told = format!(
                    "`{}.{}` was called when no call could ask for it",
                    ask.fake, ask.method
                );
                refused = Some(Box::new(self.refused("difference", told)));
            }
            self.asks.extend(asks);
            if let Some(seat) = self.seats.remove(process)
                && !seat.shared
            {
                self.processes.give_back(seat.connection);
            }
        }
        Ok(refused)
    }

    /// The workspace's own path becomes a word, so that two runs tell the same.
    fn hide_workspace(&self, value: &mut Value) {
        if let Some(workspace) = &self.workspace {
            let root = workspace.root().to_string_lossy();
            each_string(value, &|text: &mut String| {
                if text.contains(&*root) {
                    *text = text.replace(&*root, "<workspace>");
                }
            });
        }
    }

    /// Adds the surroundings.
    fn explain(&self, mut failure: Box<Failure>, process: Option<&Connection>) -> Box<Failure> {
        failure.transcript = self
            .exchanges
            .iter()
            .map(|(call, outcome)| Exchange { call: seen(call), outcome: outcome.clone() })
            .collect();
        failure.asks = self.asks.iter().take(SHOWN_ASKS).cloned().collect();
        for ask in &mut failure.asks {
            self.hide_workspace(&mut ask.args);
            ask.args = bounded(std::mem::take(&mut ask.args));
        }
        failure.stderr = process.map(Connection::stderr).unwrap_or_default();
        failure
    }
}

/// So many calls of fakes are kept with a failure.
const SHOWN_ASKS: usize = 100;

#[derive(serde::Serialize)]
struct CallRef<'a> {
    session: &'a str,
    operation: &'a str,
    args: &'a Value,
}

fn seen(call: &CallStep) -> CallSeen {
    let CallStep { operation, args, process, .. } = call;
    CallSeen { operation: operation.clone(), args: args.clone(), process: process.clone() }
}

/// A failure of one step.
fn at_step(step: &Step, reason: &str, told: String) -> Failure {
    Failure { words: step.words.clone(), ..Failure::new(reason, told, &step.at) }
}
