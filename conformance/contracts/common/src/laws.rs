//! Laws of `common`. Plain code computes the expected values from the contract's text alone.

use proptest::prelude::*;
use serde_json::{Value, json};

use proofmark_judge::law::Law;
use proofmark_judge::law::values::text;

pub(crate) mod races;
mod sizes;

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
                    in_workspace(
                        with_a_node(),
                        vec![done("graph_node_create", &made), done("graph_node_get", &node)],
                    )
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
                    in_workspace(with_a_node(), vec![call("graph_node_create", &made, &refused)])
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
    races::ONE_WINS,
    sizes::LONG_TEXTS,
    sizes::LISTS_KEEP_MAX_CHARS,
    sizes::CUT_LISTS_SAY_SO,
];

/// A revision that no entity ever has, and that fits into 32 bits.
const NEVER: u32 = 2_098_765_432;

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
    // No letter belongs to the one before it: a server may keep such letters together.
    let letters = vec!['x', ' ', '\n', 'é', '日', '🙂'];
    (proptest::collection::vec(proptest::sample::select(letters), 0..24), caps)
        .prop_map(move |(letters, caps)| {
            let notes: String = letters.into_iter().collect();
            let plan = json!({ "workspace": "<case>", "title": "Ship it" });
            let task = json!({
                "workspace": "<case>", "plan": { "$ref": "plan/result/plan/id" },
                "title": "Build it", "notes": notes,
            });
            let setup = vec![
                saved("plan", done("plans_create", &plan)),
                saved("task", done("tasks_create", &task)),
            ];
            let reads = caps.iter().map(|(knob, most)| {
                let result = expected(&notes, *most);
                let mut args =
                    json!({ "workspace": "<case>", "task": { "$ref": "task/result/task/id" } });
                args[*knob] = json!(most);
                let shown = call("tasks_notes", &args, &json!({ "$open": { "result": result } }));
                assuming(shown, &success())
            });
            in_workspace(setup, reads.collect())
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
/// current one. Whether a write is done or refused is another promise.
fn series(writes: &[Option<u8>]) -> Value {
    let plan = json!({ "workspace": "<case>", "title": "at first" });
    let mut setup = vec![saved("state0", done("plans_create", &plan))];
    let revision = |state: usize| json!({ "$ref": format!("state{state}/result/plan/revision") });
    let id = json!({ "$ref": "state0/result/plan/id" });
    let mut now = 0;
    let mut title = "at first".to_owned();
    for (number, stale) in writes.iter().enumerate() {
        let written = format!("write {number}");
        let expected = match stale {
            None => revision(now),
            Some(before) if usize::from(*before) % 6 < now => revision(usize::from(*before) % 6),
            Some(_) => json!(NEVER),
        };
        let args = json!({
            "workspace": "<case>", "plan": id, "title": written, "expected_revision": expected,
        });
        if stale.is_some() {
            setup.push(call("plans_patch", &args, &json!({ "$open": { "success": false } })));
        } else {
            now += 1;
            setup.push(saved(&format!("state{now}"), done("plans_patch", &args)));
            title = written;
        }
    }
    let kept = json!({ "$open": { "plan": { "$open": { "title": title } } } });
    let read = json!({ "workspace": "<case>", "plan": id });
    let read = call("plans_get", &read, &json!({ "$open": { "result": kept } }));
    in_workspace(setup, vec![assuming(read, &success())])
}

/// Pages of a list, compared with the whole list. The order of the list is free, and so are the default of `limit` and
/// whether a tool takes both arguments.
fn paged(count: usize, pages: &[(usize, usize)]) -> Value {
    let node =
        |number: usize| json!({ "workspace": "<case>", "node": format!("n{number}"), "type": "t" });
    let mut setup: Vec<Value> =
        (0..count).map(|number| done("graph_node_create", &node(number))).collect();
    let at_most = |limit: usize| json!({ "workspace": "<case>", "limit": limit });
    let refused = json!({ "$open": { "success": false } });
    let items = vec![json!({ "$any": "object" }); count];
    let all = json!({ "$open": { "items": items, "truncated": { "$optional": false } } });
    let all = json!({ "$oneOf": [{ "$open": { "success": true, "result": all } }, refused] });
    setup.push(saved("all", call("graph_node_list", &at_most(count), &all)));
    // A server that takes small limits alone shows nothing.
    let alike = json!({ "$open": { "success": { "$ref": "all/success" } } });
    setup.push(call("graph_node_list", &at_most(1), &alike));
    let page = |(limit, offset): &(usize, usize)| {
        let args = json!({ "workspace": "<case>", "limit": limit, "offset": offset });
        let item = |place: usize| json!({ "$ref": format!("all/result/items/{place}/id") });
        let items: Vec<Value> = (0..count)
            .skip(*offset)
            .take(*limit)
            .map(|place| json!({ "$open": { "id": item(place) } }))
            .collect();
        let shown = json!({ "$open": { "result": { "$open": { "items": items } } } });
        call("graph_node_list", &args, &json!({ "$oneOf": [shown, refused] }))
    };
    in_workspace(setup, pages.iter().map(page).collect())
}

/// A case in its own workspace.
fn in_workspace(setup: Vec<Value>, steps: Vec<Value>) -> Value {
    let made = done("workspaces_create", &json!({ "workspace": "<case>" }));
    let mut setup: Vec<Value> = [made].into_iter().chain(setup).collect();
    for step in setup.iter_mut().filter_map(Value::as_object_mut) {
        step.remove("assumes");
    }
    json!({ "setup": setup, "steps": steps })
}

/// A server that makes and finds no node at all shows nothing about ids.
fn with_a_node() -> Vec<Value> {
    let node = json!({ "workspace": "<case>", "node": "control" });
    let mut made = node.clone();
    made["type"] = json!("t");
    vec![done("graph_node_create", &made), done("graph_node_get", &node)]
}

/// The arguments with a member set.
pub(crate) fn with(args: &Value, name: &str, value: impl Into<Value>) -> Value {
    let mut members = args.as_object().cloned().unwrap_or_default();
    members.insert(name.to_owned(), value.into());
    Value::Object(members)
}

/// A call that shows something only if this is so.
fn assuming(mut step: Value, returns: &Value) -> Value {
    step["assumes"] = json!({ "returns": returns });
    step
}

fn success() -> Value {
    json!({ "$open": { "success": true } })
}

fn call(tool: &str, arguments: &Value, returns: &Value) -> Value {
    let args = json!({ "name": tool, "arguments": arguments });
    let envelope = json!({ "$open": { "success": { "$any": "boolean" } } });
    assuming(json!({ "call": TOOL, "args": args, "returns": returns }), &envelope)
}

fn done(tool: &str, arguments: &Value) -> Value {
    call(tool, arguments, &success())
}

fn saved(name: &str, mut step: Value) -> Value {
    step["as"] = json!(name);
    step
}
