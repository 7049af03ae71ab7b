//! Errors as the taxonomy allows them, but other than those of the reference.

use proofmark_room::Adversary;
use serde_json::{Map, Value, json};

use crate::CONTRACT;
use crate::bend::edits;

pub(crate) const ALL: &[Adversary] = &[
    Adversary::variant(
        CONTRACT,
        "errors-say-when",
        "every error has the further properties `timestamp` and `retryable`",
        "[key: string]: any; // Allow for additional properties",
        |subject| {
            edits(subject, |_, error| {
                error.insert("timestamp".to_owned(), "2024-01-01T12:00:00.000Z".into());
                error.insert("retryable".to_owned(), false.into());
            })
        },
    ),
    Adversary::variant(
        CONTRACT,
        "errors-have-a-stack",
        "every error has the stack of an ECMAScript error",
        "interface TypedError extends Error",
        |subject| {
            edits(subject, |_, error| {
                error.insert("stack".to_owned(), "Error: m\n    at raise (errors.js:1:1)".into());
            })
        },
    ),
    Adversary::variant(
        CONTRACT,
        "errors-have-one-name",
        "every error has the name `TypedError`",
        "the text fixes no names: `TypedError extends Error`",
        |subject| {
            edits(subject, |_, error| {
                error.insert("name".to_owned(), "TypedError".into());
            })
        },
    ),
    Adversary::variant(
        CONTRACT,
        "errors-have-an-empty-name",
        "every error has an empty name",
        "the text fixes no names, and `name: string` of an ECMAScript error may be empty",
        |subject| {
            edits(subject, |_, error| {
                error.insert("name".to_owned(), "".into());
            })
        },
    ),
    Adversary::variant(
        CONTRACT,
        "details-say-more",
        "every detail has a further member",
        "the text lists the \"expected additional properties\" of a detail and excludes no others",
        |subject| edits(subject, |_, error| each_detail(error, &json!("error"))),
    ),
    Adversary::variant(
        CONTRACT,
        "contexts-say-more",
        "every context has a further member",
        "EHALT, context: [key: string]: any",
        |subject| {
            edits(subject, |_, error| {
                if let Some(context) = error.get_mut("context").and_then(Value::as_object_mut) {
                    context.insert("pid".to_owned(), 4711.into());
                }
            })
        },
    ),
    Adversary::variant(
        CONTRACT,
        "system-code-beside-the-code",
        "an EIO keeps the system's code as `systemCode`, not in its cause",
        "EIO, code?: the text gives both codes one name, so one of them needs another place",
        |subject| {
            edits(subject, |args, error| {
                if let Some(system) = args["properties"].get("code") {
                    error.shift_remove("cause");
                    error.insert("systemCode".to_owned(), system.clone());
                }
            })
        },
    ),
    Adversary::variant(
        CONTRACT,
        "refusals-in-other-words",
        "the message of an error that cannot be made is another one",
        "the text gives no message for it",
        |subject| {
            edits(subject, |args, error| {
                if error.get("message") != args.get("message") {
                    error.insert("message".to_owned(), "invalid".into());
                }
            })
        },
    ),
    Adversary::variant(
        CONTRACT,
        "refusals-name-whole-paths",
        "the details of an error that cannot be made name `properties.x` in place of `x`",
        "details, field: name of the invalid field; the text fixes no spelling of it",
        |subject| {
            edits(subject, |args, error| {
                if error.get("message") != args.get("message") {
                    each_detail_of(error, |detail| {
                        if let Some(field) = detail["field"].as_str() {
                            detail["field"] = format!("properties.{field}").into();
                        }
                    });
                }
            })
        },
    ),
    Adversary::variant(
        CONTRACT,
        "refusals-have-more-details",
        "an error that cannot be made has a further detail, about its code",
        "details: Array<…>: the text does not say how many there are",
        |subject| {
            edits(subject, |args, error| {
                if error.get("message") != args.get("message")
                    && let Some(details) = error.get_mut("details").and_then(Value::as_array_mut)
                {
                    details.push(json!({ "field": "code", "reason": "needs other properties" }));
                }
            })
        },
    ),
    Adversary::variant(
        CONTRACT,
        "makes-incomplete-errors",
        "an error that lacks a required property is made without it",
        "the text lists \"expected\" properties and does not say what happens without them",
        |subject| {
            edits(subject, |args, error| {
                // The reference refused: the message is not the given one.
                if error.get("message") != args.get("message") {
                    let mut made = args["properties"].as_object().cloned().unwrap_or_default();
                    for member in ["code", "message", "cause"] {
                        if let Some(value) = args.get(member) {
                            made.insert(member.to_owned(), value.clone());
                        }
                    }
                    made.insert("name".to_owned(), "Error".into());
                    *error = made;
                }
            })
        },
    ),
];

fn each_detail(error: &mut Map<String, Value>, severity: &Value) {
    each_detail_of(error, |detail| detail["severity"] = severity.clone());
}

fn each_detail_of(error: &mut Map<String, Value>, edit: impl Fn(&mut Value)) {
    let details = error.get_mut("details").and_then(Value::as_array_mut);
    details.into_iter().flatten().filter(|detail| detail.is_object()).for_each(edit);
}
