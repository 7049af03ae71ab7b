//! One case on one subject: open, act, look, close. What was seen is judged elsewhere.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;
use std::rc::Rc;

use futures::future::join_all;
use proofmark_fakes::host::Host;
use proofmark_fakes::workspace::TempWorkspace;
use proofmark_protocol::{Close, Open, RpcError};
use sage_errors::SageError;
use serde_json::Value;

use crate::case::{Action, CallStep, Case, MAIN_PROCESS, MAIN_SESSION, Step};
use crate::files;
use crate::judge::{Judge, broken_fakes, refused_open};
use crate::ledger::Contract;
use crate::outcome::each_string;
use crate::subject::Fault;
use crate::subject::connection::Connection;
use crate::subject::host::{Ask, SessionHost};
use crate::transcript::{Answered, Ending, FileSeen, Seen, Stopped, Transcript, When};
use crate::verdict::{Failure, NotExercised, Verdict};

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
    /// What was seen until then.
    pub(super) transcript: Box<Transcript>,
    /// The process that faulted; none if it could not be started.
    pub(super) connection: Option<Rc<Connection>>,
}

/// A case that was played to its end.
pub(super) struct Played {
    pub(super) verdict: Verdict,
    /// Empty unless it was to be kept.
    pub(super) transcript: Transcript,
}

impl Played {
    /// Decided without a look at the subject.
    pub(super) fn without(verdict: Verdict) -> Self {
        Self { verdict, transcript: Transcript::default() }
    }
}

/// What a case is played with.
#[derive(Clone, Copy)]
pub(super) struct Setting<'a> {
    pub(super) contract: &'a Contract,
    pub(super) scratch: &'a Path,
    /// For the session and the workspace, so that no two have the same name.
    pub(super) number: u64,
    /// Whether the transcript is kept.
    pub(super) record: bool,
}

/// Runs a case.
pub(super) async fn execute<P: Processes>(
    case: &Case,
    processes: &P,
    setting: Setting<'_>,
) -> Result<Played, Faulted> {
    let workspace = match setting.contract.workspace.then(|| prepare(case, setting)).transpose() {
        Ok(workspace) => workspace,
        Err(fault) => return Ok(no_workspace(&fault)),
    };
    let mut stage = Stage {
        case,
        processes,
        workspace,
        session: format!("s{}", setting.number),
        crew: BTreeMap::new(),
        seats: BTreeMap::new(),
        stray: Vec::new(),
        judge: Judge::new(case),
    };
    let mut transcript = Transcript::default();
    let mut failed = None;
    for step in &case.steps {
        let judged = match stage.step(step).await {
            Ok(seen) => {
                let judged = stage.judge.step(step, &seen);
                if setting.record {
                    transcript.steps.push(seen);
                }
                judged
            }
            Err(Stop::Failure(failure)) => Err(failure),
            Err(Stop::Refused(error)) => {
                let failure = refused_open(case, &error);
                transcript.stopped = Some(Stopped::Refused(error));
                Err(failure)
            }
            Err(Stop::Fault(fault)) => return Err(stage.faulted(fault, Some(step), transcript)),
            Err(Stop::NoWorkspace(fault)) => return Ok(no_workspace(&fault)),
        };
        if let Err(failure) = judged {
            failed = Some((failure, stage.process_of(step)));
            break;
        }
    }
    let end = match stage.close().await {
        Ok(end) => end,
        Err(fault) => return Err(stage.faulted(fault, None, transcript)),
    };
    let ended = stage.judge.end(&end);
    transcript.end = end;
    let failed = failed.or(ended.err().map(|failure| (failure, None)));
    let verdict = match failed {
        Some((failure, process)) => {
            let mut failure = stage.judge.explained(failure);
            failure.stderr = process.map(|process| process.stderr()).unwrap_or_default();
            Verdict::Failed { failure }
        }
        None => Verdict::Passed,
    };
    Ok(Played { verdict, transcript })
}

/// The harness's own trouble, for which no subject is to blame.
fn no_workspace(fault: &SageError) -> Played {
    let reason = NotExercised::NoWorkspace(fault.to_string());
    Played::without(Verdict::NotExercised { reason })
}

fn prepare(case: &Case, setting: Setting<'_>) -> Result<TempWorkspace, SageError> {
    let workspace = TempWorkspace::new_in(setting.scratch, &format!("{}-", setting.number))?;
    files::write(&workspace, &case.given.files)?;
    Ok(workspace)
}

/// Why a case ends early.
enum Stop {
    Failure(Box<Failure>),
    /// The adapter refused `open`.
    Refused(RpcError),
    Fault(Fault),
    /// The harness could not write a file.
    NoWorkspace(SageError),
}

impl From<Box<Failure>> for Stop {
    fn from(failure: Box<Failure>) -> Self {
        Self::Failure(failure)
    }
}

