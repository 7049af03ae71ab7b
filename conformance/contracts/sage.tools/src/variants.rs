//! The reference, changed in something that the text leaves free.

use serde_json::{Value, json};

use proofmark_room::bend::{Call, Memory, Next, around, root};
use proofmark_room::{Adversary, Subject};

use crate::CONTRACT;

const EXECUTE: &[&str] = &["tools.execute"];

pub(crate) const ALL: &[Adversary] = &[
    Adversary::variant(
        CONTRACT,
        "asks-the-tools-own-validate",
        "a registered tool checks its input itself, and accepts everything",
        "`validate(input: unknown): I` is a member of each tool",
        asks_the_tools_own_validate,
    ),
    Adversary::variant(
        CONTRACT,
        "permits-registered-tools-too",
        "a registered tool needs a permission of its name",
        "`Policies` lists only the standard tools, and no default for others",
        permits_registered_tools_too,
    ),
    Adversary::variant(
        CONTRACT,
        "says-no-times",
        "results have no meta",
        "`meta?` is optional",
        |subject| {
            answering(subject, |_, result| {
                result.as_object_mut().and_then(|members| members.shift_remove("meta"));
            })
        },
    ),
    Adversary::variant(
        CONTRACT,
        "says-more",
        "results, their meta, data and errors have further members",
        "the types name members, and no sentence forbids others",
        |subject| {
            answering(subject, |_, result| {
                result["meta"]["host"] = json!("here");
                result["tool"] = json!("1.0");
                for member in ["data", "error"] {
                    // The data of a registered tool is the tool's.
                    if result[member].is_object() && is_standard_data(&result[member], member) {
                        result[member]["note"] = json!("further");
                    }
                }
            })
        },
    ),
    Adversary::variant(
        CONTRACT,
        "keeps-to-another-patch-format",
        "an Edit takes no unified diffs",
        "`patch: string` does not say which format",
        |subject| {
            around(subject, EXECUTE, async |call: Call, mut args: Value, inner: Next| {
                if let ("Edit", Some(patch)) =
                    (args["name"].as_str().unwrap_or_default(), args["input"]["patch"].as_str())
                {
                    // Without hunks, but with the placeholders of secrets.
                    args["input"]["patch"] = patch.replace("@@", "??").into();
                }
                inner.call(call, args).await
            })
        },
    ),
    Adversary::variant(
        CONTRACT,
        "takes-a-code-for-a-failure",
        "a program that ends with another code than 0 is not ok",
        "`{ code: number; stdout: string; stderr: string }` does not say what a code means for `ok`",
        |subject| {
            answering(subject, |args, result| {
                let code = result["data"]["code"].as_u64();
                if args["name"] == "Bash" && code.is_some_and(|code| code != 0) {
                    result["ok"] = json!(false);
                    result["error"] = json!({ "code": "EIO", "message": "the program failed" });
                }
            })
        },
    ),
    Adversary::variant(
        CONTRACT,
        "has-another-mark",
        "a secret is replaced with three asterisks",
        "`It can be replaced with a redacted placeholder like [SECRET:GITHUB_API_KEY]`",
        |subject| answering(subject, |_, result| mark(result)),
    ),
    Adversary::variant(
        CONTRACT,
        "blanks-whole-texts",
        "a text with a secret in it is replaced as a whole",
        "`It can be replaced with a redacted placeholder like [SECRET:GITHUB_API_KEY]`",
        |subject| answering(subject, |_, result| blank(result)),
    ),
    Adversary::variant(
        CONTRACT,
        "has-previews-of-its-own",
        "a dry run writes 0 bytes, patches nothing, and prints what a program would be",
        "`dryRun on mutating tools returns deterministic, non-mutating previews` does not say what is in them",
        |subject| {
            answering(subject, |args, result| {
                if args["context"]["dryRun"] == true && result["ok"] == true {
                    let preview = match args["name"].as_str() {
                        Some("Write") => json!({ "bytes": 0, "would": "write" }),
                        Some("Edit") => json!({ "patched": false }),
                        Some("Bash") => json!({ "code": -1, "stdout": "", "stderr": "would run" }),
                        _ => return,
                    };
                    result["data"] = preview;
                }
            })
        },
    ),
    Adversary::variant(
        CONTRACT,
        "says-little-in-errors",
        "errors have an empty message, one detail, and nothing that is optional",
        "`policy?`, `path?`, `received?` and `expected?` are optional; no text says what a message says",
        |subject| answering(subject, |_, result| say_little(&mut result["error"])),
    ),
    Adversary::variant(
        CONTRACT,
        "refuses-a-missing-secret-as-permission",
        "a missing secret is EPERMISSION",
        "`MUST fail with an EPERMISSION or a new ESECRET_NOT_FOUND error code`",
        |subject| {
            answering(subject, |_, result| {
                if result["error"]["code"] == "ESECRET_NOT_FOUND" {
                    result["error"]["code"] = json!("EPERMISSION");
                }
            })
        },
    ),
    Adversary::variant(
        CONTRACT,
        "fetches-a-secret-for-each-place",
        "a secret that occurs twice in the input is fetched twice",
        "`For each placeholder found, the runtime MUST call secretProvider.get`",
        fetches_for_each_place,
    ),
    Adversary::variant(
        CONTRACT,
        "logs-its-own-lines-too",
        "the runtime logs the start of each tool",
        "`logger?: (e: ToolLog) => void` does not say who logs",
        |subject| {
            around(subject, EXECUTE, async |call: Call, args: Value, inner: Next| {
                if args["context"]["logger"] == true {
                    let time = "2024-01-01T00:00:00.000Z";
                    call.emit(json!({ "ts": time, "name": args["name"], "msg": "starts" }));
                }
                inner.call(call, args).await
            })
        },
    ),
    Adversary::variant(
        CONTRACT,
        "makes-no-folders",
        "a Write into a folder that does not exist is refused",
        "`{ file: string; content: string }` does not say that folders are made",
        |subject| {
            around(subject, EXECUTE, async |call: Call, args: Value, inner: Next| {
                let place = root(&call).join(args["input"]["file"].as_str().unwrap_or_default());
                let missing = place.parent().is_some_and(|folder| !folder.exists());
                let answer = match (args["name"].as_str(), missing) {
                    (Some("Write"), true) => {
                        let mut tried = args.clone();
                        // Whatever else is wrong with the call is still reported.
                        tried["context"]["dryRun"] = json!(true);
                        inner.call(call, tried).await
                    }
                    _ => return inner.call(call, args).await,
                };
                match answer {
                    Ok(result) if result["ok"] == true => Ok(json!({ "ok": false, "error": {
                        "code": "EIO", "message": "the folder does not exist",
                        "path": args["input"]["file"], "operation": "write",
                    } })),
                    other => other,
                }
            })
        },
    ),
    Adversary::variant(
        CONTRACT,
        "takes-other-spellings-for-other-names",
        "a folder `.SAGE` is a folder like any other",
        "`.sage/ protected` names one spelling",
        takes_other_spellings,
    ),
    Adversary::variant(
        CONTRACT,
        "shows-what-it-edits",
        "an Edit returns the patch as its diff",
        "`diff?: string` is optional",
        |subject| {
            answering(subject, |args, result| {
                if result["data"]["patched"].is_boolean() && args["context"]["secrets"] != true {
                    result["data"]["diff"] = args["input"]["patch"].clone();
                }
            })
        },
    ),
];

