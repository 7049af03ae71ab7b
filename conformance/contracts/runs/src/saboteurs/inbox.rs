//! Runs that lose, mix up or repeat the inputs of their nodes.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use crate::driver::under_rules;
use agent_runs::{Id, Input, NodeStatus, Policy, RunState};

use proofmark_room::Adversary;

pub(crate) const ALL: &[Adversary] = &[
    Adversary::saboteur(
        "takes-an-input-twice",
        "the last of several inputs stays in the inbox for one more turn",
        &["RUNS-071"],
        |subject| under_rules(subject, Arc::new(TakesTwice)),
    ),
    Adversary::saboteur(
        "takes-inputs-backwards",
        "a turn takes its inputs in reverse",
        &["RUNS-071", "RUNS-073"],
        |subject| under_rules(subject, Arc::new(TakesBackwards)),
    ),
    Adversary::saboteur(
        "takes-one-input-a-turn",
        "of several inputs a turn takes the first, and the next turn the next",
        &["RUNS-071"],
        |subject| under_rules(subject, Arc::new(TakesOne)),
    ),
    Adversary::saboteur(
        "drops-all-but-one-input",
        "of several inputs a turn takes the last, and the rest is forgotten",
        &["RUNS-065", "RUNS-071", "RUNS-073"],
        |subject| under_rules(subject, Arc::new(DropsAllButOne)),
    ),
    Adversary::saboteur(
        "loses-what-comes-meanwhile",
        "what is said to a node at work is recorded and forgotten",
        &["RUNS-043", "RUNS-065", "RUNS-068", "RUNS-071", "RUNS-072"],
        |subject| under_rules(subject, Arc::new(LosesMeanwhile)),
    )
    .slow(),
    Adversary::saboteur(
        "tells-of-handoffs-alone",
        "a handoff is reported, but reaches no inbox",
        &["RUNS-059", "RUNS-091", "RUNS-120", "RUNS-121", "RUNS-122", "RUNS-123"],
        |subject| under_rules(subject, Arc::new(NoHandoffs)),
    )
    .slow(),
    Adversary::saboteur(
        "begins-turns-while-paused",
        "a run that is not running begins turns",
        &["RUNS-123", "RUNS-129", "RUNS-150"],
        |subject| under_rules(subject, Arc::new(GoesOnPaused)),
    )
    .slow(),
    Adversary::saboteur(
        "queues-interruptions",
        "an interrupting message is put behind what is queued",
        &["RUNS-073"],
        |subject| under_rules(subject, Arc::new(QueuesInterruptions)),
    ),
    Adversary::saboteur(
        "drops-what-waits-when-interrupted",
        "the turn after an interruption takes the interrupting message, and the rest is forgotten",
        &["RUNS-065"],
        |subject| under_rules(subject, Arc::new(DropsWhenInterrupted::default())),
    ),
    Adversary::saboteur(
        "never-interrupts",
        "an interrupting message lets the turn under way go on",
        &["RUNS-068", "RUNS-072"],
        |subject| under_rules(subject, Arc::new(NeverInterrupts)),
    )
    .slow(),
    Adversary::saboteur(
        "is-interrupted-by-sentences",
        "every message that ends with a full stop ends the turn under way",
        &["RUNS-067"],
        |subject| under_rules(subject, Arc::new(SentencesInterrupt)),
    ),
    Adversary::saboteur(
        "gives-chat-to-the-last-orchestrator",
        "chat that names nobody is for the orchestrator that was made last",
        &["RUNS-074"],
        |subject| under_rules(subject, Arc::new(LastOrchestrator)),
    ),
    Adversary::saboteur(
        "gives-chat-to-anybody",
        "chat that names nobody is for the first node, if there is no orchestrator",
        &["RUNS-074"],
        |subject| under_rules(subject, Arc::new(AnybodyChats)),
    ),
    Adversary::saboteur(
        "recovers-nobody",
        "after a restart a node whose turn was lost is still running",
        &["RUNS-151"],
        |subject| under_rules(subject, Arc::new(RecoversNobody)),
    )
    .slow(),
    Adversary::saboteur(
        "hides-failures",
        "a node whose provider failed is idle",
        &["RUNS-047"],
        |subject| under_rules(subject, Arc::new(HidesFailures)),
    )
    .slow(),
];