impl From<Fault> for Stop {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

/// A process of the subject that takes part in the case.
struct Member {
    connection: Rc<Connection>,
    shared: bool,
}

/// A process and a session in it.
type Place<'a> = (&'a str, &'a str);

struct Stage<'a, P> {
    case: &'a Case,
    processes: &'a P,
    workspace: Option<TempWorkspace>,
    session: String,
    crew: BTreeMap<&'a str, Member>,
    seats: BTreeMap<Place<'a>, Rc<SessionHost>>,
    /// Calls of fakes that belong to no single call.
    stray: Vec<Ask>,
    judge: Judge<'a>,
}

fn place(call: &CallStep) -> Place<'_> {
    (&call.process, &call.session)
}

impl<'a, P: Processes> Stage<'a, P> {
    async fn step(&mut self, step: &'a Step) -> Result<Seen, Stop> {
        match &step.action {
            Action::Call(call) => {
                self.seat(place(call)).await?;
                self.note_stray(place(call));
                let mut answer = self.send(step, call).await?;
                answer.asks = self.take_asks(place(call), answer.events.len());
                Ok(Seen::Calls(vec![answer]))
            }
            Action::Together(calls) => {
                for call in calls {
                    self.seat(place(call)).await?;
                }
                let answers = join_all(calls.iter().map(|call| self.send(step, call))).await;
                for call in calls {
                    self.note_stray(place(call));
                }
                Ok(Seen::Calls(answers.into_iter().collect::<Result<_, _>>()?))
            }
            Action::Kill { process } => {
                self.seat((process, MAIN_SESSION)).await?;
                let places: Vec<Place<'_>> = self.seats.keys().copied().collect();
                for place in places.into_iter().filter(|(of, _)| of == process) {
                    self.note_stray(place);
                }
                self.seats.retain(|(of, _), _| of != process);
                match self.crew.remove(process.as_str()) {
                    // What it did before it was killed still counts.
                    Some(member) => member
                        .connection
                        .kill()
                        .await
                        .map_or(Ok(Seen::Nothing), |fault| Err(Stop::Fault(fault))),
                    None => Ok(Seen::Nothing),
                }
            }
            Action::Write(given) => {
                if let Some(workspace) = &self.workspace {
                    files::write(workspace, given).map_err(Stop::NoWorkspace)?;
                }
                Ok(Seen::Nothing)
            }
            Action::Leaves(expected) => Ok(Seen::Files(match &self.workspace {
                Some(workspace) => {
                    let mut found = files::look(workspace, expected);
                    for file in found.values_mut() {
                        if let FileSeen::Text(told) | FileSeen::Other(told) = file {
                            self.hide_in_text(told);
                        }
                    }
                    found
                }
                None => BTreeMap::new(),
            })),
        }
    }

    /// Makes sure that there is such a session.
    async fn seat(&mut self, place: Place<'a>) -> Result<(), Stop> {
        if self.seats.contains_key(&place) {
            return Ok(());
        }
        let connection = self.member(place.0).await?;
        let given = &self.case.given;
        let fakes = Host::new(&given.fakes)
            .map_err(|message| Stop::Failure(broken_fakes(self.case, message)))?;
        let host = Rc::new(SessionHost::new(fakes));
        let session = self.session_at(place);
        let open = Open {
            session: session.clone(),
            workspace: self
                .workspace
                .as_ref()
                .map(|workspace| workspace.root().to_string_lossy().into_owned()),
            clock: given.clock.clone(),
            random: given.random.clone(),
            fakes: given.fakes.keys().cloned().collect(),
        };
        connection.attach(&session, Rc::clone(&host));
        self.seats.insert(place, host);
        match connection.call("open", "open", &open).await? {
            Ok(_) => Ok(()),
            Err(mut error) => {
                self.hide_in_error(&mut error);
                Err(Stop::Refused(error))
            }
        }
    }

    async fn member(&mut self, process: &'a str) -> Result<Rc<Connection>, Fault> {
        if let Some(member) = self.crew.get(process) {
            return Ok(Rc::clone(&member.connection));
        }
        // A process that the case kills must be its own.
        let killed =
            |step: &Step| matches!(&step.action, Action::Kill { process: name } if name == process);
        let shared = process == MAIN_PROCESS && !self.case.steps.iter().any(killed);
        let connection =
            if shared { self.processes.shared() } else { self.processes.spare().await? };
        self.crew.insert(process, Member { connection: Rc::clone(&connection), shared });
        Ok(connection)
    }

    fn session_at(&self, (_, session): Place<'_>) -> String {
        match session {
            MAIN_SESSION => self.session.clone(),
            other => format!("{}-{other}", self.session),
        }
    }

    async fn send(&self, step: &Step, call: &'a CallStep) -> Result<Answered, Stop> {
        let mut args = self.judge.args(step, call)?;
        if let Cow::Owned(args) = &mut args {
            self.show_workspace(args);
        }
        let session = self.session_at(place(call));
        let connection = &self.crew[call.process.as_str()].connection;
        let (mut reply, mut events) = connection.operate(&session, &call.operation, &args).await?;
        self.processes.note_answer();
        match &mut reply {
            Ok(value) => self.hide_workspace(value),
            Err(error) => self.hide_in_error(error),
        }
        events.iter_mut().for_each(|item| self.hide_workspace(item));
        Ok(Answered { reply, asks: Vec::new(), events })
    }

