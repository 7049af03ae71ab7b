//! The reference of `common`, changed in something that the text leaves free. Each must be certified.

pub(crate) mod habits;

use agent_common::Real;
use proofmark_protocol::message::push_result;
use proofmark_room::Adversary;
use proofmark_room::wrong::Then;
use proofmark_room::wrong_mcp::{NOW, Plain, serve};
use serde_json::{Value, json};

use crate::CONTRACT;
use crate::driver::{Bent, server_at};
use crate::nulls::{arguments, as_result};
use crate::saboteurs::answers::{
    each_object, each_text, failed_with, items_mut, only, succeeded, with, without,
};

pub(crate) const ALL: &[Adversary] = &[
    Adversary::server_variant(
        CONTRACT,
        "common-takes-one-knob",
        "each tool with a large output takes one budget argument, not the same one everywhere",
        "Every potentially large output must accept at least one budget knob",
        &Bent(|server| server.around(takes_one_knob)),
    ),
    Adversary::server_variant(
        CONTRACT,
        "common-suggests-little",
        "only a stale revision has a suggestion, and it is to look again",
        "On mismatch, … return recovery suggestions; for other errors: suggestions[], when possible",
        &Bent(|server| server.around(suggests_little)),
    ),
    Adversary::server_variant(
        CONTRACT,
        "common-tells-more",
        "envelopes, errors, results and suggestions have members that the text does not name, and times an offset",
        "The text does not say that there are no other members, nor what is in a result",
        &Bent(|server| server.around(tells_more)),
    ),
    Adversary::server_variant(
        CONTRACT,
        "common-says-it-twice",
        "the content of an answer has a second text for people, and no structuredContent",
        "The text says nothing of MCP beyond the envelope",
        &Plain(says_it_twice),
    ),
    Adversary::server_variant(
        CONTRACT,
        "common-counts-by-sevens",
        "each write adds 7 to a revision, and the first revision is 21",
        "Every mutable entity carries a monotonic integer revision",
        &Bent(|server| server.around(|tool, args, real| counts(tool, args, real, 21, 7))),
    ),
    Adversary::server_variant(
        CONTRACT,
        "common-begins-at-a-million",
        "each write adds 17 to a revision, and the first revision is 1000000",
        "Every mutable entity carries a monotonic integer revision",
        &Bent(|server| server.around(|tool, args, real| counts(tool, args, real, 1_000_000, 17))),
    ),
    Adversary::server_variant(
        CONTRACT,
        "common-begins-below-nothing",
        "the first revision is -7",
        "Every mutable entity carries a monotonic integer revision",
        &Bent(|server| server.around(|tool, args, real| counts(tool, args, real, -7, 1))),
    ),
    Adversary::server_variant(
        CONTRACT,
        "common-caps-lists-in-bytes-alone",
        "lists take only max_bytes, and notes only max_lines",
        "Every potentially large output must accept at least one budget knob",
        &Bent(|server| server.around(caps_lists_in_bytes_alone)),
    ),
    Adversary::server_variant(
        CONTRACT,
        "common-swaps-the-words",
        "plans are called TASK-, tasks PLAN-, and steps NODE-",
        "PlanId / TaskId have one pattern, ^(PLAN|TASK)-[0-9]{3,}$, and so have StepId / TaskNodeId",
        &Bent(|server| server.around(swaps_the_words)),
    ),
    Adversary::server_variant(
        CONTRACT,
        "common-lists-backwards",
        "lists begin with the last item",
        "The text does not say in which order items are listed",
        &Bent(|server| server.around(lists_backwards)),
    ),
    Adversary::server_variant(
        CONTRACT,
        "common-refuses-in-its-own-words",
        "refusals have codes of their own, but for a stale revision, and the intent `error`",
        "Recommended error.code values",
        &Bent(|server| server.around(refuses_in_its_own_words)),
    ),
    Adversary::server_variant(
        CONTRACT,
        "common-knows-no-status",
        "a task and a step have no status that a patch could change",
        "The text does not say what can be patched",
        &Bent(|server| server.around(knows_no_status)),
    ),
    Adversary::server_variant(
        CONTRACT,
        "common-merges-into-main-alone",
        "a branch is merged into the branch that it comes from, and into no other",
        "The text does not say which branches can be merged",
        &Bent(|server| server.around(merges_into_main_alone)),
    ),
];

const KNOBS: &[&str] = &["max_chars", "max_bytes", "max_lines", "limit", "offset"];

fn knob_of(tool: &str) -> Option<&'static str> {
    Some(match tool {
        "tasks_notes" => "max_lines",
        "workspaces_list" | "steps_list" | "graph_conflict_list" => "limit",
        "plans_list" | "graph_edge_list" => "max_chars",
        "tasks_list" | "graph_node_list" => "offset",
        _ => return None,
    })
}