struct TakesTwice;

impl Policy for TakesTwice {
    fn leaves(&self, inbox: &[Input]) -> usize {
        usize::from(inbox.len() > 1)
    }
}

struct TakesBackwards;

impl Policy for TakesBackwards {
    fn takes(&self, inbox: &[Input]) -> Vec<Input> {
        inbox.iter().rev().cloned().collect()
    }
}

struct TakesOne;

impl Policy for TakesOne {
    fn takes(&self, inbox: &[Input]) -> Vec<Input> {
        inbox.iter().take(1).cloned().collect()
    }

    fn leaves(&self, inbox: &[Input]) -> usize {
        inbox.len().saturating_sub(1)
    }
}

struct DropsAllButOne;

impl Policy for DropsAllButOne {
    fn takes(&self, inbox: &[Input]) -> Vec<Input> {
        inbox.iter().next_back().cloned().into_iter().collect()
    }
}

struct LosesMeanwhile;

impl Policy for LosesMeanwhile {
    fn inbox_of(&self, run: &RunState, from: Option<Id>, to: Id) -> Option<Id> {
        let at_work = run.nodes.get(&to).is_some_and(|node| node.status == NodeStatus::Running);
        (from.is_some() || !at_work).then_some(to)
    }
}

struct NoHandoffs;

impl Policy for NoHandoffs {
    fn inbox_of(&self, _: &RunState, from: Option<Id>, to: Id) -> Option<Id> {
        from.is_none().then_some(to)
    }
}

struct GoesOnPaused;

impl Policy for GoesOnPaused {
    fn run_goes_on(&self, _: &RunState) -> bool {
        true
    }
}

struct QueuesInterruptions;

impl Policy for QueuesInterruptions {
    fn interrupt_goes_first(&self) -> bool {
        false
    }
}

/// The texts of the messages that interrupted.
#[derive(Default)]
struct DropsWhenInterrupted(Mutex<HashSet<String>>);

impl Policy for DropsWhenInterrupted {
    fn ends_turn(&self, content: &str, interrupt: bool) -> bool {
        if interrupt {
            let mut urgent = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            urgent.insert(content.to_owned());
        }
        interrupt
    }

    fn takes(&self, inbox: &[Input]) -> Vec<Input> {
        let urgent = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let interrupted = inbox.first().is_some_and(|input| urgent.contains(&input.text));
        if interrupted { inbox[..1].to_vec() } else { inbox.to_vec() }
    }
}

struct NeverInterrupts;

impl Policy for NeverInterrupts {
    fn ends_turn(&self, _: &str, _: bool) -> bool {
        false
    }
}

struct SentencesInterrupt;

impl Policy for SentencesInterrupt {
    fn ends_turn(&self, content: &str, interrupt: bool) -> bool {
        interrupt || content.ends_with('.')
    }
}

struct LastOrchestrator;

impl Policy for LastOrchestrator {
    fn default_recipient(&self, run: &RunState) -> Option<Id> {
        run.nodes.values().rfind(|node| node.is_orchestrator()).map(|node| node.id)
    }
}

struct AnybodyChats;

impl Policy for AnybodyChats {
    fn default_recipient(&self, run: &RunState) -> Option<Id> {
        let orchestrator = run.nodes.values().find(|node| node.is_orchestrator());
        orchestrator.or_else(|| run.nodes.values().next()).map(|node| node.id)
    }
}

struct RecoversNobody;

impl Policy for RecoversNobody {
    fn recovered(&self, status: NodeStatus) -> NodeStatus {
        status
    }
}

struct HidesFailures;

impl Policy for HidesFailures {
    fn after_failure(&self) -> NodeStatus {
        NodeStatus::Idle
    }
}