    fn take_asks(&self, place: Place<'a>, read: usize) -> Vec<Ask> {
        let mut asks = self.seats[&place].take_asks(read);
        for ask in &mut asks {
            for value in [&mut ask.args, &mut ask.answer] {
                self.hide_workspace(value);
                value.sort_all_objects();
            }
        }
        asks
    }

    /// What was asked of fakes when no single call could ask for it. To give back what nobody needs any
    /// more is no offence, however late it comes.
    fn note_stray(&mut self, place: Place<'a>) {
        let asks = self.take_asks(place, 0);
        self.stray.extend(asks.into_iter().filter(|ask| !ask.gives_back()));
    }

    /// The process that a step speaks to.
    fn process_of(&self, step: &Step) -> Option<Rc<Connection>> {
        let name = match &step.action {
            Action::Call(call) => &call.process,
            Action::Kill { process } => process,
            Action::Together(_) | Action::Write(_) | Action::Leaves(_) => MAIN_PROCESS,
        };
        self.crew.get(name).map(|member| Rc::clone(&member.connection))
    }

    /// What is known when a process faults. Its sessions are lost: a late word of them counts no more.
    fn faulted(
        &mut self,
        mut fault: Fault,
        step: Option<&Step>,
        mut transcript: Transcript,
    ) -> Faulted {
        fault.each_text(&|told| self.hide_in_text(told));
        let dead = self.crew.values().find(|member| !member.connection.is_alive());
        let connection = match dead {
            Some(member) => Some(Rc::clone(&member.connection)),
            None => step.and_then(|step| self.process_of(step)),
        };
        let places: Vec<Place<'_>> = self.seats.keys().copied().collect();
        let mut asks = Vec::new();
        for place in places {
            asks.append(&mut self.take_asks(place, 0));
            self.leave(place);
        }
        let mut failure = self.judge.faulted(step, &fault, &asks);
        failure.stderr = connection.as_ref().map(|process| process.stderr()).unwrap_or_default();
        let when = if step.is_some() { When::Step } else { When::Close };
        transcript.stopped = Some(Stopped::Fault { fault: fault.clone(), when, asks });
        Faulted { fault, failure, transcript: Box::new(transcript), connection }
    }

    fn leave(&mut self, place: Place<'a>) {
        self.seats.remove(&place);
        if let Some(member) = self.crew.get(place.0) {
            member.connection.detach(&self.session_at(place));
        }
    }

    /// Closes every session and gives the spare processes back.
    async fn close(&mut self) -> Result<Ending, Fault> {
        let mut end = Ending::default();
        while let Some((&place, _)) = self.seats.first_key_value() {
            let close = Close { session: self.session_at(place) };
            let answer = self.crew[place.0].connection.call("close", "close", &close).await?;
            if let Err(mut error) = answer {
                self.hide_in_error(&mut error);
                end.refused = Some(error.to_string());
            }
            self.note_stray(place);
            self.leave(place);
        }
        end.asks = std::mem::take(&mut self.stray);
        for member in std::mem::take(&mut self.crew).into_values().filter(|member| !member.shared) {
            self.processes.give_back(member.connection);
        }
        Ok(end)
    }

    /// The paths that differ from run to run, each with the word that stands for it: the workspace, and the
    /// folder that it lies in with what is beside it.
    fn hidden(&self) -> impl Iterator<Item = (Cow<'_, str>, &'static str)> {
        let root = self.workspace.as_ref().map(TempWorkspace::root);
        let around = root.and_then(Path::parent);
        // The longer one first: it begins with the other.
        let paths = [(root, "<workspace>"), (around, "<around>")];
        paths.into_iter().filter_map(|(path, word)| Some((path?.to_string_lossy(), word)))
    }

    /// The workspace's own path becomes a word, so that two runs tell the same.
    fn hide_workspace(&self, value: &mut Value) {
        self.hidden().for_each(|(path, word)| replace(value, &path, word));
    }

    fn hide_in_text(&self, text: &mut String) {
        for (path, word) in self.hidden() {
            if text.contains(&*path) {
                *text = text.replace(&*path, word);
            }
        }
    }

    /// An earlier answer goes back to the subject as it came.
    fn show_workspace(&self, value: &mut Value) {
        self.hidden().for_each(|(path, word)| replace(value, word, &path));
    }

    fn hide_in_error(&self, error: &mut RpcError) {
        self.hide_in_text(&mut error.message);
        if let Some(data) = &mut error.data {
            self.hide_workspace(data);
        }
    }
}

fn replace(value: &mut Value, from: &str, to: &str) {
    each_string(value, &|text: &mut String| {
        if text.contains(from) {
            *text = text.replace(from, to);
        }
    });
}
