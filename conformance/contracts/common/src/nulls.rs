//! MCP servers that keep the envelope of `common` but do nothing right, or are hostile to the harness.

use std::collections::BTreeMap;
use std::io;
use std::sync::mpsc;
use std::time::Duration;

use proofmark_protocol::Id;
use proofmark_protocol::message::push_result;
use proofmark_room::Adversary;
use proofmark_room::wrong::{Then, leave_behind, wait_for_ever};
use proofmark_room::wrong_mcp::{NOW, Plain, hostile, null, print, serve};
use serde_json::{Value, json};

use crate::driver::server_at;

pub(crate) const ALL: &[Adversary] = &[
    null(
        "mcp-accepts",
        "every tool succeeds and gives nothing",
        &Plain(|| says(|tool, _| accepted(tool, &json!({})))),
    ),
    null(
        "mcp-claims-a-cut",
        "every tool gives an empty list that is cut",
        &Plain(|| {
            says(|tool, _| {
                let budget = json!({ "used": 0, "limit": 0 });
                let list = json!({ "text": "", "items": [], "total": 1, "truncated": true, "budget": budget });
                accepted(tool, &list)
            })
        }),
    ),
    null("mcp-echoes", "every tool gives its arguments", &Plain(|| says(accepted))),
    null(
        "mcp-refuses-input",
        "every tool refuses with INVALID_INPUT",
        &Plain(|| refuses("INVALID_INPUT")),
    ),
    null(
        "mcp-refuses-names",
        "every tool refuses with INVALID_NAME",
        &Plain(|| refuses("INVALID_NAME")),
    ),
    null("mcp-knows-no-id", "every tool refuses with UNKNOWN_ID", &Plain(|| refuses("UNKNOWN_ID"))),
    null(
        "mcp-knows-no-workspace",
        "every tool refuses with UNKNOWN_WORKSPACE",
        &Plain(|| refuses("UNKNOWN_WORKSPACE")),
    ),
    null(
        "mcp-knows-better",
        "every tool refuses with REVISION_MISMATCH and suggests it",
        &Plain(|| refuses("REVISION_MISMATCH")),
    ),
    hostile(
        "mcp-answers-twice",
        "answers every call twice",
        &Plain(|| {
            serve(|id, params, lines| {
                let answer = as_result(&accepted(tool(params), &json!({})));
                push_result(lines, id, &answer);
                push_result(lines, id, &answer);
                Ok(Then::GoOn)
            })
        }),
    ),
    hostile(
        "mcp-leaves-a-child",
        "ends, but not its child",
        &Plain(|| {
            leave_behind("never-greets")?;
            says(|tool, _| accepted(tool, &json!({})))
        }),
    ),
    hostile(
        "mcp-leaves-a-daemon",
        "ends, but not its child in a session of its own",
        &Plain(|| {
            leave_behind("daemon")?;
            says(|tool, _| accepted(tool, &json!({})))
        }),
    ),
    hostile(
        "mcp-ignores-the-end",
        "goes on when its input has ended",
        &Plain(|| {
            says(|tool, _| accepted(tool, &json!({})))?;
            wait_for_ever()
        }),
    ),
    null(
        "mcp-swaps-answers",
        "gives each of two calls under way the other's answer",
        &Plain(swaps),
    ),
    null("mcp-lags-behind", "answers every call with the workspace's answer before", &Plain(lags)),
];

fn tool(params: &Value) -> &str {
    params["name"].as_str().unwrap_or_default()
}

/// The arguments of a call, which a client may leave out.
pub(crate) fn arguments(params: &Value) -> Value {
    params.get("arguments").cloned().unwrap_or_else(|| json!({}))
}

/// Answers every call with the envelope that `envelope` builds from the tool and its arguments.
fn says(envelope: impl Fn(&str, &Value) -> Value) -> io::Result<()> {
    serve(|id, params, lines| {
        push_result(lines, id, &as_result(&envelope(tool(params), &params["arguments"])));
        Ok(Then::GoOn)
    })
}

/// The MCP result that carries an envelope.
pub(crate) fn as_result(envelope: &Value) -> Value {
    json!({
        "content": [{ "type": "text", "text": envelope.to_string() }],
        "structuredContent": envelope,
        "isError": envelope["success"] != true,
    })
}

fn accepted(tool: &str, result: &Value) -> Value {
    json!({
        "success": true, "intent": tool, "result": result, "warnings": [], "suggestions": [],
        "context": {}, "error": null, "timestamp": NOW,
    })
}

/// Refuses every call with one code, and suggests the same call again.
fn refuses(code: &str) -> io::Result<()> {
    says(|tool, arguments| {
        let mut envelope = accepted(tool, &json!({}));
        envelope["success"] = json!(false);
        envelope["error"] = json!({ "code": code, "message": "no", "recovery": "try again" });
        envelope["suggestions"] = json!([{
            "action": "call_tool", "target": tool, "reason": "It may help", "priority": "low",
            "validated": true, "params": arguments,
        }]);
        envelope
    })
}

/// The first answer in a workspace is nonsense; each later one is the answer to the previous call.
fn lags() -> io::Result<()> {
    let server = server_at(NOW)?;
    let mut before = BTreeMap::new();
    serve(move |id, params, lines| {
        let right = as_result(&server.call(tool(params), &params["arguments"]));
        let workspace = params["arguments"]["workspace"].to_string();
        let late = before.insert(workspace, right);
        push_result(lines, id, &late.unwrap_or_else(|| json!({ "content": [] })));
        Ok(Then::GoOn)
    })
}

/// Swaps the answers of two calls: success for a refusal. A call without a partner gets nonsense, because a swap
/// between similar cases could be right by accident.
fn swaps() -> io::Result<()> {
    let server = server_at(NOW)?;
    let (calls, under_way) = mpsc::channel::<(Id, Value)>();
    // Stops when the channel closes.
    let exchange = std::thread::spawn(move || -> io::Result<()> {
        while let Ok((id, right)) = under_way.recv() {
            let mut lines = Vec::new();
            match under_way.recv_timeout(Duration::from_millis(20)) {
                Ok((other, others)) if others["isError"] != right["isError"] => {
                    push_result(&mut lines, &id, &others);
                    push_result(&mut lines, &other, &right);
                }
                Ok((other, _)) => {
                    push_result(&mut lines, &id, &json!({ "content": [] }));
                    push_result(&mut lines, &other, &json!({ "content": [] }));
                }
                Err(_) => push_result(&mut lines, &id, &json!({ "content": [] })),
            }
            print(&lines)?;
        }
        Ok(())
    });
    serve(move |id, params, _| {
        let right = as_result(&server.call(tool(params), &params["arguments"]));
        // If the exchange is gone, so is stdout.
        let open = calls.send((id.clone(), right)).is_ok();
        Ok(if open { Then::GoOn } else { Then::Stop })
    })?;
    exchange.join().unwrap_or_else(|_| Err(io::Error::other("the exchange panicked")))
}
