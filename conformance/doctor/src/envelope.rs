//! Checks that the tools of an MCP server use the response envelope.
//!
//! The only knowledge about the tools is what the server lists. Each is called with input that it should refuse. If
//! it is read-only, or if the caller allows it, it is also called with input that fits its schema.

use std::collections::BTreeSet;

use proofmark_fakes::draws::Draws;
use proofmark_fakes::schema::fitting;
use serde::Serialize;
use serde_json::{Value, json};

use proofmark_judge::Fault;
use proofmark_suite::subject::connection::Connection;
use proofmark_suite::subject::{Patience, StartError, SubjectCommand, start_mcp};
use proofmark_suite::wire::mcp;

/// The members of an envelope, and the type of each.
const MEMBERS: [(&str, &str); 8] = [
    ("success", "a boolean"),
    ("intent", "a string"),
    ("result", "an object"),
    ("warnings", "a list"),
    ("suggestions", "a list"),
    ("context", "an object"),
    ("error", "null, or an object"),
    ("timestamp", "an ISO 8601 timestamp, such as 2025-12-25T00:00:00Z"),
];

/// The most pages of tools to read.
const MOST_PAGES: usize = 1_000;

/// The findings about one tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ToolFound {
    pub tool: String,
    /// How it was called: `refusal`, and `use` if that is allowed.
    pub calls: Vec<&'static str>,
    /// Problems with its answers; empty if it uses the envelope.
    pub problems: Vec<String>,
}

/// Why a server cannot be examined.
#[derive(Debug, thiserror::Error)]
pub enum EnvelopeError {
    #[error(transparent)]
    Start(#[from] StartError),
    #[error("cannot talk to the server: {fault}{stderr}")]
    Fault { fault: Fault, stderr: String },
    #[error("the answer to `tools/list` violates MCP: {0}")]
    NoTools(String),
    #[error(
        "the server lists no tools, so there is nothing to judge; is this the command that serves them?"
    )]
    Nothing,
}

/// Examines every tool. With `use_all`, each is also called with input that fits its schema, whatever it may do.
///
/// # Errors
/// If the server cannot be started or asked, or lists no tools.
pub async fn examine(
    command: &SubjectCommand,
    patience: Patience,
    use_all: bool,
) -> Result<Vec<ToolFound>, EnvelopeError> {
    let server = start_mcp(command, patience).await?.map_err(|(fault, stderr)| {
        let stderr =
            if stderr.is_empty() { String::new() } else { format!("\n{}", stderr.join("\n")) };
        EnvelopeError::Fault { fault, stderr }
    })?;
    let found = examine_tools(&server, use_all).await;
    // How the server exits does not change the findings.
    let _ended = server.shutdown().await;
    found
}

async fn examine_tools(
    server: &Connection,
    use_all: bool,
) -> Result<Vec<ToolFound>, EnvelopeError> {
    let tools = list(server).await?;
    if tools.is_empty() {
        return Err(EnvelopeError::Nothing);
    }
    let names: BTreeSet<&str> = tools.iter().filter_map(|tool| tool["name"].as_str()).collect();
    let mut found = Vec::new();
    for tool in &tools {
        let Some(name) = tool["name"].as_str() else {
            return Err(EnvelopeError::NoTools(format!("{tool} has no `name`")));
        };
        let mut calls = vec![("refusal", json!({ "proofmark-sends-what-no-tool-takes": true }))];
        if use_all || tool["annotations"]["readOnlyHint"] == true {
            let fits = fitting(&tool["inputSchema"], &mut Draws::new(0, name));
            calls.extend(fits.map(|input| ("use", input)));
        }
        let mut problems = Vec::new();
        for (how, input) in &calls {
            let message = match mcp::tool(server, name, Some(input)).await {
                Ok(envelope) => wrong_with(&envelope, &names),
                Err(trouble) => vec![trouble.message()],
            };
            problems.extend(message.into_iter().map(|message| format!("({how}) {message}")));
        }
        let calls = calls.into_iter().map(|(how, _)| how).collect();
        found.push(ToolFound { tool: name.to_owned(), calls, problems });
    }
    Ok(found)
}

/// Lists all tools, page by page.
async fn list(server: &Connection) -> Result<Vec<Value>, EnvelopeError> {
    let mut tools = Vec::new();
    let mut params = json!({});
    for _ in 0..MOST_PAGES {
        let answer = server.call("tools/list", "tools/list", &params).await;
        let answer = answer.map_err(|fault| EnvelopeError::NoTools(fault.to_string()))?;
        let mut page = answer.map_err(|error| EnvelopeError::NoTools(error.to_string()))?;
        let Some(Value::Array(listed)) = page.get_mut("tools").map(Value::take) else {
            return Err(EnvelopeError::NoTools("it has no list `tools`".to_owned()));
        };
        tools.extend(listed);
        match page.get("nextCursor") {
            Some(Value::String(cursor)) => params = json!({ "cursor": cursor }),
            _ => return Ok(tools),
        }
    }
    Err(EnvelopeError::NoTools(format!("it has more than {MOST_PAGES} pages")))
}

