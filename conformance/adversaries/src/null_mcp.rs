//! MCP servers that do nothing right, or not even that. On the adapter's own pipe they implement nothing.

use std::collections::BTreeMap;
use std::io::{self, BufRead as _, Write as _};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use agent_common::Server;
use proofmark_protocol::message::push_result;
use proofmark_protocol::{Id, Incoming};
use proofmark_reference::mcp_wire;
use serde_json::{Value, json};

use crate::hostile::{Then, leave_behind, not_implemented, serve_with, wait_for_ever};
use crate::{Adversary, Claims};

/// What these servers take for the time.
pub(crate) const NOW: &str = "2024-01-01T00:00:00Z";

pub(crate) const ALL: &[Adversary] = &[
    null("mcp-accepts", "every tool succeeds and gives nothing", || {
        says(|tool, _| accepted(tool, &json!({})))
    }),
    null("mcp-claims-a-cut", "every tool gives an empty list that is cut", || {
        says(|tool, _| {
            let budget = json!({ "used": 0, "limit": 0 });
            let list =
                json!({ "text": "", "items": [], "total": 1, "truncated": true, "budget": budget });
            accepted(tool, &list)
        })
    }),
    null("mcp-echoes", "every tool gives its arguments", || says(accepted)),
    null("mcp-refuses-input", "every tool refuses with INVALID_INPUT", || refuses("INVALID_INPUT")),
    null("mcp-refuses-names", "every tool refuses with INVALID_NAME", || refuses("INVALID_NAME")),
    null("mcp-knows-no-id", "every tool refuses with UNKNOWN_ID", || refuses("UNKNOWN_ID")),
    null("mcp-knows-no-workspace", "every tool refuses with UNKNOWN_WORKSPACE", || {
        refuses("UNKNOWN_WORKSPACE")
    }),
    null("mcp-knows-better", "every tool refuses with REVISION_MISMATCH and suggests it", || {
        refuses("REVISION_MISMATCH")
    }),
    null("mcp-has-no-tools", "answers every call with a JSON-RPC error", || serve(not_implemented)),
    null("mcp-says-it-in-words", "answers every call with a sentence", || {
        serve(|id, _, lines| {
            let content = json!([{ "type": "text", "text": "I have done as you asked." }]);
            push_result(lines, id, &json!({ "content": content }));
            Ok(Then::GoOn)
        })
    }),
    null("mcp-falls-silent", "answers nothing after `initialize`", || {
        serve(|_, _, _| Ok(Then::GoOn))
    })
    .slow(),
    null("mcp-ends", "ends at the first call", || serve(|_, _, _| Ok(Then::Stop))),
    null("mcp-floods", "answers a call with a gigabyte without a newline", || {
        serve(|_, _, _| {
            let chunk = vec![b'x'; 1 << 20];
            (0..1024).try_for_each(|_| io::stdout().write_all(&chunk))?;
            Ok(Then::Stop)
        })
    }),
    Adversary::null("names-no-wire", "answers `open` with an empty list of wires", |claims| {
        names(claims, json!({ "wire": {} }))
    }),
    Adversary::null("names-no-program", "names a server that cannot be started", |claims| {
        names(claims, json!({ "wire": { "mcp": { "command": ["./there-is-no-such-server"] } } }))
    }),
    Adversary::hostile(
        "mcp-never-begins",
        "ends on a call, while its server still starts",
        |claims| {
            let opened = mcp_wire(NOW).map_err(io::Error::other)?;
            serve_with(claims, &opened, |_, _, _| Ok(Then::Stop))
        },
    )
    .and_server(|| wait_for_ever()),
    hostile("mcp-prints-garbage", "logs to stdout in the middle of a call", || {
        serve(|_, _, lines| {
            lines.extend_from_slice(b"debug: got a call\n");
            Ok(Then::GoOn)
        })
    }),
    hostile("mcp-half-a-line", "ends in the middle of an answer", || {
        serve(|_, _, lines| {
            lines.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
            Ok(Then::Stop)
        })
    }),
    hostile("mcp-answers-twice", "answers every call twice", || {
        serve(|id, params, lines| {
            let answer = told(&accepted(tool(params), &json!({})));
            push_result(lines, id, &answer);
            push_result(lines, id, &answer);
            Ok(Then::GoOn)
        })
    }),
    hostile("mcp-leaves-a-child", "ends, but not its child", || {
        leave_behind("never-greets")?;
        says(|tool, _| accepted(tool, &json!({})))
    }),
    hostile("mcp-leaves-a-daemon", "ends, but not its child in a session of its own", || {
        leave_behind("daemon")?;
        says(|tool, _| accepted(tool, &json!({})))
    }),
    hostile("mcp-ignores-the-end", "goes on when its input has ended", || {
        says(|tool, _| accepted(tool, &json!({})))?;
        wait_for_ever()
    }),
];

