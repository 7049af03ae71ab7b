//! Runs a case alone in a separate process, so that a fault of the process is this case's failure.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::atomic::Ordering;

use super::law::try_law;
use super::play::{Faulted, Played};
use super::runner::Event;
use super::worker::{Worker, not_exercised};
use crate::subject::connection::Connection;
use proofmark_judge::Fault;
use proofmark_judge::case::{Case, CaseKind};
use proofmark_judge::law::Law;
use proofmark_judge::verdict::Verdict;

/// The run gives up after this many unanswered calls if no call was ever answered. A single answer is enough to try
/// every case: giving up must not depend on their order.
const SILENT_FAULTS: usize = 4;
/// The most faults while shrinking an input that makes the process fault.
const FAULTS_WHILE_SHRINKING: usize = 50;

impl<'a> Worker<'a> {
    /// Runs the case in a separate process; a fault is this case's failure. Returns whether it faulted.
    pub(super) async fn alone(&self, case: &'a Case) -> bool {
        let given_up = self.given_up.borrow().clone();
        let started = match given_up {
            Some(given_up) => Err(given_up),
            None => self.start().await,
        };
        let connection = match started {
            Ok(connection) => connection,
            Err((fault, stderr)) => {
                self.condemn(case, &fault, stderr);
                return true;
            }
        };
        if let Some(reason) = not_exercised(case, &connection.hello) {
            self.decide(case, Played::without(Verdict::NotExercised { reason }));
            self.spares.borrow_mut().push(connection);
            return false;
        }
        match self.run_case(case, &connection).await {
            Ok(played) => {
                self.decide(case, played);
                if let Some(fault) = connection.shutdown().await {
                    (self.emit)(Event::Fault(fault));
                }
                false
            }
            Err(faulted) => {
                let played = self.blamed(faulted, &connection).await;
                let played = match case.kind {
                    CaseKind::Law(law) if self.run.options.laws.shrink => {
                        self.shrink(case, law, played).await
                    }
                    _ => played,
                };
                self.decide(case, played);
                true
            }
        }
    }

    /// The failure of a case whose own process faulted. Kills the process.
    async fn blamed(&self, faulted: Faulted, shared: &Rc<Connection>) -> Played {
        let Faulted { fault, mut failure, mut transcript, connection } = faulted;
        let faulty = connection.unwrap_or_else(|| Rc::clone(shared));
        let fault = faulty.refine(fault).await;
        failure.reason = fault.code().to_owned();
        failure.message = fault.to_string();
        failure.stderr = faulty.stderr();
        faulty.kill().await;
        self.note_silence(&fault, &failure.stderr);
        shared.kill().await;
        transcript.refine(&fault);
        Played { verdict: Verdict::of(failure), transcript: *transcript }
    }

    /// Shrinks an input that makes the process fault, each attempt in a new process.
    async fn shrink(&self, case: &Case, law: &Law, found: Played) -> Played {
        let left = Cell::new(FAULTS_WHILE_SHRINKING);
        let play = async |example: &Case| {
            if left.get() == 0 {
                // Keep the smallest input so far.
                return Ok(Played::without(Verdict::Passed));
            }
            let Ok(connection) = self.start().await else {
                left.set(0);
                return Ok(Played::without(Verdict::Passed));
            };
            match self.play(example, &connection).await {
                Ok(played) => {
                    // A fault at shutdown is not the one that we are shrinking.
                    let _fault = connection.shutdown().await;
                    Ok(played)
                }
                Err(faulted) => {
                    let silent = matches!(faulted.fault, Fault::NoAnswer { .. });
                    left.set(if silent { 0 } else { left.get() - 1 });
                    Ok(self.blamed(faulted, &connection).await)
                }
            }
        };
        match try_law(case, law, self.run.options.laws, play).await {
            Ok(smallest @ Played { verdict: Verdict::Failed { .. }, .. }) => smallest,
            _ => found,
        }
    }

    fn note_silence(&self, fault: &Fault, stderr: &[String]) {
        if matches!(fault, Fault::NoAnswer { .. }) {
            let silent = self.run.silent.fetch_add(1, Ordering::Relaxed) + 1;
            if silent >= SILENT_FAULTS && !self.run.answered.load(Ordering::Relaxed) {
                let last = Box::new(fault.clone());
                let given_up = Fault::GaveUp { after: SILENT_FAULTS, last };
                *self.given_up.borrow_mut() = Some((given_up, stderr.to_vec()));
            }
        }
    }
}
