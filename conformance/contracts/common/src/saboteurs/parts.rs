//! Servers that show a part for the whole, or lose a part of what was written.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use agent_common::Real;
use proofmark_protocol::RpcError;
use proofmark_protocol::message::{push_error, push_result};
use proofmark_room::Adversary;
use proofmark_room::wrong::Then;
use proofmark_room::wrong_mcp::{NOW, Plain, serve};
use serde_json::{Value, json};

use super::Bent;
use super::answers::{each_object, each_text, items_mut, only, succeeded, with, without};
use crate::driver::server_at;
use crate::laws::races::BY_WRITER;
use crate::nulls::{arguments, as_result};

pub(crate) const ALL: &[Adversary] = &[
    Adversary::server_saboteur(
        "stops-at-64-kib-in-silence",
        "a list without a cap ends at 64 KiB, and claims to be whole",
        &["COMMON-070"],
        &Bent(|server| server.around(stops_at_64_kib_in_silence)),
    ),
    Adversary::server_saboteur(
        "stores-step-titles-of-a-column",
        "of a longer title of a step the first 255 characters are stored",
        &["COMMON-070"],
        &Bent(|server| {
            server.around(|tool, args, real| match args.get("title").and_then(Value::as_str) {
                Some(title) if tool.starts_with("steps_") => {
                    let stored: String = title.chars().take(255).collect();
                    real(tool, &with(args, "title", stored))
                }
                _ => real(tool, args),
            })
        }),
    ),
    Adversary::server_saboteur(
        "knows-a-hundred-workspaces",
        "the list of workspaces has the last hundred, and claims that these are all",
        &["COMMON-070"],
        &Bent(|server| server.around(knows_a_hundred_workspaces)),
    ),
    Adversary::server_saboteur(
        "ignores-the-offset-of-workspaces",
        "the list of workspaces begins with the first, whatever the offset",
        &["COMMON-069"],
        &Bent(|server| {
            server.around(|tool, args, real| match tool {
                "workspaces_list" => real(tool, &without(args, &["offset"])),
                _ => real(tool, args),
            })
        }),
    ),
    Adversary::server_saboteur(
        "suggests-a-shorter-text",
        "texts of more than 1000 characters are cut in what is suggested",
        &["COMMON-070"],
        &Bent(|server| {
            server.around(|tool, args, real| {
                let mut answer = real(tool, args);
                each_text(&mut answer["suggestions"], &|text| {
                    Some(text.chars().take(1000).collect())
                });
                answer
            })
        }),
    ),
    Adversary::server_saboteur(
        "loses-a-write-beside-another",
        "of two writes to a task at once the second is lost, and both are acknowledged",
        &["COMMON-052", "COMMON-095"],
        &Bent(|server| server.around(loses_a_write_beside_another)),
    ),
    Adversary::server_saboteur(
        "makes-one-step-of-several",
        "steps that are made at once are one step, with the first title",
        &["COMMON-025", "COMMON-029"],
        &Bent(|server| server.around(makes_one_step_of_several)),
    ),
    Adversary::server_saboteur(
        "numbers-a-thousand-tasks",
        "the numbers of tasks begin again after 1000, and the first tasks are written over",
        &["COMMON-093"],
        &Bent(|server| server.around(numbers_a_thousand_tasks)),
    ),
    Adversary::server_saboteur(
        "lists-plans-as-first-seen",
        "a list shows a plan as it was when it was first listed",
        &["COMMON-093"],
        &Bent(|server| server.around(lists_plans_as_first_seen)),
    ),
    Adversary::server_saboteur(
        "breaks-on-large-numbers",
        "a number beyond 63 bits is answered with a JSON-RPC error",
        &["COMMON-011"],
        &Plain(breaks_on_large_numbers),
    ),
];

fn stops_at_64_kib_in_silence(tool: &str, args: &Value, real: Real<'_>) -> Value {
    const MOST: usize = 65_536;
    let mut answer = real(tool, args);
    if args.get("max_chars").is_none() && succeeded(&answer) {
        let mut items = items_mut(&mut answer, "items").to_vec();
        let all = items.len();
        while json!(items).to_string().len() > MOST && items.pop().is_some() {}
        if items.len() < all {
            answer["result"]["items"] = json!(items);
            answer["result"]["truncated"] = json!(false);
            answer["result"] = without(&answer["result"], &["budget"]);
        }
    }
    answer
}

