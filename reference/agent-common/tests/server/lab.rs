//! A server to try things on, and short ways to say what is tried.

use std::sync::Arc;

use agent_common::{Clock, Server};
use serde_json::{Value, json};

/// It is always the same moment here.
pub(crate) fn clock() -> Clock {
    Arc::new(|| "2026-01-02T03:04:05Z".parse().unwrap())
}

pub(crate) struct Lab {
    pub(crate) server: Server,
}

impl Lab {
    /// A server with the workspace `w`.
    pub(crate) fn new() -> Self {
        let lab = Self { server: Server::in_memory(clock()) };
        lab.ok("workspaces_create", json!({"workspace": "w"}));
        lab
    }

    /// The envelope, held to what is true of every envelope.
    #[track_caller]
    pub(crate) fn call(&self, tool: &str, arguments: &Value) -> Value {
        let envelope = self.server.call(tool, arguments);
        check_envelope(tool, &envelope);
        envelope
    }

    /// The result of a call that succeeds.
    #[track_caller]
    pub(crate) fn ok(&self, tool: &str, arguments: Value) -> Value {
        let envelope = self.call(tool, &arguments);
        assert_eq!(envelope["success"], true, "{tool} {arguments}: {}", envelope["error"]);
        envelope["result"].clone()
    }

    /// The same in the workspace `w`.
    #[track_caller]
    pub(crate) fn w(&self, tool: &str, mut arguments: Value) -> Value {
        arguments["workspace"] = json!("w");
        self.ok(tool, arguments)
    }

    /// The envelope of a call in `w` that is refused with `code`.
    #[track_caller]
    pub(crate) fn no(&self, code: &str, tool: &str, mut arguments: Value) -> Value {
        arguments["workspace"] = json!("w");
        let envelope = self.call(tool, &arguments);
        assert_eq!(envelope["error"]["code"], code, "{tool} {arguments}");
        envelope
    }

    /// Carries a suggestion out, as it stands.
    #[track_caller]
    pub(crate) fn follow(&self, suggestion: &Value) -> Value {
        self.ok(suggestion["target"].as_str().unwrap(), suggestion["params"].clone())
    }
}

#[track_caller]
pub(crate) fn check_envelope(tool: &str, envelope: &Value) {
    let members: Vec<&str> = envelope.as_object().unwrap().keys().map(String::as_str).collect();
    let all =
        ["success", "intent", "result", "warnings", "suggestions", "context", "error", "timestamp"];
    assert_eq!(members, all);
    assert_eq!(envelope["intent"], tool);
    assert_eq!(envelope["timestamp"], "2026-01-02T03:04:05Z");
    assert_eq!(envelope["warnings"], json!([]));
    assert_eq!(envelope["context"], json!({}));
    if envelope["success"] == true {
        assert_eq!(envelope["error"], Value::Null);
        assert_eq!(envelope["suggestions"], json!([]));
        assert!(envelope["result"].is_object());
    } else {
        assert_eq!(envelope["success"], false);
        assert_eq!(envelope["result"], json!({}));
        for member in ["code", "message", "recovery"] {
            let text = envelope["error"][member].as_str().unwrap();
            assert!(!text.is_empty() && text.len() < 1000, "{member}: {text}");
        }
        assert_eq!(envelope["error"].as_object().unwrap().len(), 3);
        for suggestion in envelope["suggestions"].as_array().unwrap() {
            assert_eq!(suggestion["action"], "call_tool");
            assert_eq!(suggestion["validated"], true);
            assert!(["high", "medium", "low"].contains(&suggestion["priority"].as_str().unwrap()));
            assert!(Server::has_tool(suggestion["target"].as_str().unwrap()));
            assert!(suggestion["params"].is_object() && suggestion["reason"].is_string());
            assert_eq!(suggestion.as_object().unwrap().len(), 6);
        }
    }
}

/// The members `name` of `items`.
pub(crate) fn all(list: &Value, name: &str) -> Vec<Value> {
    list["items"].as_array().unwrap().iter().map(|item| item[name].clone()).collect()
}
