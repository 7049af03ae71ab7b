//! Secrets that are fetched too early, or that leak.

use std::fs;

use serde_json::{Value, json};

use proofmark_room::bend::{Call, Next, around, root};
use proofmark_room::{Adversary, Subject};

const EXECUTE: &[&str] = &["tools.execute"];

pub(crate) const ALL: &[Adversary] = &[
    Adversary::saboteur(
        "logs-what-tools-get",
        "the input of a tool is logged with its secrets",
        &["TOOLS-121", "TOOLS-123"],
        logs_what_tools_get,
    ),
    Adversary::saboteur(
        "tells-what-commands-got",
        "stdout of Bash is not looked at for secrets",
        &["TOOLS-119", "TOOLS-123", "TOOLS-125", "TOOLS-126", "TOOLS-130"],
        |subject| injects_by_itself(subject, "Bash"),
    ),
    Adversary::saboteur(
        "fetches-before-it-asks",
        "a secret is fetched for a call that has no permission",
        &["TOOLS-089"],
        fetches_before_it_asks,
    ),
    Adversary::saboteur(
        "checks-a-path-before-its-secrets",
        "the path of a Write is checked while a placeholder stands in it, and not again",
        &["TOOLS-090", "TOOLS-098"],
        checks_a_path_before_its_secrets,
    ),
];

fn injects(args: &Value) -> bool {
    args["context"]["secrets"] == true
}

fn logs_what_tools_get(subject: Subject) -> Subject {
    around(subject, EXECUTE, async |call: Call, args: Value, inner: Next| {
        if !injects(&args) || args["context"]["logger"] != true {
            return inner.call(call, args).await;
        }
        let logger = call.clone();
        let watched = call.answering(move |fake, _, asked| {
            if fake == "tools" {
                let time = "2024-01-01T00:00:00.000Z";
                logger.emit(json!({ "ts": time, "name": asked["name"], "msg": "input", "data": asked["input"] }));
            }
            None
        });
        inner.call(watched, args).await
    })
}

/// The placeholder names in a value, in order, with repetitions.
pub(super) fn placeholders(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::String(text) => {
            for part in text.split("$ENV.").skip(1) {
                let name: String =
                    part.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
                if name.starts_with(|first: char| !first.is_ascii_digit()) {
                    found.push(name);
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| placeholders(item, found)),
        Value::Object(map) => map.values().for_each(|item| placeholders(item, found)),
        _ => {}
    }
}

fn filled(value: &Value, name: &str, secret: &str) -> Value {
    match value {
        Value::String(text) => text.replace(&format!("$ENV.{name}"), secret).into(),
        Value::Array(items) => items.iter().map(|item| filled(item, name, secret)).collect(),
        Value::Object(map) => Value::Object(
            map.iter().map(|(key, item)| (key.clone(), filled(item, name, secret))).collect(),
        ),
        scalar => scalar.clone(),
    }
}

/// Injects a tool's secrets itself, so that nothing redacts them.
fn injects_by_itself(subject: Subject, tool: &'static str) -> Subject {
    around(subject, EXECUTE, move |call: Call, mut args: Value, inner: Next| async move {
        let permitted = args["context"]["permissions"]
            .as_array()
            .is_some_and(|all| all.iter().any(|one| one == tool));
        if args["name"] != tool
            || !injects(&args)
            || !permitted
            || args["context"]["dryRun"] == true
        {
            return inner.call(call, args).await;
        }
        let mut names = Vec::new();
        placeholders(&args["input"], &mut names);
        names.sort_unstable();
        names.dedup();
        // Longer names first: a shorter one may be their prefix.
        names.sort_by_key(|name| std::cmp::Reverse(name.len()));
        if names.len() != 1 {
            return inner.call(call, args).await;
        }
        let secret = call.ask("secrets", "get", json!({ "key": names[0] })).await;
        let Ok(Value::String(secret)) = secret else {
            return Ok(json!({ "ok": false, "error": {
                "code": "ESECRET_NOT_FOUND", "message": "no such secret",
                "resource": names[0], "operation": "read",
            } }));
        };
        args["input"] = filled(&args["input"], &names[0], &secret);
        args["context"]["secrets"] = json!(false);
        if let Value::Object(context) = &mut args["context"] {
            context.remove("secrets");
        }
        inner.call(call, args).await
    })
}

fn fetches_before_it_asks(subject: Subject) -> Subject {
    around(subject, EXECUTE, async |call: Call, args: Value, inner: Next| {
        let named = args["name"].as_str().unwrap_or_default().to_owned();
        let permitted = args["context"]["permissions"]
            .as_array()
            .is_some_and(|all| all.iter().any(|one| one == named.as_str()));
        if injects(&args) && !permitted && ["Write", "Edit", "Bash"].contains(&named.as_str()) {
            let mut names = Vec::new();
            placeholders(&args["input"], &mut names);
            for name in names {
                // The value is not needed.
                let _secret = call.ask("secrets", "get", json!({ "key": name })).await;
            }
        }
        inner.call(call, args).await
    })
}

fn checks_a_path_before_its_secrets(subject: Subject) -> Subject {
    around(subject, EXECUTE, async |call: Call, args: Value, inner: Next| {
        let given = args["input"]["file"].as_str().unwrap_or_default().to_owned();
        let mut names = Vec::new();
        placeholders(&args["input"]["file"], &mut names);
        let answer = inner.call(call.clone(), args.clone()).await;
        let refused = answer.as_ref().is_ok_and(|result| result["error"]["code"] == "EPERMISSION");
        let named = given.split("$ENV.").next().unwrap_or_default();
        // Elsewhere it writes nothing that another case would notice.
        if args["name"] != "Write" || !injects(&args) || !refused || names.len() != 1 {
            return answer;
        }
        let secret = call.ask("secrets", "get", json!({ "key": names[0] })).await;
        if let Ok(Value::String(secret)) = secret
            && secret.contains('/')
        {
            let place = root(&call).join(format!("{named}{secret}"));
            let _done = fs::write(place, args["input"]["content"].as_str().unwrap_or_default());
        }
        answer
    })
}
