//! The desk's part in tools: proposals, approvals and spawns.

use serde_json::{Map, Value};
use tokio::sync::oneshot;

use crate::bodies::{self, NewEdge, NewNode};
use crate::desk::{Desk, Effect, LiveTurn, Waiting};
use crate::event::What;
use crate::state::{Approval, Resolution, ResolutionStatus, Tool, ToolFault, ToolResult};
use crate::turns::Step;
use crate::{Id, Refusal};

impl Desk {
    pub(crate) fn propose(&mut self, id: Id, tool: Tool) -> Step {
        let policy = self.policy();
        self.emit(Some(id), What::ToolProposed { tool: tool.clone() });
        let node = &self.fold.run.nodes[&id];
        if tool.is_spawn() {
            let able = if policy.may_spawn(node) {
                self.check_spawn(&tool.args)
            } else {
                Err("the node has not the capability `spawnNodes`".to_owned())
            };
            if let Err(why) = able {
                self.complete_tool(id, &tool.id, Err(why));
                let denied = Resolution { status: ResolutionStatus::Denied, modified_args: None };
                return policy.forwards(&tool, Some(&denied)).map_or(Step::Next, Step::Forward);
            }
        }
        if policy.needs_approval(&self.fold.run.nodes[&id], &tool) {
            return self.request_approval(id, tool);
        }
        self.start_tool(id, tool.clone());
        policy.forwards(&tool, None).map_or(Step::Next, Step::Forward)
    }

    fn request_approval(&mut self, id: Id, tool: Tool) -> Step {
        let approval_id = self.shared.id();
        let context = Some(format!("{} wants `{}`", self.fold.run.nodes[&id].label, tool.name));
        let approval = Approval {
            approval_id,
            run_id: self.fold.run.id,
            node_id: id,
            tool: tool.clone(),
            context: context.clone(),
        };
        let requested = What::ApprovalRequested { approval_id, tool: tool.clone(), context };
        self.emit(Some(id), requested);
        if !self.policy().waits_for_answer(&tool) {
            self.start_tool(id, tool);
            return Step::Next;
        }
        let (answer, answered) = oneshot::channel();
        let order = self.shared.next_approval();
        if let Some(turn) = self.turns.get_mut(&id) {
            turn.waiting = Some(Waiting { approval, order, answer });
        }
        Step::Wait(answered)
    }

    /// The approvals that wait, with their place among those of all runs.
    pub(crate) fn waiting_approvals(&self) -> Vec<(u64, Approval)> {
        let waiting = self.turns.values().filter_map(|turn| turn.waiting.as_ref());
        waiting.map(|waiting| (waiting.order, waiting.approval.clone())).collect()
    }

    pub(crate) fn resolve(
        &mut self,
        approval: Id,
        said: Resolution,
    ) -> Result<Resolution, Refusal> {
        let policy = self.policy();
        let asked = |turn: &LiveTurn| Some(turn.waiting.as_ref()?.approval.approval_id);
        let pending: Vec<Id> = self.turns.values().filter_map(asked).collect();
        let resolved = policy.resolves(approval, &pending);
        let waits = |turn: &LiveTurn| resolved.is_some() && asked(turn) == resolved;
        let Some((&id, turn)) = self.turns.iter_mut().find(|(_, turn)| waits(turn)) else {
            return match self.fold.is_resolved(approval) {
                true if policy.resolves_twice() => Ok(said),
                true => Err(Refusal::Resolved(approval)),
                false => Err(Refusal::Unknown { what: "approval that waits", id: approval }),
            };
        };
        let waiting = turn.waiting.take().expect("the turn was found by what waits in it");
        let tool = waiting.approval.tool.clone();
        let args = policy.args_to_run_with(&tool, &said);
        let runs = policy.starts_tool(&said);
        if runs
            && tool.is_spawn()
            && let Err(why) = self.check_spawn(&args)
        {
            let turn = self.turns.get_mut(&id).expect("the turn is still under way");
            turn.waiting = Some(waiting);
            return Err(Refusal::Bad(why));
        }
        let what = What::ApprovalResolved { approval_id: approval, resolution: said.clone() };
        self.emit(Some(id), what);
        let forward = policy.forwards(&tool, Some(&said));
        if runs {
            self.start_tool(id, Tool { args, ..tool });
        }
        self.staged.effects.push(Effect::Resolve(waiting.answer, forward));
        Ok(said)
    }

    /// The tool runs: its provider runs it, but a spawn is done here.
    fn start_tool(&mut self, id: Id, tool: Tool) {
        self.emit(Some(id), What::ToolStarted { tool: tool.clone() });
        if tool.is_spawn() {
            let made = self.spawn(id, &tool.args);
            self.complete_tool(id, &tool.id, made);
        }
    }

    fn complete_tool(&mut self, id: Id, tool_id: &str, made: Result<Id, String>) {
        let mut rest = Map::new();
        let (ok, error) = match made {
            Ok(node) => {
                rest.insert("nodeId".to_owned(), Value::String(node.to_string()));
                (true, None)
            }
            Err(message) => (false, Some(ToolFault { message, rest: Map::new() })),
        };
        let result = ToolResult { ok, rest };
        self.emit(Some(id), What::ToolCompleted { tool_id: tool_id.to_owned(), result, error });
    }

    /// Whether a node can be made of these arguments.
    fn check_spawn(&self, args: &Value) -> Result<(), String> {
        bodies::read_value::<NewNode>(args)
            .map_err(|fault| format!("no node can be made: {fault}"))?;
        let limits = self.shared.settings.limits;
        if self.fold.run.nodes.len() >= limits.nodes || self.fold.run.edges.len() >= limits.edges {
            return Err("the run has as many nodes or edges as it may have".to_owned());
        }
        Ok(())
    }

    fn spawn(&mut self, maker: Id, args: &Value) -> Result<Id, String> {
        let body: NewNode = bodies::read_value(args).map_err(|fault| fault.to_string())?;
        let node = self.create_node(&body).map_err(|fault| fault.to_string())?;
        let edge =
            NewEdge { from: maker, to: node.id, bidirectional: None, kind: None, label: None };
        self.create_edge(&edge).map_err(|fault| fault.to_string())?;
        Ok(node.id)
    }
}