const fn null(
    name: &'static str,
    about: &'static str,
    server: fn() -> io::Result<()>,
) -> Adversary {
    Adversary::null(name, about, adapter).and_server(server)
}

const fn hostile(
    name: &'static str,
    about: &'static str,
    server: fn() -> io::Result<()>,
) -> Adversary {
    Adversary::hostile(name, about, adapter).and_server(server)
}

fn adapter(claims: &Claims) -> io::Result<()> {
    names(claims, mcp_wire(NOW).map_err(io::Error::other)?)
}

fn names(claims: &Claims, opened: Value) -> io::Result<()> {
    serve_with(claims, &opened, not_implemented)
}

/// Serves MCP with a well-mannered `initialize`; `on_call` does the harm.
fn serve(mut on_call: impl FnMut(&Id, &Value, &mut Vec<u8>) -> io::Result<Then>) -> io::Result<()> {
    for line in io::stdin().lock().lines() {
        let Ok(Incoming::Request { id, method, params }) = Incoming::parse(line?.as_bytes()) else {
            continue;
        };
        let mut answer = Vec::new();
        let then = match method.as_str() {
            "initialize" => {
                push_result(&mut answer, &id, &greeting());
                Then::GoOn
            }
            _ => on_call(&id, &params, &mut answer)?,
        };
        print(&answer)?;
        if matches!(then, Then::Stop) {
            return Ok(());
        }
    }
    Ok(())
}

fn print(lines: &[u8]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(lines)?;
    out.flush()
}

fn greeting() -> Value {
    json!({
        "protocolVersion": "2025-06-18",
        "capabilities": { "tools": {} },
        "serverInfo": { "name": "adversary", "version": "0" },
    })
}

fn tool(params: &Value) -> &str {
    params["name"].as_str().unwrap_or_default()
}

/// Answers every call with the envelope that `envelope` makes of the tool and its arguments.
fn says(envelope: impl Fn(&str, &Value) -> Value) -> io::Result<()> {
    serve(|id, params, lines| {
        push_result(lines, id, &told(&envelope(tool(params), &params["arguments"])));
        Ok(Then::GoOn)
    })
}

/// The MCP result that carries an envelope.
fn told(envelope: &Value) -> Value {
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

/// Refuses every call with one code, and suggests to call the same again.
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

/// The reference's server, whose answers are right and are given to the wrong ones.
fn right_server() -> io::Result<Server> {
    let now = NOW.parse().map_err(io::Error::other)?;
    Ok(Server::in_memory(Arc::new(move || now)))
}

/// The first answer in a workspace is nonsense, and every other one is late.
pub(crate) fn lags() -> io::Result<()> {
    let server = right_server()?;
    let mut before = BTreeMap::new();
    serve(move |id, params, lines| {
        let right = told(&server.call(tool(params), &params["arguments"]));
        let workspace = params["arguments"]["workspace"].to_string();
        let late = before.insert(workspace, right);
        push_result(lines, id, &late.unwrap_or_else(|| json!({ "content": [] })));
        Ok(Then::GoOn)
    })
}

/// A right answer, given to the wrong one: success for a refusal. Who finds nobody to exchange with gets nonsense, for
/// cases are alike, and an answer that is right by accident would be no exchange.
pub(crate) fn swaps() -> io::Result<()> {
    let server = right_server()?;
    let (calls, under_way) = mpsc::channel::<(Id, Value)>();
    // Ends with the channel.
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
        let right = told(&server.call(tool(params), &params["arguments"]));
        // Where nobody exchanges any longer, the output is gone, and so is whoever reads it.
        let open = calls.send((id.clone(), right)).is_ok();
        Ok(if open { Then::GoOn } else { Then::Stop })
    })?;
    exchange.join().unwrap_or_else(|_| Err(io::Error::other("the exchange panicked")))
}
