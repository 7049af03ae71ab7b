//! A worker: a thread with one process of the subject and a window of cases in flight.
//!
//! When a process faults, any of the cases in flight may be to blame. Each of them runs again at the end, alone in a
//! new process, and that run decides. So a verdict does not depend on the window, the order or the number of workers.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::atomic::Ordering;

use futures::StreamExt as _;
use futures::future::join_all;
use futures::stream::{self, FuturesUnordered};
use proofmark_protocol::HelloReply;

use super::execute::{Processes, Setting};
use super::law::try_law;
use super::play::{Faulted, Played, play};
use super::runner::{Event, Shared};
use crate::subject::connection::Connection;
use proofmark_judge::Fault;
use proofmark_judge::case::{Case, CaseKind};
use proofmark_judge::ledger::Contract;
use proofmark_judge::transcript::Transcript;
use proofmark_judge::verdict::{CaseResult, Failure, NotExercised, Verdict};

/// The run gives up after this many failed starts in a row.
const FAILED_STARTS: usize = 3;
/// After this many processes hang with all their cases, cases only run alone.
const SILENT_WINDOWS: usize = 2;
/// The number of cases that run alone at the same time, each in its own process: most of them wait for a timeout.
const ALONE_AT_A_TIME: usize = 4;

/// The processes that a case runs on.
struct Bench<'a, 'b> {
    worker: &'b Worker<'a>,
    shared: Rc<Connection>,
}

pub(super) struct Worker<'a> {
    pub(super) run: &'a Shared<'a>,
    pub(super) emit: &'a dyn Fn(Event),
    connection: RefCell<Option<Rc<Connection>>>,
    pub(super) spares: RefCell<Vec<Rc<Connection>>>,
    failed_starts: Cell<usize>,
    /// Why the worker has given up, if it has.
    pub(super) given_up: RefCell<Option<(Fault, Vec<String>)>>,
}

/// A case that was in flight when its process faulted, or that timed out.
struct Suspect<'a> {
    case: &'a Case,
    fault: Fault,
    connection: Rc<Connection>,
}

impl<'a> Worker<'a> {
    pub(super) fn new(run: &'a Shared<'a>, emit: &'a dyn Fn(Event)) -> Self {
        Self {
            run,
            emit,
            connection: RefCell::default(),
            spares: RefCell::default(),
            failed_starts: Cell::new(0),
            given_up: RefCell::default(),
        }
    }

    pub(super) async fn work(&self) {
        // A single case has no company.
        if self.run.cases.len() > 1 {
            let suspects = self.work_in_company().await;
            self.end().await;
            self.try_alone(suspects).await;
        }
        let left = stream::iter(std::iter::from_fn(|| self.next()));
        left.for_each_concurrent(ALONE_AT_A_TIME, async |case| {
            self.alone(case).await;
        })
        .await;
        self.end().await;
    }

