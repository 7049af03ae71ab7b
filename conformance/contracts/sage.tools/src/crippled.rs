//! The reference without one thing that many cases meet: a member of most answers, or a whole tool.
//!
//! Exactly the promises about that thing are broken. Cases that only need it are blocked.

use serde_json::{Map, Value};

use proofmark_protocol::Failure;
use proofmark_room::bend::{Call, Next, Reply, around};
use proofmark_room::{Adversary, Subject};

const ALL_BUT_LISTS: &[&str] = &["tools.register", "tools.get", "tools.validate", "tools.execute"];

pub(crate) const ALL: &[Adversary] = &[
    Adversary::crippled(
        "tells-no-bytes",
        "no answer has bytes",
        &["TOOLS-046", "TOOLS-105"],
        |subject| without_data(subject, "bytes"),
    ),
    Adversary::crippled(
        "tells-no-stderr",
        "no answer has stderr",
        &["TOOLS-067", "TOOLS-105"],
        |subject| without_data(subject, "stderr"),
    ),
    Adversary::crippled(
        "errors-of-code-and-message",
        "errors have a code and a message, and nothing else",
        &["TOOLS-013", "TOOLS-024", "TOOLS-028", "TOOLS-036"],
        |subject| {
            with_errors(subject, ALL_BUT_LISTS, |error| {
                error.retain(|name, _| name == "code" || name == "message");
            })
        },
    ),
    Adversary::crippled(
        "errors-without-a-message",
        "the error of a result has no message",
        &["TOOLS-012", "TOOLS-016"],
        |subject| {
            with_errors(subject, &["tools.execute"], |error| {
                error.shift_remove("message");
            })
        },
    ),
    Adversary::crippled(
        "tools-without-a-name",
        "tools are found and listed without their names",
        &["TOOLS-001", "TOOLS-004"],
        tools_without_a_name,
    ),
    Adversary::crippled(
        "has-no-graph-query",
        "there is no tool GraphQuery",
        &["TOOLS-002", "TOOLS-030"],
        |subject| without_tool(subject, "GraphQuery"),
    ),
    Adversary::crippled(
        "has-no-bash",
        "there is no tool Bash",
        &["TOOLS-002", "TOOLS-067"],
        |subject| without_tool(subject, "Bash"),
    ),
];

/// Takes a member out of the data of every result.
fn without_data(subject: Subject, member: &'static str) -> Subject {
    around(subject, &["tools.execute"], move |call: Call, args: Value, inner: Next| async move {
        let mut answer = inner.call(call, args).await;
        if let Ok(Value::Object(data)) = answer.as_mut().map(|result| &mut result["data"]) {
            data.shift_remove(member);
        }
        answer
    })
}

/// Changes every error, thrown or in a result.
fn with_errors(
    subject: Subject,
    operations: &[&str],
    change: fn(&mut Map<String, Value>),
) -> Subject {
    around(subject, operations, move |call: Call, args: Value, inner: Next| async move {
        let mut answer = inner.call(call, args).await;
        match &mut answer {
            Err(Failure::Contract(error)) => change(error),
            Ok(Value::Object(result)) => {
                if let Some(Value::Object(error)) = result.get_mut("error") {
                    change(error);
                }
            }
            _ => {}
        }
        answer
    })
}

fn tools_without_a_name(subject: Subject) -> Subject {
    let operations = &["tools.get", "tools.getToolSchemas"];
    around(subject, operations, async |call: Call, args: Value, inner: Next| {
        let mut answer = inner.call(call, args).await;
        match &mut answer {
            Ok(Value::Object(tool)) => {
                tool.shift_remove("name");
            }
            Ok(Value::Array(tools)) => {
                for tool in tools.iter_mut().filter_map(Value::as_object_mut) {
                    tool.shift_remove("name");
                }
            }
            _ => {}
        }
        answer
    })
}

/// The registry answers as if it had never heard of the tool.
fn without_tool(subject: Subject, tool: &'static str) -> Subject {
    let by_name = &["tools.get", "tools.validate", "tools.execute"];
    let subject =
        around(subject, by_name, move |call: Call, mut args: Value, inner: Next| async move {
            if args["name"] == tool {
                args["name"] = "no such tool".into();
            }
            inner.call(call, args).await
        });
    around(
        subject,
        &["tools.getToolSchemas"],
        move |call: Call, args: Value, inner: Next| async move {
            let mut answer: Reply = inner.call(call, args).await;
            if let Ok(Value::Array(tools)) = &mut answer {
                tools.retain(|one| one["name"] != tool);
            }
            answer
        },
    )
}