fn knows_a_hundred_workspaces(tool: &str, args: &Value, real: Real<'_>) -> Value {
    const MOST: u64 = 100;
    let right = real(tool, args);
    let all = right["result"]["total"].as_u64().filter(|all| *all > MOST);
    let Some(all) = all.filter(|_| tool == "workspaces_list") else { return right };
    let offset = args.get("offset").and_then(Value::as_u64).unwrap_or(0);
    let mut answer = real(tool, &with(args, "offset", offset + all - MOST));
    answer["result"]["total"] = json!(MOST);
    answer
}

/// Writes of a race are known by their text.
fn is_raced(text: &Value) -> bool {
    text.as_str().is_some_and(|text| text.starts_with(BY_WRITER))
}

fn loses_a_write_beside_another(tool: &str, args: &Value, real: Real<'_>) -> Value {
    if tool == "tasks_patch" && is_raced(&args["notes"]) {
        let mut there = real("tasks_get", &only(args, &["workspace", "task"]));
        if is_raced(&there["result"]["task"]["title"]) {
            let bytes = args["notes"].as_str().map(str::len);
            there["result"]["task"]["notesBytes"] = json!(bytes);
            there["intent"] = json!(tool);
            return there;
        }
    }
    real(tool, args)
}

fn makes_one_step_of_several(tool: &str, args: &Value, real: Real<'_>) -> Value {
    if tool == "steps_create" && is_raced(&args["title"]) {
        let mut list = real("steps_list", &only(args, &["workspace", "task"]));
        let there = items_mut(&mut list, "items").iter().find(|step| is_raced(&step["title"]));
        if let Some(step) = there {
            let address = with(&only(args, &["workspace", "task"]), "step", step["id"].clone());
            let mut answer = real("steps_get", &address);
            answer["result"]["step"]["title"] = args["title"].clone();
            answer["intent"] = json!(tool);
            return answer;
        }
    }
    real(tool, args)
}

fn numbers_a_thousand_tasks(tool: &str, args: &Value, real: Real<'_>) -> Value {
    let answer = real(tool, args);
    let id = answer["result"]["task"]["id"].as_str().filter(|_| tool == "tasks_create");
    let number = id.and_then(|id| id.strip_prefix("TASK-")?.parse::<u32>().ok());
    let Some(number) = number.filter(|number| *number > 1000) else { return answer };
    let first =
        with(&only(args, &["workspace", "title"]), "task", format!("TASK-{:03}", number - 1000));
    real("tasks_patch", &first)
}

fn lists_plans_as_first_seen(tool: &str, args: &Value, real: Real<'_>) -> Value {
    static SEEN: Mutex<BTreeMap<String, Value>> = Mutex::new(BTreeMap::new());
    let mut answer = real(tool, args);
    if tool == "plans_list" {
        let mut seen = SEEN.lock().unwrap_or_else(PoisonError::into_inner);
        for plan in items_mut(&mut answer, "items") {
            let key = json!([args["workspace"], plan["id"]]).to_string();
            *plan = seen.entry(key).or_insert_with(|| plan.clone()).clone();
        }
    }
    answer
}

fn breaks_on_large_numbers() -> std::io::Result<()> {
    let server = server_at(NOW)?;
    serve(move |id, params, lines| {
        let tool = params["name"].as_str().unwrap_or_default();
        let args = arguments(params);
        let large = std::cell::Cell::new(false);
        each_object(&mut args.clone(), &|members| {
            if members.values().any(|value| value.as_u64() > Some(i64::MAX as u64)) {
                large.set(true);
            }
        });
        if large.get() {
            push_error(lines, Some(id), &RpcError::new(RpcError::INVALID_PARAMS, "out of range"));
        } else {
            push_result(lines, id, &as_result(&server.call(tool, &args)));
        }
        Ok(Then::GoOn)
    })
}
