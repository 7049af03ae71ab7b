//! Executes one case on a subject: open, act, observe, close. `super::play` judges the observations.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;
use std::rc::Rc;

use futures::future::join_all;
use proofmark_fakes::host::{FakeKind, Host};
use proofmark_fakes::workspace::{TempWorkspace, WorkspaceError};
use proofmark_protocol::{Close, Open, RpcError};
use serde_json::{Value, json};

use proofmark_judge::case::{Action, CallStep, Case, MAIN_PROCESS, MAIN_SESSION, Step};
use proofmark_judge::ledger::Contract;
use proofmark_judge::transcript::{Answered, Ending, FileSeen, Seen};
use proofmark_judge::wire::{HttpPaths, NO_WIRE, ODD, Wire};
use proofmark_judge::{Ask, Fault};

use super::masks::Masks;
use super::workspace;
use crate::subject::connection::Connection;
use crate::subject::host::SessionHost;
use crate::wire::{Link, Offer};

/// Provides processes to a case and takes them back.
pub(super) trait Processes {
    /// The process that many cases share.
    fn shared(&self) -> Rc<Connection>;
    /// A process that no other case uses.
    async fn spare(&self) -> Result<Rc<Connection>, Fault>;
    fn give_back(&self, spare: Rc<Connection>);
    /// Records that some call was answered.
    fn note_answer(&self);
}

/// The environment of a case.
#[derive(Clone, Copy)]
pub(super) struct Setting<'a> {
    pub(super) contract: &'a Contract,
    /// The fakes that the case can use.
    pub(super) fakes: &'a [&'static FakeKind],
    pub(super) scratch: &'a Path,
    /// Makes the names of the session and the workspace unique.
    pub(super) number: u64,
    /// Whether to keep the transcript.
    pub(super) record: bool,
}

fn prepare(case: &Case, setting: Setting<'_>) -> Result<TempWorkspace, WorkspaceError> {
    let workspace = TempWorkspace::new_in(setting.scratch, &format!("{}-", setting.number))?;
    workspace::write(&workspace, &case.given.files)?;
    Ok(workspace)
}

/// Why a step has no observation.
pub(super) enum Stop {
    /// The adapter refused `open`.
    Refused(RpcError),
    /// The scripts of the case's fakes are invalid.
    Fakes(String),
    Fault(Fault),
    /// The harness could not write a file.
    NoWorkspace(WorkspaceError),
}

/// The state of a case when a process faulted.
pub(super) struct Interrupted {
    pub(super) fault: Fault,
    /// Calls of fakes that no answer followed.
    pub(super) asks: Vec<Ask>,
    /// The process that faulted; `None` if it could not be started.
    pub(super) connection: Option<Rc<Connection>>,
}

impl From<Fault> for Stop {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

/// A process that the case uses.
struct Member {
    connection: Rc<Connection>,
    shared: bool,
}

/// A process and a session in it.
type Seat<'a> = (&'a str, &'a str);

/// The processes, sessions and files of one case.
pub(super) struct Stage<'a, P> {
    case: &'a Case,
    processes: &'a P,
    workspace: Option<TempWorkspace>,
    session: String,
    crew: BTreeMap<&'a str, Member>,
    seats: BTreeMap<Seat<'a>, Rc<SessionHost>>,
    /// Connections to the servers of sessions, if the contract has its own wire.
    links: BTreeMap<Seat<'a>, Rc<Link>>,
    wire: Option<Wire>,
    http: &'a HttpPaths,
    fakes: &'a [&'static FakeKind],
    masks: Masks,
    /// Calls of fakes outside any single call.
    stray: Vec<Ask>,
}

/// Whether the call only gives something back.
fn gives_back(ask: &Ask, fakes: &[&'static FakeKind]) -> bool {
    let kind = fakes.iter().find(|kind| kind.name == ask.fake);
    kind.is_some_and(|kind| kind.releases.contains(&ask.method.as_str()))
}

fn seat_of(call: &CallStep) -> Seat<'_> {
    (&call.process, &call.session)
}

impl<'a, P: Processes> Stage<'a, P> {
    pub(super) fn new(
        case: &'a Case,
        processes: &'a P,
        setting: Setting<'a>,
    ) -> Result<Self, WorkspaceError> {
        let workspace = setting.contract.workspace.then(|| prepare(case, setting)).transpose()?;
        let masks = Masks::new(case, setting, workspace.as_ref().map(TempWorkspace::root));
        Ok(Self {
            case,
            processes,
            workspace,
            session: format!("s{}", setting.number),
            crew: BTreeMap::new(),
            seats: BTreeMap::new(),
            links: BTreeMap::new(),
            wire: setting.contract.wire,
            http: &setting.contract.http,
            fakes: setting.fakes,
            masks,
            stray: Vec::new(),
        })
    }

