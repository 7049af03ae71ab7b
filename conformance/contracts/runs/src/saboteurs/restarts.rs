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

/// Whether the server found nodes when it started.
#[derive(Default)]
struct ForgetsGates(AtomicBool);

impl Policy for ForgetsGates {
    fn recovered(&self, status: NodeStatus) -> NodeStatus {
        self.0.store(true, Ordering::Relaxed);
        Rules.recovered(status)
    }

    fn needs_approval(&self, node: &NodeState, tool: &Tool) -> bool {
        let restarted = self.0.load(Ordering::Relaxed);
        Rules.needs_approval(node, tool) && (tool.is_spawn() || !restarted)
    }
}
