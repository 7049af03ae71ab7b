//! The reference of `common` without one thing that many cases meet: only the promise about that thing is broken.

use proofmark_protocol::RpcError;
use proofmark_protocol::message::{push_error, push_result};
use proofmark_room::Adversary;
use proofmark_room::wrong::Then;
use proofmark_room::wrong_mcp::{NOW, Plain, serve};
use serde_json::json;

use crate::driver::{Bent, server_at};
use crate::nulls::{arguments, as_result};
use crate::saboteurs::answers::{each_object, succeeded, without};

pub(crate) const ALL: &[Adversary] = &[
    Adversary::crippled_server(
        "has-no-context",
        "no answer has a context",
        &["COMMON-001"],
        &Bent(|server| server.around(|tool, args, real| without(&real(tool, args), &["context"]))),
    ),
    Adversary::crippled_server(
        "has-no-success",
        "no answer says whether the call succeeded",
        &["COMMON-001"],
        &Bent(|server| server.around(|tool, args, real| without(&real(tool, args), &["success"]))),
    ),
    Adversary::crippled_server(
        "has-no-suggestions",
        "no answer has suggestions",
        // Two refusals must have one.
        &["COMMON-001", "COMMON-057", "COMMON-084", "COMMON-100"],
        &Bent(|server| {
            server.around(|tool, args, real| without(&real(tool, args), &["suggestions"]))
        }),
    ),
    Adversary::crippled_server(
        "has-no-revisions",
        "nothing has a revision",
        &["COMMON-051"],
        &Bent(|server| {
            server.around(|tool, args, real| {
                let mut answer = real(tool, args);
                each_object(&mut answer["result"], &|members| {
                    members.remove("revision");
                });
                answer
            })
        }),
    ),
    Adversary::crippled_server(
        "has-no-focus",
        "there is no tasks_focus, and times have no time of day",
        &["COMMON-005"],
        &Bent(|server| {
            server.around(|tool, args, real| {
                let known = if tool == "tasks_focus" { "tasks_unknown" } else { tool };
                let mut answer = real(known, args);
                let day = answer["timestamp"].as_str().map(|time| time[..10].to_owned());
                answer["timestamp"] = json!(day);
                answer
            })
        }),
    ),
    Adversary::crippled_server(
        "refuses-on-the-wire",
        "every refusal is a JSON-RPC error",
        &["COMMON-011"],
        &Plain(|| {
            let server = server_at(NOW)?;
            serve(move |id, params, lines| {
                let tool = params["name"].as_str().unwrap_or_default();
                let envelope = server.call(tool, &arguments(params));
                if succeeded(&envelope) {
                    push_result(lines, id, &as_result(&envelope));
                } else {
                    let message = envelope["error"]["message"].as_str().unwrap_or_default();
                    push_error(lines, Some(id), &RpcError::new(RpcError::INVALID_PARAMS, message));
                }
                Ok(Then::GoOn)
            })
        }),
    ),
];
