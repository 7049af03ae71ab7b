//! Long texts, and lists under any cap.

use proptest::prelude::*;
use serde_json::{Value, json};

use proofmark_judge::law::Law;

use super::{TOOL, call, done, in_workspace, saved, with};

pub(super) const LONG_TEXTS: Law = Law {
    name: "any-long-text-is-whole-or-says-that-it-is-cut",
    contract: "common",
    why: "A store that cuts what is too long for a column, and does not say so, loses the rest.",
    shows: &["COMMON-070"],
    origin: "contract",
    operations: &[TOOL],
    inputs: || {
        let sizes = vec![255, 511, 1023, 2047, 4095, 8191, 16_383, 32_767, 65_535, 69_999, 131_071];
        let size = (proptest::sample::select(sizes), 0..3_usize);
        let letter = proptest::sample::select(vec!['x', 'é', '日']);
        (proptest::sample::select(TEXTS), size, letter)
            .prop_map(|(kind, (size, more), letter)| {
                let letters = (size + more).div_ceil(letter.len_utf8());
                long_text(kind, &letter.to_string().repeat(letters))
            })
            .boxed()
    },
};

pub(super) const LISTS_KEEP_MAX_CHARS: Law = Law {
    name: "any-list-keeps-max-chars",
    contract: "common",
    why: "A cap that counts anything but bytes of UTF-8 lets some lists through.",
    shows: &["COMMON-066"],
    origin: "contract",
    operations: &[TOOL],
    inputs: || {
        capped_lists(|cap, _| {
            let items = json!({ "$within": { "bytes": cap, "value": { "$any": "array" } } });
            json!([{ "$open": { "result": { "$open": { "items": items } } } }])
        })
    },
};

pub(super) const CUT_LISTS_SAY_SO: Law = Law {
    name: "any-list-is-whole-or-says-that-it-is-cut",
    contract: "common",
    why: "A reader who is not told of a cut takes a part for the whole, also if the part is empty.",
    shows: &["COMMON-070"],
    origin: "contract",
    operations: &[TOOL],
    inputs: || {
        capped_lists(|_, count| {
            let items = vec![json!({ "$any": "value" }); count];
            json!([{ "$open": { "result": { "$open": { "items": items } } } }, cut()])
        })
    },
};

/// A text that a caller writes: the tools, the kind of entity, and the member.
type Text = (&'static str, &'static str, &'static str, &'static str);

const TEXTS: &[Text] = &[
    ("tasks_patch", "tasks_notes", "task", "notes"),
    ("plans_patch", "plans_get", "plan", "title"),
    ("tasks_patch", "tasks_get", "task", "title"),
    ("steps_patch", "steps_get", "step", "title"),
    ("graph_node_patch", "graph_node_get", "node", "props"),
];

/// Writes a long text over a short one. A server may refuse it, and then has the short one.
fn long_text((patch, get, kind, member): Text, text: &str) -> Value {
    const SHORT: &str = "short";
    let of = |kind: &str| match kind {
        "step" => with(&address("task"), "step", id("step")),
        other => address(other),
    };
    let write = |text: &str| match member {
        "props" => with(&of(kind), member, json!({ "k": text })),
        _ => with(&of(kind), member, text),
    };
    let shown = |text: &str| match member {
        "notes" => json!({ "text": text }),
        "props" => json!({ "node": { "$open": { "props": { "k": text } } } }),
        _ => json!({ kind: { "$open": { member: text } } }),
    };
    let read =
        |text: &str| json!({ "$open": { "success": true, "result": { "$open": shown(text) } } });
    let mut setup = ground();
    setup.push(done(patch, &write(SHORT)));
    setup.push(call(get, &of(kind), &read(SHORT)));
    let mut tried = call(patch, &write(text), &json!(null));
    if let Some(members) = tried.as_object_mut() {
        members.remove("returns");
    }
    let refused = json!({ "$open": { "success": false } });
    let own_cut = json!({ "$open": { "result": { "$open": { kind: cut_members() } } } });
    let returns = json!({ "$oneOf": [read(text), read(SHORT), cut(), own_cut, refused] });
    in_workspace(setup, vec![tried, call(get, &of(kind), &returns)])
}