    /// Executes one step. `args` are the arguments of its calls, with references filled in.
    pub(super) async fn step(
        &mut self,
        step: &'a Step,
        args: Vec<Cow<'_, Value>>,
    ) -> Result<Seen, Stop> {
        let mut args = args.into_iter();
        match &step.action {
            Action::Call(call) => {
                self.open_session(seat_of(call)).await?;
                self.note_stray(seat_of(call));
                let mut answer = self.send(call, args.next().unwrap_or_default()).await?;
                self.masks.hide_answer(&mut answer);
                if call.asks.is_some() {
                    answer.asks = self.take_asks(seat_of(call), answer.events.len());
                } else if self.wire.is_none() {
                    // What a call asks that only prepares the case is not judged, now or later.
                    drop(self.take_asks(seat_of(call), answer.events.len()));
                }
                Ok(Seen::Calls(vec![answer]))
            }
            Action::Together(calls) => {
                for call in calls {
                    self.open_session(seat_of(call)).await?;
                    self.note_stray(seat_of(call));
                }
                let this = &*self;
                let sent = calls.iter().zip(args).map(|(call, args)| async move {
                    if !call.after.is_zero() {
                        tokio::time::sleep(call.after).await;
                    }
                    this.send(call, args).await
                });
                let answers = join_all(sent).await;
                for call in calls {
                    if self.wire.is_none() && call.asks_anything() {
                        // They have no order here, so they are not judged, now or later.
                        drop(self.take_asks(seat_of(call), 0));
                    }
                }
                for call in calls {
                    self.note_stray(seat_of(call));
                }
                let mut answers = answers.into_iter().collect::<Result<Vec<_>, _>>()?;
                // In the order of the calls, whichever was answered first.
                answers.iter_mut().for_each(|answer| self.masks.hide_answer(answer));
                Ok(Seen::Calls(answers))
            }
            Action::Kill { process } => {
                self.open_session((process, MAIN_SESSION)).await?;
                let seats: Vec<Seat<'_>> = self.seats.keys().copied().collect();
                for seat in seats.into_iter().filter(|(of, _)| of == process) {
                    self.note_stray(seat);
                }
                self.seats.retain(|(of, _), _| of != process);
                self.links.retain(|(of, _), _| of != process);
                match self.crew.remove(process.as_str()) {
                    // A fault before the kill still counts.
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
                    workspace::write(workspace, given).map_err(Stop::NoWorkspace)?;
                }
                Ok(Seen::Nothing)
            }
            Action::Leaves(expected) => Ok(Seen::Files(match &self.workspace {
                Some(workspace) => {
                    let mut found = workspace::look(workspace, expected);
                    for file in found.values_mut() {
                        if let FileSeen::Text(text) | FileSeen::Other(text) = file {
                            self.masks.hide_text(text);
                        }
                    }
                    found
                }
                None => BTreeMap::new(),
            })),
        }
    }

    /// Opens the session if it is not open yet.
    async fn open_session(&mut self, seat: Seat<'a>) -> Result<(), Stop> {
        if self.seats.contains_key(&seat) {
            return Ok(());
        }
        let connection = self.member(seat.0).await?;
        let given = &self.case.given;
        let fakes = Host::new(&given.fakes, self.fakes).map_err(Stop::Fakes)?;
        let host = Rc::new(SessionHost::new(fakes));
        let session = self.session_at(seat);
        let open = Open {
            session: session.clone(),
            contract: Some(self.case.contract.clone()),
            workspace: self
                .workspace
                .as_ref()
                .map(|workspace| workspace.root().to_string_lossy().into_owned()),
            clock: given.clock.clone(),
            random: given.random.clone(),
            fakes: given.fakes.keys().cloned().collect(),
            wire: self.wire.map(|wire| wire.name().to_owned()),
        };
        connection.attach(&session, Rc::clone(&host));
        self.seats.insert(seat, host);
        match connection.call("open", "open", &open).await? {
            Ok(answer) => self.link(seat, &connection, &answer).await,
            Err(mut error) => {
                self.masks.hide_error(&mut error);
                Err(Stop::Refused(error))
            }
        }
    }

    /// Connects to a session's server, if the contract has its own wire.
    async fn link(
        &mut self,
        seat: Seat<'a>,
        adapter: &Connection,
        answer: &Value,
    ) -> Result<(), Stop> {
        let Some(wire) = self.wire else { return Ok(()) };
        let offer = Offer::read(wire, self.http, answer).map_err(|mut message| {
            self.masks.hide_text(&mut message);
            Stop::Refused(RpcError::new(NO_WIRE, message))
        })?;
        let workspace = self.workspace.as_ref().map(TempWorkspace::root);
        let link = Link::new(offer, adapter, workspace).await?;
        self.links.insert(seat, Rc::new(link));
        Ok(())
    }

    async fn member(&mut self, process: &'a str) -> Result<Rc<Connection>, Fault> {
        if let Some(member) = self.crew.get(process) {
            return Ok(Rc::clone(&member.connection));
        }
        // A process that the case kills must not be shared.
        let killed =
            |step: &Step| matches!(&step.action, Action::Kill { process: name } if name == process);
        let shared = process == MAIN_PROCESS && !self.case.steps.iter().any(killed);
        let connection =
            if shared { self.processes.shared() } else { self.processes.spare().await? };
        self.crew.insert(process, Member { connection: Rc::clone(&connection), shared });
        Ok(connection)
    }