/// The reasons why an answer is not an envelope.
pub fn wrong_with(envelope: &Value, tools: &BTreeSet<&str>) -> Vec<String> {
    let Some(members) = envelope.as_object() else {
        return vec![format!("an envelope is an object, not {envelope}")];
    };
    let mut wrong = Vec::new();
    for (name, kind) in MEMBERS {
        match members.get(name) {
            None => wrong.push(format!("`{name}` is missing; it is {kind}")),
            // The text does not define the result of a failure.
            Some(Value::Null) if name == "result" && envelope["success"] == false => {}
            Some(value) if !is_right(name, value) => {
                wrong.push(format!("`{name}` is {value}, but must be {kind}"));
            }
            Some(_) => {}
        }
    }
    match (&members.get("success"), members.get("error")) {
        (Some(Value::Bool(true)), Some(error @ Value::Object(_))) => {
            wrong.push(format!("`success` is true, but `error` is {error}"));
        }
        (Some(Value::Bool(false)), Some(error)) => {
            let text = |name: &str| error[name].as_str().is_some_and(|text| !text.is_empty());
            if !text("code") || !text("message") {
                wrong.push(format!(
                    "on failure `error` is {{\"code\", \"message\", …}}, not {error}"
                ));
            }
        }
        _ => {}
    }
    for suggestion in members.get("suggestions").and_then(Value::as_array).into_iter().flatten() {
        let target = suggestion["target"].as_str();
        if target.is_none_or(|target| !tools.contains(target)) || !suggestion["params"].is_object()
        {
            wrong.push(format!(
                "the suggestion {suggestion} cannot be called as it is: `target` must be a listed tool, `params` an object"
            ));
        }
    }
    wrong
}

fn is_right(name: &str, value: &Value) -> bool {
    match name {
        "success" => value.is_boolean(),
        "intent" => value.is_string(),
        "result" | "context" => value.is_object(),
        "warnings" | "suggestions" => value.is_array(),
        "error" => value.is_null() || value.is_object(),
        _ => value.as_str().is_some_and(|text| text.parse::<jiff::Timestamp>().is_ok()),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn envelope() -> Value {
        json!({
            "success": true, "intent": "t", "result": {}, "warnings": [], "suggestions": [],
            "context": {}, "error": null, "timestamp": "2025-12-25T00:00:00Z",
        })
    }

    #[rstest]
    #[case("success", json!("yes"))]
    #[case("intent", json!(null))]
    #[case("result", json!([]))]
    #[case("warnings", json!({}))]
    #[case("suggestions", json!(null))]
    #[case("context", json!(null))]
    #[case("error", json!({ "code": "X", "message": "…" }))]
    #[case("error", json!("no"))]
    #[case("timestamp", json!("2025-12-25"))]
    #[case("timestamp", json!("2025-12-25T25:00:00Z"))]
    #[case("suggestions", json!([{ "target": "u", "params": {} }]))]
    #[case("suggestions", json!([{ "target": "t" }]))]
    fn wrong_members_are_reported(#[case] member: &str, #[case] value: Value) {
        let tools = BTreeSet::from(["t"]);
        assert_eq!(wrong_with(&envelope(), &tools), Vec::<String>::new());
        let mut wrong = envelope();
        wrong[member] = value;
        assert_eq!(wrong_with(&wrong, &tools).len(), 1, "{wrong}");
    }

    #[rstest]
    #[case("timestamp", json!("2025-12-25T00:00:00.123+01:00"))]
    #[case("timestamp", json!("2025-12-25T00:00:00+0100"))]
    #[case("more", json!(1))]
    fn unspecified_members_and_forms_are_accepted(#[case] member: &str, #[case] value: Value) {
        let mut other = envelope();
        other[member] = value;
        assert_eq!(wrong_with(&other, &BTreeSet::new()), Vec::<String>::new());
    }

    #[test]
    fn a_failure_needs_an_error() {
        let mut failed = envelope();
        failed["success"] = json!(false);
        assert_eq!(wrong_with(&failed, &BTreeSet::new()).len(), 1);
        failed["error"] = json!({ "code": "UNKNOWN_ID", "message": "no such plan" });
        assert!(wrong_with(&failed, &BTreeSet::new()).is_empty());
        failed["result"] = json!(null);
        assert!(wrong_with(&failed, &BTreeSet::new()).is_empty());
        assert_eq!(wrong_with(&json!({}), &BTreeSet::new()).len(), 8);
    }
}
