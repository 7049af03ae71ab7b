//! Input that every tool refuses, and the schemas that describe it.

use agent_common::{Code, Server};
use rstest::rstest;
use serde_json::{Value, json};

use crate::lab::Lab;

/// Arguments with every member that the tool takes, each right in itself.
fn full(schema: &Value) -> Value {
    let members = schema["properties"].as_object().unwrap().keys();
    Value::Object(members.map(|name| (name.clone(), right(name))).collect())
}

fn right(member: &str) -> Value {
    match member {
        "workspace" => json!("w"),
        "plan" => json!("PLAN-001"),
        "task" | "expected_target_id" => json!("TASK-001"),
        "step" => json!("STEP-00000001"),
        "path" | "parent" => json!("s:0"),
        "conflict" => json!("CONFLICT-00000000000000000000000000000000"),
        "status" => json!("open"),
        "take" => json!("ours"),
        "checkpoints" => json!({"tests": true}),
        "props" => json!({"k": "v"}),
        "strict_targeting" => json!(true),
        "limit" | "offset" | "max_bytes" | "max_lines" | "expected_revision"
        | "expected_version" => json!(1),
        "max_chars" => json!(2),
        "title" | "notes" | "branch" | "from" | "into" | "node" | "type" | "rel" | "to" => {
            json!("n")
        }
        other => panic!("nothing is known of `{other}`"),
    }
}

#[test]
fn the_list_of_tools_is_complete() {
    let tools = Server::tools();
    assert_eq!(tools.len(), 27);
    let lab = Lab::new();
    for tool in tools {
        assert!(tool["description"].as_str().unwrap().ends_with('.'));
        let schema = &tool["inputSchema"];
        assert_eq!(schema["type"], "object");
        assert_eq!(schema["additionalProperties"], false);
        jsonschema::meta::validate(schema).unwrap();
        let name = tool["name"].as_str().unwrap();
        let mut unknown = full(schema);
        assert!(jsonschema::is_valid(schema, &unknown), "{name}");
        unknown["another"] = json!(1);
        let refused = lab.call(name, &unknown);
        assert_eq!(refused["error"]["code"], "INVALID_INPUT", "{name}");
        assert!(!jsonschema::is_valid(schema, &unknown), "{name}");
    }
}

#[test]
fn a_member_of_another_kind_is_refused_by_the_tool_and_by_its_schema() {
    let lab = Lab::new();
    for tool in Server::tools() {
        let (name, schema) = (tool["name"].as_str().unwrap(), &tool["inputSchema"]);
        let full = full(schema);
        for member in full.as_object().unwrap().keys() {
            for other in [
                json!(null),
                json!(true),
                json!(7),
                json!("?|\u{7}"),
                json!([]),
                json!([1]),
                json!({"z": 1}),
            ] {
                let same_kind =
                    std::mem::discriminant(&other) == std::mem::discriminant(&full[member]);
                if same_kind {
                    continue;
                }
                let mut wrong = full.clone();
                wrong[member] = other;
                let refused = lab.call(name, &wrong);
                assert_eq!(refused["error"]["code"], "INVALID_INPUT", "{name} {wrong}");
                let message = refused["error"]["message"].as_str().unwrap();
                assert!(message.contains(member.as_str()), "{message}");
                assert!(!jsonschema::is_valid(schema, &wrong), "{name} {wrong}");
            }
        }
    }
}

#[test]
fn a_member_that_is_missing_is_refused_when_the_schema_requires_it() {
    let lab = Lab::new();
    for tool in Server::tools() {
        let (name, schema) = (tool["name"].as_str().unwrap(), &tool["inputSchema"]);
        for member in schema["required"].as_array().unwrap() {
            let mut lacking = full(schema);
            lacking.as_object_mut().unwrap().remove(member.as_str().unwrap());
            let refused = lab.call(name, &lacking);
            assert_eq!(refused["error"]["code"], "INVALID_INPUT", "{name} {lacking}");
        }
        let workspace = schema["required"].as_array().unwrap().contains(&json!("workspace"));
        assert_eq!(workspace, name != "workspaces_list");
    }
}

#[rstest]
#[case(json!(null))]
#[case(json!([]))]
#[case(json!("w"))]
#[case(json!(1))]
fn arguments_are_an_object(#[case] arguments: Value) {
    let refused = Lab::new().call("workspaces_list", &arguments);
    assert_eq!(refused["error"]["code"], "INVALID_INPUT");
}

#[rstest]
#[case("workspace", "bad name", "INVALID_NAME")]
#[case("workspace", "", "INVALID_NAME")]
#[case("plan", "PLAN-1", "INVALID_INPUT")]
#[case("title", "", "INVALID_INPUT")]
fn ill_formed_ids_and_names(#[case] member: &str, #[case] text: &str, #[case] code: &str) {
    let lab = Lab::new();
    let mut arguments = json!({"workspace": "w", "plan": "PLAN-001", "title": "t"});
    arguments[member] = json!(text);
    let refused = lab.call("plans_patch", &arguments);
    assert_eq!(refused["error"]["code"], code);
}

#[test]
fn long_texts_are_shortened_in_messages() {
    let lab = Lab::new();
    let long = "x".repeat(100_000);
    lab.no("INVALID_INPUT", "plans_create", json!({"title": "t", &*long: 1}));
    lab.no("INVALID_NAME", "graph_node_create", json!({"node": long, "type": "T"}));
    lab.no(
        "INVALID_INPUT",
        "graph_node_create",
        json!({"node": "x", "type": "T", "props": {&*long: 1}}),
    );
    let digits = "9".repeat(100_000);
    lab.no("UNKNOWN_ID", "tasks_get", json!({"task": format!("TASK-{digits}")}));
    assert_eq!(lab.call(&long, &json!({}))["error"]["code"], "INVALID_INPUT");
}

#[test]
fn every_code_has_its_own_name() {
    let names: std::collections::BTreeSet<_> = Code::ALL.iter().map(|code| code.as_str()).collect();
    assert_eq!(names.len(), Code::ALL.len());
    for code in Code::ALL {
        assert_eq!(json!(code), code.as_str());
    }
}

#[test]
fn a_wrapper_decides_the_answer() {
    let server = Server::in_memory(crate::lab::clock()).around(|tool, arguments, real| {
        let mut arguments = arguments.clone();
        if tool == "plans_create" {
            arguments["title"] = json!("altered");
        }
        let mut envelope = real(tool, &arguments);
        envelope["warnings"] = json!([tool]);
        envelope
    });
    server.call("workspaces_create", &json!({"workspace": "w"}));
    let plan = server.call("plans_create", &json!({"workspace": "w", "title": "t"}));
    assert_eq!(plan["result"]["plan"]["title"], "altered");
    assert_eq!(plan["warnings"], json!(["plans_create"]));
}