fn takes_one_knob(tool: &str, args: &Value, real: Real<'_>) -> Value {
    let Some(taken) = knob_of(tool) else { return real(tool, args) };
    match KNOBS.iter().find(|knob| **knob != taken && args.get(**knob).is_some()) {
        Some(other) => real(tool, &with(args, &format!("no_{other}"), 1)),
        None => real(tool, args),
    }
}

fn suggests_little(tool: &str, args: &Value, real: Real<'_>) -> Value {
    let mut answer = real(tool, args);
    let look = format!("{}_get", tool.rsplit_once('_').map_or(tool, |(what, _)| what));
    let named = ["workspace", "branch", "plan", "task", "step", "path", "node", "conflict"];
    let params = only(args, &named);
    answer["suggestions"] =
        match failed_with(&answer, "REVISION_MISMATCH") && succeeded(&real(&look, &params)) {
            true => json!([{
                "action": "call_tool", "target": look, "reason": "Look again", "priority": "urgent",
                "validated": false, "params": params,
            }]),
            // A task that is meant by its focus cannot be looked at.
            false if failed_with(&answer, "REVISION_MISMATCH") => answer["suggestions"].clone(),
            false => json!([]),
        };
    answer
}

fn tells_more(tool: &str, args: &Value, real: Real<'_>) -> Value {
    let mut answer = real(tool, args);
    // A cap on a list counts what its items tell.
    if !tool.ends_with("_list") {
        each_object(&mut answer["result"], &|members| {
            if members.contains_key("revision") {
                members.insert("author".to_owned(), json!("ann"));
            }
        });
    }
    answer["result"]["more"] = json!("of it");
    if answer["error"].is_object() {
        answer["error"]["more"] = json!("of it");
    }
    answer["suggestions"].as_array_mut().into_iter().flatten().for_each(|one| one["id"] = json!(1));
    answer["tookMs"] = json!(3);
    answer["timestamp"] =
        answer["timestamp"].as_str().map(|time| time.replace('Z', "+00:00")).into();
    answer
}

fn says_it_twice() -> std::io::Result<()> {
    let server = server_at(NOW)?;
    serve(move |id, params, lines| {
        let tool = params["name"].as_str().unwrap_or_default();
        let mut result = as_result(&server.call(tool, &arguments(params)));
        if let Some(members) = result.as_object_mut() {
            members.remove("structuredContent");
        }
        if let Some(content) = result["content"].as_array_mut() {
            content.push(json!({ "type": "text", "text": "That was all." }));
        }
        push_result(lines, id, &result);
        Ok(Then::GoOn)
    })
}

/// A server whose first revision and the step between two are these.
fn counts(tool: &str, args: &Value, real: Real<'_>, first: i64, step: i64) -> Value {
    /// More writes than any test makes.
    const NEVER: i64 = 1 << 40;
    let mut args = args.clone();
    for name in ["expected_revision", "expected_version"] {
        if let Some(shown) = args.get(name).and_then(Value::as_i64) {
            let told =
                (shown >= first && (shown - first) % step == 0).then_some((shown - first) / step);
            args = with(&args, name, told.unwrap_or(NEVER));
        }
    }
    let mut answer = real(tool, &args);
    let tell = |members: &mut serde_json::Map<String, Value>| {
        for name in ["revision", "expected_revision", "expected_version"] {
            if let Some(real) = members.get(name).and_then(Value::as_i64) {
                members.insert(name.to_owned(), json!(real * step + first));
            }
        }
    };
    each_object(&mut answer["result"], &tell);
    each_object(&mut answer["suggestions"], &tell);
    keep_the_cap(&args, &mut answer);
    answer
}

/// Drops items of a list that are longer than the server counted.
fn keep_the_cap(args: &Value, answer: &mut Value) {
    let most = args.get("max_chars").and_then(Value::as_u64);
    let most = most.and_then(|most| usize::try_from(most).ok());
    let (Some(most), true) = (most, answer["result"]["items"].is_array()) else { return };
    let mut items = items_mut(answer, "items").to_vec();
    let all = items.len();
    while json!(items).to_string().len() > most && items.pop().is_some() {}
    if items.len() < all {
        let used = json!(items).to_string().len();
        answer["result"]["items"] = json!(items);
        answer["result"]["truncated"] = json!(true);
        answer["result"]["budget"] = json!({ "used": used, "limit": most });
    }
}

