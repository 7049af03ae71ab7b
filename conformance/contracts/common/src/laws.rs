//! Laws of `common`. Plain code computes the expected values from the contract's text alone.

use proptest::prelude::*;
use serde_json::{Value, json};

use proofmark_judge::law::Law;
use proofmark_judge::law::values::text;

const TOOL: &str = "mcp.tool";

pub(crate) const LAWS: &[Law] = &[
    Law {
        name: "any-text-is-cut-between-characters",
        contract: "common",
        why: "Half a character changes the text, and a character cut without need is lost.",
        shows: &["COMMON-072"],
        origin: "oracle: a walk over the characters",
        operations: &[TOOL],
        inputs: || {
            notes_and_caps(|notes, most| {
                let text = beginning(notes, most);
                json!({ "$open": { "text": text } })
            })
        },
    },
    Law {
        name: "any-cut-is-told",
        contract: "common",
        why: "A client that does not know how much is missing cannot decide whether to ask again.",
        shows: &["COMMON-074"],
        origin: "oracle: a walk over the characters",
        operations: &[TOOL],
        inputs: || {
            notes_and_caps(|notes, most| {
                let used = beginning(notes, most).len();
                let expected = if used < notes.len() {
                    json!({ "truncated": true, "budget": { "used": used, "limit": most } })
                } else {
                    json!({ "truncated": false, "budget": { "$absent": true } })
                };
                json!({ "$open": expected })
            })
        },
    },
    Law {
        name: "any-good-node-id-is-accepted",
        contract: "common",
        why: "The contract defines node ids, not the server's implementation.",
        shows: &["COMMON-033"],
        origin: "contract",
        operations: &[TOOL],
        inputs: || {
            node_id()
                .prop_map(|id| {
                    let node = json!({ "workspace": "<case>", "node": id });
                    let mut made = node.clone();
                    made["type"] = json!("t");
                    in_workspace(vec![
                        done("graph_node_create", &made),
                        done("graph_node_get", &node),
                    ])
                })
                .boxed()
        },
    },
    Law {
        name: "any-bad-node-id-is-refused",
        contract: "common",
        why: "A bar or a control character in a name later breaks a key or a screen.",
        shows: &["COMMON-034"],
        origin: "contract",
        operations: &[TOOL],
        inputs: || {
            (node_id(), bad_character(), node_id())
                .prop_map(|(before, bad, after)| {
                    let id = format!("{before}{bad}{after}");
                    let made = json!({ "workspace": "<case>", "node": id, "type": "t" });
                    let refused = json!({ "$open": { "success": false } });
                    in_workspace(vec![call("graph_node_create", &made, &refused)])
                })
                .boxed()
        },
    },
    Law {
        name: "any-series-of-writes-keeps-the-last-that-was-done",
        contract: "common",
        why: "A refused write that takes effect is a lost update.",
        shows: &["COMMON-055"],
        origin: "contract",
        operations: &[TOOL],
        inputs: || {
            proptest::collection::vec(any::<Option<u8>>(), 1..6)
                .prop_map(|writes| series(&writes))
                .boxed()
        },
    },
    Law {
        name: "any-page-is-a-part-of-the-list",
        contract: "common",
        why: "Reading page after page must return each item once.",
        shows: &["COMMON-069"],
        origin: "contract",
        operations: &[TOOL],
        inputs: || {
            let pages = proptest::collection::vec((1..6_usize, 0..6_usize), 1..4);
            (1..5_usize, pages).prop_map(|(count, pages)| paged(count, &pages)).boxed()
        },
    },
];

/// The longest prefix of at most `most` bytes that ends between two characters.
fn beginning(text: &str, most: usize) -> String {
    let mut shown = String::new();
    for letter in text.chars() {
        if shown.len() + letter.len_utf8() > most {
            break;
        }
        shown.push(letter);
    }
    shown
}