    /// Runs cases concurrently while there are any and the subject answers at all. Returns those that faulted.
    async fn work_in_company(&self) -> Vec<Suspect<'a>> {
        let mut flights = FuturesUnordered::new();
        let mut suspects: Vec<Suspect<'a>> = Vec::new();
        let mut silent = 0;
        loop {
            let answers = silent < SILENT_WINDOWS || self.run.answered.load(Ordering::Relaxed);
            while answers && flights.len() < self.run.options.window.max(1) {
                let Some(case) = self.next() else { break };
                if let Some(connection) = self.admit(case).await {
                    flights.push(async move {
                        (case, self.run_case(case, &connection).await, connection)
                    });
                }
            }
            match flights.next().await {
                Some((case, Ok(played), connection)) => match connection.fault() {
                    None => self.decide(case, played),
                    // The case is done, but it may have caused the fault.
                    Some(fault) => suspects.push(Suspect { case, fault, connection }),
                },
                Some((case, Err(Faulted { fault, connection, .. }), shared)) => {
                    let connection = connection.unwrap_or(shared);
                    if !connection.is_alive() && self.retire(&connection).await {
                        silent += usize::from(matches!(fault, Fault::NoAnswer { .. }));
                    }
                    suspects.push(Suspect { case, fault, connection });
                }
                None => return suspects,
            }
        }
    }

    /// Removes a process that faulted and whose suspects are known. Returns whether it was the current one.
    async fn retire(&self, connection: &Rc<Connection>) -> bool {
        let current =
            self.connection.borrow_mut().take_if(|current| Rc::ptr_eq(current, connection));
        connection.kill().await;
        current.is_some()
    }

    /// Kills a process that faulted. If no case was in flight, reports the fault as the run's.
    async fn discard(&self, connection: &Connection, fault: Fault) {
        if !connection.has_witness() {
            let fault = connection.refine(fault).await;
            (self.emit)(Event::Fault(fault));
        }
        connection.kill().await;
    }

    /// Runs each suspect alone. If all cases that were in flight together pass alone, the fault belongs to the run.
    async fn try_alone(&self, suspects: Vec<Suspect<'a>>) {
        let tried =
            stream::iter(suspects).map(async |suspect| (self.alone(suspect.case).await, suspect));
        let mut tried: Vec<(bool, Suspect<'a>)> =
            tried.buffer_unordered(ALONE_AT_A_TIME).collect().await;
        while let Some((guilty, Suspect { fault, connection, .. })) = tried.pop() {
            let company: Vec<_> = tried
                .extract_if(.., |(_, other)| Rc::ptr_eq(&other.connection, &connection))
                .collect();
            if guilty || company.iter().any(|(guilty, _)| *guilty) {
                continue;
            }
            (self.emit)(Event::Fault(Fault::OnlyTogether { fault: fault.code().to_owned() }));
        }
    }

    fn next(&self) -> Option<&'a Case> {
        let index = self.run.next.fetch_add(1, Ordering::Relaxed);
        self.run.cases.get(index).copied()
    }

    pub(super) fn decide(&self, case: &Case, Played { verdict, transcript }: Played) {
        let transcript = self.run.options.record.then_some(transcript);
        (self.emit)(Event::Case(CaseResult { transcript, ..CaseResult::new(&case.name, verdict) }));
    }

    /// A process for the case, unless the case can be decided without one.
    async fn admit(&self, case: &Case) -> Option<Rc<Connection>> {
        match self.connect().await {
            Ok(connection) => match not_exercised(case, &connection.hello) {
                Some(reason) => {
                    self.decide(case, Played::without(Verdict::NotExercised { reason }));
                    None
                }
                None => Some(connection),
            },
            Err((fault, stderr)) => {
                self.condemn(case, &fault, stderr);
                None
            }
        }
    }

    pub(super) fn condemn(&self, case: &Case, fault: &Fault, stderr: Vec<String>) {
        let failure = Failure::new(fault.code(), fault.to_string(), &case.at);
        let verdict = Verdict::of(Box::new(Failure { stderr, setup: true, ..failure }));
        let transcript = Transcript::never_begun(fault.clone());
        self.decide(case, Played { verdict, transcript });
    }

    /// Plays a case on a process; a law, with one input after the other.
    pub(super) async fn run_case(
        &self,
        case: &Case,
        connection: &Rc<Connection>,
    ) -> Result<Played, Faulted> {
        match case.kind {
            CaseKind::Law(law) => {
                try_law(case, law, self.run.options.laws, async |example| {
                    self.play(example, connection).await
                })
                .await
            }
            CaseKind::Fixture | CaseKind::Scenario => self.play(case, connection).await,
        }
    }

    pub(super) async fn play(
        &self,
        case: &Case,
        connection: &Rc<Connection>,
    ) -> Result<Played, Faulted> {
        let bench = Bench { worker: self, shared: Rc::clone(connection) };
        let setting = Setting {
            contract: self.contract(case),
            fakes: &self.run.suite.fakes,
            scratch: &self.run.scratch,
            number: self.run.numbers.fetch_add(1, Ordering::Relaxed),
            record: self.run.options.record,
        };
        play(case, &bench, setting).await
    }

    fn contract(&self, case: &Case) -> &'a Contract {
        self.run.suite.contract(&case.contract).expect("the lint refuses a case without a ledger")
    }

    /// The process that cases share, started if necessary.
    async fn connect(&self) -> Result<Rc<Connection>, (Fault, Vec<String>)> {
        if let Some(given_up) = &*self.given_up.borrow() {
            return Err(given_up.clone());
        }
        let current = self.connection.borrow_mut().take();
        if let Some(connection) = current {
            if let Some(fault) = connection.fault() {
                self.discard(&connection, fault).await;
            } else {
                *self.connection.borrow_mut() = Some(Rc::clone(&connection));
                return Ok(connection);
            }
        }
        match self.start().await {
            Ok(connection) => {
                self.failed_starts.set(0);
                *self.connection.borrow_mut() = Some(Rc::clone(&connection));
                Ok(connection)
            }
            Err(broken) => {
                self.failed_starts.set(self.failed_starts.get() + 1);
                if self.failed_starts.get() >= FAILED_STARTS {
                    *self.given_up.borrow_mut() = Some(broken.clone());
                }
                Err(broken)
            }
        }
    }

    pub(super) async fn start(&self) -> Result<Rc<Connection>, (Fault, Vec<String>)> {
        match Connection::open(&self.run.command, self.run.options.patience).await {
            Ok(Ok(connection)) => {
                (self.emit)(Event::Hello(Box::new(connection.hello.clone())));
                Ok(Rc::new(connection))
            }
            Ok(Err(broken)) => Err(broken),
            Err(fault) => {
                let broken = Fault::Exited {
                    status: "before it began".to_owned(),
                    during: format!("({fault})"),
                };
                (self.emit)(Event::CannotStart(fault));
                Err((broken, Vec::new()))
            }
        }
    }

    /// Shuts every process down, and reports those that do not exit.
    async fn end(&self) {
        let mut connections = std::mem::take(&mut *self.spares.borrow_mut());
        connections.extend(self.connection.borrow_mut().take());
        join_all(connections.iter().map(async |connection| {
            if let Some(fault) = connection.fault() {
                return self.discard(connection, fault).await;
            }
            if let Some(fault) = connection.shutdown().await {
                (self.emit)(Event::Fault(fault));
            }
        }))
        .await;
    }
}

impl Processes for Bench<'_, '_> {
    fn shared(&self) -> Rc<Connection> {
        Rc::clone(&self.shared)
    }

    async fn spare(&self) -> Result<Rc<Connection>, Fault> {
        loop {
            let Some(spare) = self.worker.spares.borrow_mut().pop() else { break };
            match spare.fault() {
                None => return Ok(spare),
                Some(fault) => self.worker.discard(&spare, fault).await,
            }
        }
        self.worker.start().await.map_err(|(fault, _)| fault)
    }

    fn give_back(&self, spare: Rc<Connection>) {
        self.worker.spares.borrow_mut().push(spare);
    }

    fn note_answer(&self) {
        self.worker.run.answered.store(true, Ordering::Relaxed);
    }
}

pub(super) fn not_exercised(case: &Case, hello: &HelloReply) -> Option<NotExercised> {
    if !hello.contracts.contains(&case.contract) {
        return Some(NotExercised::NotClaimed);
    }
    let missing = case.needs.iter().find(|need| !hello.hooks.contains(need))?;
    Some(NotExercised::HookMissing(missing.clone()))
}
