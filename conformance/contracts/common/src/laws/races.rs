//! Writers at once. Each input is one race, because a server may lose few of many races.

use proptest::prelude::*;
use serde_json::{Value, json};

use proofmark_judge::law::Law;

use super::{TOOL, assuming, call, done, in_workspace, saved, with};

pub(super) const ONE_WINS: Law = Law {
    name: "of-writers-at-once-one-wins",
    contract: "common",
    why: "A race that is lost now and then is found by repeating it. The node `codes` repeats the code of both losers. \
          If it does not match, a second writer succeeded.",
    shows: &["COMMON-064"],
    origin: "contract",
    operations: &[TOOL],
    inputs: || {
        (proptest::sample::select(ENTITIES), 0..4_usize)
            .prop_map(|(entity, writes)| race(entity, writes))
            .boxed()
    },
};

/// What the text of each racing write begins with.
pub(crate) const BY_WRITER: &str = "by writer ";

const MISMATCH: &str = "REVISION_MISMATCH";

/// What is written, and how it is addressed. Conflicts are not among them: the second write to a resolved one has two
/// problems, and the server may report either.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Entity {
    Plan,
    Task,
    Step,
    StepByPath,
    Node,
    NodeOnBranch,
}

use Entity::{Node, NodeOnBranch, Plan, Step, StepByPath, Task};

const ENTITIES: &[Entity] = &[Plan, Task, Step, StepByPath, Node, NodeOnBranch];

impl Entity {
    /// Its name in results.
    fn noun(self) -> &'static str {
        match self {
            Plan => "plan",
            Task => "task",
            Step | StepByPath => "step",
            Node | NodeOnBranch => "node",
        }
    }

    /// The tool that does this to it.
    fn tool(self, verb: &str) -> String {
        match self {
            Node | NodeOnBranch => format!("graph_node_{verb}"),
            other => format!("{}s_{verb}", other.noun()),
        }
    }

    /// The member that is written.
    fn member(self) -> &'static str {
        if matches!(self, Node | NodeOnBranch) { "type" } else { "title" }
    }

    /// What has to be there before it is made.
    fn ground(self) -> Vec<Value> {
        let plan = saved("plan", done("plans_create", &base(&[("title", json!("Ship it"))])));
        let task = [("plan", made("plan", "plan", "id")), ("title", json!("Build it"))];
        let task = saved("task", done("tasks_create", &base(&task)));
        match self {
            Plan | Node => vec![],
            Task => vec![plan],
            Step | StepByPath => vec![plan, task],
            NodeOnBranch => vec![done("graph_branch_create", &base(&[("branch", json!("side"))]))],
        }
    }

    /// Makes one, and saves the answer under this name.
    fn create(self, name: &str) -> Value {
        let text = (self.member(), json!("at first"));
        let args = match self {
            Plan => base(&[text]),
            Task => base(&[text, ("plan", made("plan", "plan", "id"))]),
            Step | StepByPath => base(&[text, ("task", made("task", "task", "id"))]),
            Node => base(&[text, ("node", json!(name))]),
            NodeOnBranch => base(&[text, ("node", json!(name)), ("branch", json!("side"))]),
        };
        saved(name, done(&self.tool("create"), &args))
    }

    /// The arguments that address the one with this name.
    fn address(self, name: &str) -> Value {
        let id = || made(name, self.noun(), "id");
        match self {
            Plan => base(&[("plan", id())]),
            Task => base(&[("task", id())]),
            Step => base(&[("task", made("task", "task", "id")), ("step", id())]),
            StepByPath => {
                let path = made(name, "step", "path");
                base(&[("task", made("task", "task", "id")), ("path", path)])
            }
            Node => base(&[("node", json!(name))]),
            NodeOnBranch => base(&[("node", json!(name)), ("branch", json!("side"))]),
        }
    }

    /// Writes a text.
    fn patch(self, name: &str, text: &str, expected: Value, returns: &Value) -> Value {
        let args = with(&self.address(name), self.member(), text);
        call(&self.tool("patch"), &with(&args, "expected_revision", expected), returns)
    }
}

/// Three writers who expect the current revision, after some writes one after another.
fn race(entity: Entity, writes: usize) -> Value {
    let mut setup = entity.ground();
    setup.push(entity.create("control"));
    let current = made("control", entity.noun(), "revision");
    setup.push(entity.patch("control", "controlled", current, &succeeds()));
    let codes = json!({ "a": MISMATCH, "b": MISMATCH });
    let node = [("node", json!("codes")), ("type", json!("t")), ("props", codes)];
    setup.push(done("graph_node_create", &base(&node)));
    setup.push(entity.create("raced"));
    let state =
        |number: usize| if number == 0 { "raced".to_owned() } else { format!("write{number}") };
    for number in 0..writes {
        let current = made(&state(number), entity.noun(), "revision");
        let write = entity.patch("raced", &state(number + 1), current, &succeeds());
        setup.push(saved(&state(number + 1), write));
    }

    let current = made(&state(writes), entity.noun(), "revision");
    let lost = json!({ "$open": { "success": false, "error": { "$open": { "code": MISMATCH } } } });
    let served = json!({ "$oneOf": [succeeds(), lost] });
    let write = |number: usize| {
        let write =
            entity.patch("raced", &format!("{BY_WRITER}{number}"), current.clone(), &served);
        saved(&format!("writer{number}"), write)
    };
    let of = |number: usize, member: &str| json!({ "$ref": format!("writer{number}/{member}") });
    // An answer that succeeded has the `success` of a write that was done.
    let kept = |number: usize| {
        let text = json!({ entity.member(): format!("{BY_WRITER}{number}") });
        let result = json!({ "$open": { entity.noun(): { "$open": text } } });
        json!({ "$open": { "success": of(number, "success"), "result": result } })
    };
    let losers = |(one, other): (usize, usize)| {
        let props = json!({ "a": of(one, "error/code"), "b": of(other, "error/code") });
        result("node", &json!({ "$open": { "props": props } }))
    };
    let any: Vec<Value> = (0..3).map(kept).collect();
    let pairs: Vec<Value> = [(0, 1), (0, 2), (1, 2)].map(losers).to_vec();
    let read = call(&entity.tool("get"), &entity.address("raced"), &json!({ "$oneOf": any }));
    let codes = base(&[("node", json!("codes"))]);
    let repeated = call("graph_node_get", &codes, &json!({ "$oneOf": pairs }));
    let steps = vec![
        json!({ "together": (0..3).map(write).collect::<Vec<_>>() }),
        assuming(read, &result(entity.noun(), &json!({ "$any": "object" }))),
        assuming(repeated, &result("node", &json!({ "$any": "object" }))),
    ];
    in_workspace(setup, steps)
}

/// Arguments in the workspace of the case.
fn base(members: &[(&str, Value)]) -> Value {
    members.iter().fold(json!({ "workspace": "<case>" }), |args, (name, value)| {
        with(&args, name, value.clone())
    })
}

/// A member of what the answer with this name has.
fn made(answer: &str, noun: &str, member: &str) -> Value {
    json!({ "$ref": format!("{answer}/result/{noun}/{member}") })
}

fn result(noun: &str, value: &Value) -> Value {
    json!({ "$open": { "success": true, "result": { "$open": { noun: value } } } })
}

fn succeeds() -> Value {
    json!({ "$open": { "success": true } })
}