/// Changes every result.
fn answering(subject: Subject, change: fn(&Value, &mut Value)) -> Subject {
    around(subject, EXECUTE, move |call: Call, args: Value, inner: Next| async move {
        let mut answer = inner.call(call, args.clone()).await;
        if let Ok(result) = &mut answer {
            change(&args, result);
        }
        answer
    })
}

/// An error, or data of the form that a standard tool answers with.
fn is_standard_data(value: &Value, member: &str) -> bool {
    let forms = ["rows", "content", "bytes", "patched", "stdout"];
    member == "error" || forms.iter().any(|form| value.get(form).is_some())
}

fn blank(value: &mut Value) {
    match value {
        Value::String(text) if text.contains("[SECRET:") => "***".clone_into(text),
        Value::Array(items) => items.iter_mut().for_each(blank),
        Value::Object(members) => members.values_mut().for_each(blank),
        _ => {}
    }
}

/// Leaves an error with what the taxonomy requires.
fn say_little(error: &mut Value) {
    let Value::Object(error) = error else { return };
    error.retain(|name, _| !["policy", "path"].contains(&name.as_str()));
    // The error of a registered tool has the tool's own code.
    if ["EVALIDATION", "EPERMISSION"].iter().any(|code| error["code"] == *code) {
        error["message"] = json!("");
    }
    if let Some(Value::Array(details)) = error.get_mut("details") {
        details.truncate(1);
        for detail in details.iter_mut().filter_map(Value::as_object_mut) {
            detail.retain(|name, _| ["field", "reason"].contains(&name.as_str()));
        }
    }
}

fn mark(value: &mut Value) {
    match value {
        Value::String(text) => {
            while let Some(start) = text.find("[SECRET:") {
                let Some(length) = text[start..].find(']') else { break };
                text.replace_range(start..=start + length, "***");
            }
        }
        Value::Array(items) => items.iter_mut().for_each(mark),
        Value::Object(members) => members.values_mut().for_each(mark),
        _ => {}
    }
}