/// The envelope of a result that says that it is cut.
fn cut() -> Value {
    json!({ "$open": { "result": cut_members() } })
}

fn cut_members() -> Value {
    let budget = json!({ "used": { "$any": "integer" }, "limit": { "$any": "integer" } });
    json!({ "$open": { "truncated": true, "budget": { "$open": budget } } })
}

/// A list: its tool, the kind of its items, and the member that holds their text.
const LISTS: &[(&str, &str, &str)] = &[
    ("plans_list", "plan", "title"),
    ("tasks_list", "task", "title"),
    ("steps_list", "step", "title"),
    ("graph_node_list", "node", "props"),
];

/// Lists of any texts, read with several caps. `expected` gets a cap and the number of items. A server may refuse.
fn capped_lists(expected: fn(usize, usize) -> Value) -> BoxedStrategy<Value> {
    let letter = proptest::sample::select(vec!['x', 'é', '日', '🙂', '"', '\\']);
    let texts = proptest::collection::vec((letter, 1..60_usize), 1..5);
    let cap = prop_oneof![1 => 0..60_usize, 3 => 60..1000_usize];
    (proptest::sample::select(LISTS), texts, proptest::collection::vec(cap, 3..8))
        .prop_map(move |((tool, kind, member), texts, caps)| {
            let texts: Vec<String> =
                texts.iter().map(|(letter, count)| letter.to_string().repeat(*count)).collect();
            let setup = listed(kind, member, &texts);
            let within = match kind {
                "step" => address("task"),
                _ => json!({ "workspace": "<case>" }),
            };
            let reads = caps.iter().map(|cap| {
                let mut any = expected(*cap, texts.len());
                if let Some(any) = any.as_array_mut() {
                    any.push(json!({ "$open": { "success": false } }));
                }
                call(tool, &with(&within, "max_chars", json!(cap)), &json!({ "$oneOf": any }))
            });
            in_workspace(setup, reads.collect())
        })
        .boxed()
}

/// Entities with these texts, and nothing else of their kind.
fn listed(kind: &str, member: &str, texts: &[String]) -> Vec<Value> {
    let text_of = |number: usize, text: &str| match kind {
        "node" => with(
            &json!({ "workspace": "<case>", "node": format!("n{number}"), "type": "t" }),
            member,
            json!({ "k": text }),
        ),
        "plan" => json!({ "workspace": "<case>", "title": text }),
        "task" => with(&address("plan"), "title", text),
        _ => with(&address("task"), "title", text),
    };
    let tool = match kind {
        "node" => "graph_node_create".to_owned(),
        _ => format!("{kind}s_create"),
    };
    let before = match kind {
        "task" => 1,
        "step" => 2,
        _ => 0,
    };
    let made = texts.iter().enumerate().map(|(number, text)| done(&tool, &text_of(number, text)));
    ground().into_iter().take(before).chain(made).collect()
}

/// A plan, a task, a step and a node.
fn ground() -> Vec<Value> {
    let titled = |args: Value| with(&args, "title", "Ship it");
    let node = json!({ "workspace": "<case>", "node": "n", "type": "t" });
    vec![
        saved("plan", done("plans_create", &titled(json!({ "workspace": "<case>" })))),
        saved("task", done("tasks_create", &titled(address("plan")))),
        saved("step", done("steps_create", &titled(address("task")))),
        done("graph_node_create", &node),
    ]
}

/// The arguments that address the entity of [`ground`].
fn address(kind: &str) -> Value {
    let id = if kind == "node" { json!("n") } else { id(kind) };
    with(&json!({ "workspace": "<case>" }), kind, id)
}

fn id(kind: &str) -> Value {
    json!({ "$ref": format!("{kind}/result/{kind}/id") })
}