/// Any notes, read with several caps. `expected` computes the result for one cap.
fn notes_and_caps(expected: fn(&str, usize) -> Value) -> BoxedStrategy<Value> {
    let knob = proptest::sample::select(vec!["max_chars", "max_bytes"]);
    let caps = proptest::collection::vec((knob, 0..40_usize), 1..5);
    (text(), text(), caps)
        .prop_map(move |(first, second, caps)| {
            let notes = first + &second;
            let plan = json!({ "workspace": "<case>", "title": "Ship it" });
            let task = json!({
                "workspace": "<case>", "plan": { "$ref": "plan/result/plan/id" },
                "title": "Build it", "notes": notes,
            });
            let mut steps = vec![
                saved("plan", done("plans_create", &plan)),
                saved("task", done("tasks_create", &task)),
            ];
            steps.extend(caps.iter().map(|(knob, most)| {
                let result = expected(&notes, *most);
                let mut args =
                    json!({ "workspace": "<case>", "task": { "$ref": "task/result/task/id" } });
                args[*knob] = json!(most);
                call(
                    "tasks_notes",
                    &args,
                    &json!({ "$open": { "success": true, "result": result } }),
                )
            }));
            in_workspace(steps)
        })
        .boxed()
}

/// An id that the text allows. Without white space and further control characters, which are interpretations.
fn node_id() -> impl Strategy<Value = String> {
    text()
        .prop_map(|text| {
            let plain = |one: &char| {
                !one.is_control() && !one.is_whitespace() && !matches!(one, '|' | '\u{feff}')
            };
            text.chars().filter(plain).collect::<String>()
        })
        .prop_filter("some id", |id| !id.is_empty())
}

fn bad_character() -> impl Strategy<Value = char> {
    prop_oneof![Just('|'), proptest::char::range('\0', '\u{1f}'), Just('\u{7f}'),]
}

/// Writes to a plan. A write with a number expects an earlier or a nonexistent revision; the others expect the
/// current one.
fn series(writes: &[Option<u8>]) -> Value {
    let plan = json!({ "workspace": "<case>", "title": "at first" });
    let mut steps = vec![saved("state0", done("plans_create", &plan))];
    let revision = |state: usize| json!({ "$ref": format!("state{state}/result/plan/revision") });
    let id = json!({ "$ref": "state0/result/plan/id" });
    let mut now = 0;
    let mut title = "at first".to_owned();
    for (number, stale) in writes.iter().enumerate() {
        let written = format!("write {number}");
        let expected = match stale {
            None => revision(now),
            Some(before) if usize::from(*before) % 6 < now => revision(usize::from(*before) % 6),
            Some(_) => json!(1_000_000),
        };
        let args = json!({
            "workspace": "<case>", "plan": id, "title": written, "expected_revision": expected,
        });
        if stale.is_some() {
            steps.push(call("plans_patch", &args, &json!({ "$open": { "success": false } })));
        } else {
            now += 1;
            steps.push(saved(&format!("state{now}"), done("plans_patch", &args)));
            title = written;
        }
    }
    let kept = json!({ "$open": { "plan": { "$open": { "title": title } } } });
    let kept = json!({ "$open": { "success": true, "result": kept } });
    steps.push(call("plans_get", &json!({ "workspace": "<case>", "plan": id }), &kept));
    in_workspace(steps)
}

/// Pages of a list, compared with the whole list. The order of the list is an interpretation.
fn paged(count: usize, pages: &[(usize, usize)]) -> Value {
    let node =
        |number: usize| json!({ "workspace": "<case>", "node": format!("n{number}"), "type": "t" });
    let mut steps: Vec<Value> =
        (0..count).map(|number| done("graph_node_create", &node(number))).collect();
    steps.push(saved("all", done("graph_node_list", &json!({ "workspace": "<case>" }))));
    for (limit, offset) in pages {
        let args = json!({ "workspace": "<case>", "limit": limit, "offset": offset });
        let items: Vec<Value> = (0..count)
            .skip(*offset)
            .take(*limit)
            .map(|place| json!({ "$ref": format!("all/result/items/{place}") }))
            .collect();
        let shown =
            json!({ "$open": { "success": true, "result": { "$open": { "items": items } } } });
        steps.push(call("graph_node_list", &args, &shown));
    }
    in_workspace(steps)
}

/// Steps in the case's own workspace.
fn in_workspace(steps: Vec<Value>) -> Value {
    let made = done("workspaces_create", &json!({ "workspace": "<case>" }));
    let steps: Vec<Value> = [made].into_iter().chain(steps).collect();
    json!({ "steps": steps })
}

fn call(tool: &str, arguments: &Value, returns: &Value) -> Value {
    let args = json!({ "name": tool, "arguments": arguments });
    json!({ "call": TOOL, "args": args, "returns": returns })
}

fn done(tool: &str, arguments: &Value) -> Value {
    call(tool, arguments, &json!({ "$open": { "success": true } }))
}

fn saved(name: &str, mut step: Value) -> Value {
    step["as"] = json!(name);
    step
}