/// The reference sees a schema that accepts everything; everybody else sees the registered one.
fn asks_the_tools_own_validate(subject: Subject) -> Subject {
    static SCHEMAS: Memory<Value> = Memory::new();
    let registered = |call: &Call, name: &Value| {
        let name = name.as_str().unwrap_or_default();
        SCHEMAS.of(call, name, |schema| schema.clone())
    };
    let subject =
        around(subject, &["tools.register"], async |call: Call, mut args: Value, inner: Next| {
            let schema = args["tool"]["schema"].clone();
            let name = args["tool"]["name"].as_str().unwrap_or_default().to_owned();
            if schema.is_object() {
                args["tool"]["schema"] = json!({ "additionalProperties": true });
            }
            let answer = inner.call(call.clone(), args).await;
            if answer.is_ok() {
                SCHEMAS.of(&call, &name, |known| *known = Some(schema));
            }
            answer
        });
    let subject =
        around(subject, &["tools.get"], move |call: Call, args: Value, inner: Next| async move {
            let mut answer = inner.call(call.clone(), args).await;
            if let Ok(tool) = &mut answer
                && let Some(schema) = registered(&call, &tool["name"])
            {
                tool["schema"] = schema;
            }
            answer
        });
    let listing = &["tools.getToolSchemas"];
    around(subject, listing, move |call: Call, args: Value, inner: Next| async move {
        let mut answer = inner.call(call.clone(), args).await;
        for tool in answer.iter_mut().filter_map(Value::as_array_mut).flatten() {
            if let Some(schema) = registered(&call, &tool["name"]) {
                tool["parameters"] = schema;
            }
        }
        answer
    })
}

fn permits_registered_tools_too(subject: Subject) -> Subject {
    static REGISTERED: Memory<()> = Memory::new();
    let register = &["tools.register"];
    let subject = around(subject, register, async |call: Call, args: Value, inner: Next| {
        let name = args["tool"]["name"].as_str().unwrap_or_default().to_owned();
        let answer = inner.call(call.clone(), args).await;
        if answer.is_ok() {
            REGISTERED.of(&call, &name, |known| *known = Some(()));
        }
        answer
    });
    around(subject, EXECUTE, async |call: Call, args: Value, inner: Next| {
        let name = args["name"].as_str().unwrap_or_default();
        let permissions = args["context"]["permissions"].as_array();
        let permitted = permissions.is_some_and(|all| all.iter().any(|one| one == name));
        if permitted || REGISTERED.of(&call, name, |known| known.is_none()) {
            return inner.call(call, args).await;
        }
        Ok(json!({ "ok": false, "error": {
            "code": "EPERMISSION", "message": "this tool needs a permission",
            "resource": name, "operation": "execute",
        } }))
    })
}

fn fetches_for_each_place(subject: Subject) -> Subject {
    around(subject, EXECUTE, async |call: Call, args: Value, inner: Next| {
        let input = args["input"].to_string();
        if args["context"]["secrets"] == true && permitted(&args) {
            for (name, times) in names(&input) {
                for _ in 1..times {
                    // The same value as the first time.
                    let _again = call.ask("secrets", "get", json!({ "key": name })).await;
                }
            }
        }
        inner.call(call, args).await
    })
}

/// Whether the policy lets the call get as far as its secrets.
fn permitted(args: &Value) -> bool {
    let named = |permissions: &Vec<Value>| permissions.contains(&args["name"]);
    !["Write", "Edit", "Bash"].iter().any(|tool| args["name"] == *tool)
        || args["context"]["permissions"].as_array().is_some_and(named)
}

fn takes_other_spellings(subject: Subject) -> Subject {
    around(subject, EXECUTE, async |call: Call, args: Value, inner: Next| {
        let answer = inner.call(call.clone(), args.clone()).await;
        let input = &args["input"];
        let (Some(file), Some(content)) = (input["file"].as_str(), input["content"].as_str())
        else {
            return answer;
        };
        let refused = answer.as_ref().is_ok_and(|result| result["error"]["code"] == "EPERMISSION");
        let plain = args["context"].get("secrets").is_none() && args["context"]["dryRun"] != true;
        let names: Vec<&str> = file.split('/').collect();
        let other = names.contains(&".SAGE") && !names.contains(&".sage") && !names.contains(&"..");
        if args["name"] != "Write" || !refused || !plain || !other || !permitted(&args) {
            return answer;
        }
        let place = root(&call).join(file);
        let made = place.parent().map_or(Ok(()), std::fs::create_dir_all);
        match made.and_then(|()| std::fs::write(place, content)) {
            Ok(()) => Ok(json!({ "ok": true, "data": { "bytes": content.len() } })),
            Err(_) => answer,
        }
    })
}

/// How often each name occurs as a placeholder in a text.
fn names(text: &str) -> std::collections::BTreeMap<String, usize> {
    let mut found = std::collections::BTreeMap::new();
    for part in text.split("$ENV.").skip(1) {
        let name: String =
            part.chars().take_while(|one| one.is_ascii_alphanumeric() || *one == '_').collect();
        if name.starts_with(|first: char| !first.is_ascii_digit()) {
            *found.entry(name).or_insert(0) += 1;
        }
    }
    found
}
