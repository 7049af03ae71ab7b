//! Runs that forget something when their server starts again.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use agent_runs::{NodeState, NodeStatus, Policy, Rules, Tool};
use proofmark_room::Adversary;

use crate::driver::under_rules;

pub(crate) const ALL: &[Adversary] = &[Adversary::saboteur(
    "forgets-gates-in-a-restart",
    "after a restart, a gated node runs its tools unasked",
    &["RUNS-150"],
    |subject| under_rules(subject, Arc::new(ForgetsGates::default())),
)
.slow()];

/// Whether the server found runs when it started.
#[derive(Default)]
struct Restarted(AtomicBool);

impl Restarted {
    fn recovered(&self, status: NodeStatus) -> NodeStatus {
        self.0.store(true, Ordering::Relaxed);
        Rules.recovered(status)
    }

    fn yes(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

#[derive(Default)]
struct ForgetsGates(Restarted);

impl Policy for ForgetsGates {
    fn recovered(&self, status: NodeStatus) -> NodeStatus {
        self.0.recovered(status)
    }

    fn needs_approval(&self, node: &NodeState, tool: &Tool) -> bool {
        Rules.needs_approval(node, tool) && (tool.is_spawn() || !self.0.yes())
    }
}
