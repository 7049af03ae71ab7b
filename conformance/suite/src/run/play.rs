//! Plays a case: executes one step after the other, and judges each before the next.

use std::borrow::Cow;
use std::rc::Rc;

use proofmark_fakes::workspace::WorkspaceError;
use proofmark_judge::Fault;
use proofmark_judge::case::{Case, Step};
use proofmark_judge::judge::{Judge, broken_fakes, refused_open};
use proofmark_judge::transcript::{Stopped, Transcript, When};
use proofmark_judge::verdict::{Failure, NotExercised, Verdict};
use serde_json::Value;

use super::execute::{Interrupted, Processes, Setting, Stage, Stop};
use crate::subject::connection::Connection;

/// A process faulted during a case. The case may or may not be to blame.
pub(super) struct Faulted {
    pub(super) fault: Fault,
    /// The failure to report if the case is to blame.
    pub(super) failure: Box<Failure>,
    /// The transcript up to the fault.
    pub(super) transcript: Box<Transcript>,
    /// The process that faulted; `None` if it could not be started.
    pub(super) connection: Option<Rc<Connection>>,
}

/// A case that ran to its end.
pub(super) struct Played {
    pub(super) verdict: Verdict,
    /// Empty unless the run keeps transcripts.
    pub(super) transcript: Transcript,
}

impl Played {
    /// A verdict without an observation.
    pub(super) fn without(verdict: Verdict) -> Self {
        Self { verdict, transcript: Transcript::default() }
    }
}

/// Plays a case to its end, or to its first failure.
pub(super) async fn play<P: Processes>(
    case: &Case,
    processes: &P,
    setting: Setting<'_>,
) -> Result<Played, Faulted> {
    let mut stage = match Stage::new(case, processes, setting) {
        Ok(stage) => stage,
        Err(error) => return Ok(no_workspace(&error)),
    };
    let mut judge = Judge::new(case);
    let mut transcript = Transcript::default();
    let mut failed = None;
    for step in &case.steps {
        let judged = match arguments(&judge, step) {
            Ok(args) => match stage.step(step, args).await {
                Ok(seen) => {
                    let judged = judge.step(step, &seen);
                    if setting.record {
                        transcript.steps.push(seen);
                    }
                    judged
                }
                Err(Stop::Refused(error)) => {
                    let failure = refused_open(case, &error);
                    transcript.stopped = Some(Stopped::Refused(error));
                    Err(failure)
                }
                Err(Stop::Fakes(message)) => {
                    let failure = broken_fakes(case, message.clone());
                    transcript.stopped = Some(Stopped::Fakes(message));
                    Err(failure)
                }
                Err(Stop::Fault(fault)) => {
                    let interrupted = stage.interrupted(fault, Some(step));
                    return Err(faulted(&mut judge, interrupted, Some(step), transcript));
                }
                Err(Stop::NoWorkspace(error)) => return Ok(no_workspace(&error)),
            },
            Err(failure) => Err(failure),
        };
        if let Err(failure) = judged {
            failed = Some((failure, stage.process_of(step)));
            break;
        }
    }
    let end = match stage.close().await {
        Ok(end) => end,
        Err(fault) => {
            let interrupted = stage.interrupted(fault, None);
            return Err(faulted(&mut judge, interrupted, None, transcript));
        }
    };
    let ended = judge.end(&end);
    transcript.end = end;
    let failed = failed.or(ended.err().map(|failure| (failure, None)));
    let verdict = match failed {
        Some((failure, process)) => {
            let mut failure = judge.explained(failure);
            failure.stderr = process.map(|process| process.stderr()).unwrap_or_default();
            Verdict::of(failure)
        }
        None => Verdict::Passed,
    };
    Ok(Played { verdict, transcript })
}

/// The arguments of a step's calls, with references filled in.
fn arguments<'a>(judge: &Judge<'a>, step: &'a Step) -> Result<Vec<Cow<'a, Value>>, Box<Failure>> {
    step.calls().iter().map(|call| judge.args(step, call)).collect()
}

fn faulted(
    judge: &mut Judge<'_>,
    interrupted: Interrupted,
    step: Option<&Step>,
    mut transcript: Transcript,
) -> Faulted {
    let Interrupted { fault, asks, connection } = interrupted;
    let mut failure = judge.faulted(step, &fault, &asks);
    failure.stderr = connection.as_ref().map(|process| process.stderr()).unwrap_or_default();
    let when = if step.is_some() { When::Step } else { When::Close };
    transcript.stopped = Some(Stopped::Fault { fault: fault.clone(), when, asks });
    Faulted { fault, failure, transcript: Box::new(transcript), connection }
}

/// An error of the harness, which no subject is to blame for.
fn no_workspace(error: &WorkspaceError) -> Played {
    let reason = NotExercised::NoWorkspace(error.to_string());
    Played::without(Verdict::NotExercised { reason })
}