    fn session_at(&self, (_, session): Seat<'_>) -> String {
        match session {
            MAIN_SESSION => self.session.clone(),
            other => format!("{}-{other}", self.session),
        }
    }

    async fn send(&self, call: &'a CallStep, mut args: Cow<'_, Value>) -> Result<Answered, Stop> {
        if let Cow::Owned(args) = &mut args {
            self.masks.show(args);
        }
        if let Some(link) = self.links.get(&seat_of(call)) {
            return self.send_on(link, call, args.into_owned()).await;
        }
        let session = self.session_at(seat_of(call));
        let connection = &self.crew[call.process.as_str()].connection;
        let (mut reply, mut events) = connection.operate(&session, &call.operation, &args).await?;
        self.processes.note_answer();
        match &mut reply {
            Ok(value) => self.masks.hide(value),
            Err(error) => self.masks.hide_error(error),
        }
        events.iter_mut().for_each(|item| self.masks.hide(item));
        Ok(Answered { reply, asks: Vec::new(), events })
    }

    /// Sends a call on the contract's own wire.
    async fn send_on(
        &self,
        link: &Link,
        call: &CallStep,
        mut args: Value,
    ) -> Result<Answered, Stop> {
        self.masks.show_to_server(&mut args);
        let done = link.operate(&call.operation, &args).await?;
        self.processes.note_answer();
        let reply = done
            .map(|value| json!({ "value": value }))
            .map_err(|message| RpcError::new(ODD, message));
        Ok(Answered { reply, asks: Vec::new(), events: Vec::new() })
    }

    fn take_asks(&self, seat: Seat<'a>, read: usize) -> Vec<Ask> {
        // A server may read ahead without a limit.
        let read = if self.wire.is_some() { usize::MAX } else { read };
        let mut asks = self.seats[&seat].take_asks(read);
        for ask in &mut asks {
            for value in [&mut ask.args, &mut ask.answer] {
                self.masks.hide_ask(value);
            }
        }
        asks
    }

    /// Records calls of fakes outside any single call. Releasing a stream is allowed at any time.
    fn note_stray(&mut self, seat: Seat<'a>) {
        // A server on its own wire calls fakes at any time; only calls that a step expects are judged.
        if self.wire.is_some() {
            return;
        }
        let asks = self.take_asks(seat, 0);
        self.stray.extend(asks.into_iter().filter(|ask| !gives_back(ask, self.fakes)));
    }

    /// The process that a step uses.
    pub(super) fn process_of(&self, step: &Step) -> Option<Rc<Connection>> {
        let name = match &step.action {
            Action::Call(call) => &call.process,
            Action::Kill { process } => process,
            Action::Together(_) | Action::Write(_) | Action::Leaves(_) => MAIN_PROCESS,
        };
        self.crew.get(name).map(|member| Rc::clone(&member.connection))
    }

    /// Handles a fault at a step, or outside any step. Drops the sessions and ignores their later messages.
    pub(super) fn interrupted(&mut self, mut fault: Fault, step: Option<&Step>) -> Interrupted {
        fault.each_text(&|text| self.masks.hide_text(text));
        let dead = self.crew.values().find(|member| !member.connection.is_alive());
        let connection = match dead {
            Some(member) => Some(Rc::clone(&member.connection)),
            None => step.and_then(|step| self.process_of(step)),
        };
        let seats: Vec<Seat<'_>> = self.seats.keys().copied().collect();
        let mut asks = Vec::new();
        for seat in seats {
            asks.append(&mut self.take_asks(seat, 0));
            self.leave(seat);
        }
        Interrupted { fault, asks, connection }
    }

    fn leave(&mut self, seat: Seat<'a>) {
        self.links.remove(&seat);
        self.seats.remove(&seat);
        if let Some(member) = self.crew.get(seat.0) {
            member.connection.detach(&self.session_at(seat));
        }
    }

    /// Closes every session and returns the spare processes.
    pub(super) async fn close(&mut self) -> Result<Ending, Fault> {
        let mut end = Ending::default();
        while let Some((&seat, _)) = self.seats.first_key_value() {
            // Disconnect first, so that a stopping server need not wait for listeners.
            self.links.remove(&seat);
            let close = Close { session: self.session_at(seat) };
            let answer = self.crew[seat.0].connection.call("close", "close", &close).await?;
            if let Err(mut error) = answer {
                self.masks.hide_error(&mut error);
                end.refused = Some(error.to_string());
            }
            self.note_stray(seat);
            self.leave(seat);
        }
        end.asks = std::mem::take(&mut self.stray);
        for member in std::mem::take(&mut self.crew).into_values().filter(|member| !member.shared) {
            self.processes.give_back(member.connection);
        }
        Ok(end)
    }
}