fn caps_lists_in_bytes_alone(tool: &str, args: &Value, real: Real<'_>) -> Value {
    let taken = match tool {
        "tasks_notes" => "max_lines",
        _ if tool.ends_with("_list") => "max_bytes",
        _ => return real(tool, args),
    };
    if let Some(other) = KNOBS.iter().find(|knob| **knob != taken && args.get(**knob).is_some()) {
        return real(tool, &with(args, &format!("no_{other}"), 1));
    }
    let rename = |from: &'static str, to: &'static str| {
        move |members: &mut serde_json::Map<String, Value>| {
            if let Some(most) = members.remove(from) {
                members.insert(to.to_owned(), most);
            }
        }
    };
    let mut args = args.clone();
    if taken == "max_bytes" {
        each_object(&mut args, &rename("max_bytes", "max_chars"));
    }
    let mut answer = real(tool, &args);
    if taken == "max_bytes" {
        each_object(&mut answer["suggestions"], &rename("max_chars", "max_bytes"));
    }
    answer
}

fn swaps_the_words(tool: &str, args: &Value, real: Real<'_>) -> Value {
    const PAIRS: &[(&str, &str, usize)] = &[("PLAN-", "TASK-", 3), ("STEP-", "NODE-", 8)];
    let swap = |text: &str| {
        PAIRS
            .iter()
            .flat_map(|(one, other, least)| [(one, other, least), (other, one, least)])
            .find_map(|(from, to, least)| {
                let rest = text.strip_prefix(from)?;
                let good = match *least {
                    3 => rest.bytes().all(|one| one.is_ascii_digit()),
                    _ => rest.bytes().all(|one| one.is_ascii_alphanumeric()),
                };
                (good && rest.len() >= *least).then(|| format!("{to}{rest}"))
            })
    };
    let mut args = args.clone();
    each_text(&mut args, &swap);
    let mut answer = real(tool, &args);
    each_text(&mut answer, &swap);
    answer
}

fn lists_backwards(tool: &str, args: &Value, real: Real<'_>) -> Value {
    let right = real(tool, args);
    if !tool.ends_with("_list") || !succeeded(&right) {
        return right;
    }
    let knob = |name: &str| {
        args.get(name).and_then(Value::as_u64).and_then(|most| usize::try_from(most).ok())
    };
    let (offset, limit) = (knob("offset").unwrap_or(0), knob("limit").unwrap_or(50));
    let all = whole_list(tool, args, real);
    let left = all.len().saturating_sub(offset);
    let mut shown: Vec<Value> = all.iter().rev().skip(offset).take(limit).cloned().collect();
    let mut budget = json!({ "used": shown.len(), "limit": limit });
    if let Some(most) = knob("max_chars") {
        while json!(shown).to_string().len() > most && shown.pop().is_some() {
            budget = json!({ "limit": most });
        }
        if budget.get("used").is_none() {
            budget["used"] = json!(json!(shown).to_string().len());
        }
    }
    let cut = shown.len() < left;
    let mut answer = right;
    answer["result"] = json!({ "items": shown, "total": all.len(), "truncated": cut });
    if cut {
        answer["result"]["budget"] = budget;
    }
    answer
}

/// All items of a list, page after page.
fn whole_list(tool: &str, args: &Value, real: Real<'_>) -> Vec<Value> {
    let page = with(&without(args, KNOBS), "limit", 1000);
    let mut all = Vec::new();
    loop {
        let mut answer = real(tool, &with(&page, "offset", all.len()));
        all.extend_from_slice(items_mut(&mut answer, "items"));
        if answer["result"]["truncated"] != true {
            return all;
        }
    }
}

fn refuses_in_its_own_words(tool: &str, args: &Value, real: Real<'_>) -> Value {
    let mut answer = real(tool, args);
    if !succeeded(&answer) {
        answer["intent"] = json!("error");
        if !failed_with(&answer, "REVISION_MISMATCH") {
            answer["error"]["code"] = json!("E_REFUSED");
        }
    }
    answer
}

fn knows_no_status(tool: &str, args: &Value, real: Real<'_>) -> Value {
    match args.get("status").or(args.get("checkpoints")) {
        Some(_) => real(tool, &with(args, "no_status", true)),
        None => {
            let mut answer = real(tool, args);
            each_object(&mut answer["result"], &|members| {
                if members.contains_key("title") {
                    members.remove("status");
                    members.remove("checkpoints");
                }
            });
            answer
        }
    }
}

fn merges_into_main_alone(tool: &str, args: &Value, real: Real<'_>) -> Value {
    match tool == "graph_merge" && args.get("into") != Some(&json!("main")) {
        true => real(tool, &with(args, "into", json!(0))),
        false => real(tool, args),
    }
}
