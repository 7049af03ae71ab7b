//! Errors that lose what they should keep, or keep what they should drop.

use serde_json::{Map, Value, json};

use crate::bend::{change, edits, loses};
use crate::laws::TAXONOMY;
use proofmark_room::bend::{Memory, Next, around};
use proofmark_room::{Adversary, Subject};

pub(crate) const ALL: &[Adversary] = &[
    Adversary::saboteur(
        "properties-stick",
        "an error has the properties of the session's error before, unless it has its own",
        &["ERRORS-005", "ERRORS-014", "ERRORS-018", "ERRORS-022", "ERRORS-027"],
        properties_stick,
    ),
    Adversary::saboteur(
        "details-stick",
        "a detail has the members of the session's detail before, unless it has its own",
        &["ERRORS-010"],
        details_stick,
    ),
    Adversary::saboteur(
        "details-pile-up",
        "an error has the details of the session's errors before it as well",
        &["ERRORS-007"],
        details_pile_up,
    ),
    Adversary::saboteur("loses-some-causes", "only EIO has a cause", &["ERRORS-004"], |subject| {
        loses(subject, |code, name| name == "cause" && code != "EIO")
    }),
    Adversary::saboteur(
        "loses-some-properties",
        "properties beyond the taxonomy are lost but for ETIMEOUT and EPERMISSION",
        &["ERRORS-006"],
        |subject| {
            loses(subject, |code, name| {
                code != "ETIMEOUT" && code != "EPERMISSION" && !TAXONOMY.contains(&name)
            })
        },
    ),
    Adversary::saboteur(
        "has-room-for-a-hundred-details",
        "details after the 100th are lost",
        &["ERRORS-007"],
        |subject| {
            edits(subject, |_, error| {
                if let Some(details) = error.get_mut("details").and_then(Value::as_array_mut) {
                    details.truncate(100);
                }
            })
        },
    ),
    Adversary::saboteur(
        "never-stops-before-the-timeout",
        "elapsedMs is never less than timeoutMs",
        &["ERRORS-015"],
        |subject| {
            edits(subject, |_, error| {
                let number = |name: &str| error.get(name).and_then(Value::as_f64);
                if number("elapsedMs") < number("timeoutMs") && error.contains_key("elapsedMs") {
                    error.insert("elapsedMs".to_owned(), error["timeoutMs"].clone());
                }
            })
        },
    ),
    Adversary::saboteur(
        "has-some-names",
        "only EPERMISSION has a name",
        &["ERRORS-003"],
        |subject| loses(subject, |code, name| name == "name" && code != "EPERMISSION"),
    ),
    Adversary::saboteur(
        "cuts-received-values",
        "a received text is cut after 1024 characters",
        &["ERRORS-009"],
        |subject| edits(subject, |_, error| cuts_received(error)),
    ),
    Adversary::saboteur(
        "takes-the-causes-members",
        "a property that the cause has too is that of the cause",
        &[
            "ERRORS-007",
            "ERRORS-012",
            "ERRORS-015",
            "ERRORS-016",
            "ERRORS-017",
            "ERRORS-020",
            "ERRORS-024",
        ],
        |subject| edits(subject, takes_the_causes_members),
    ),
    Adversary::saboteur(
        "takes-zero-for-missing",
        "an ELOCK_TIMEOUT or ETIMEOUT with a time of zero is refused",
        &["ERRORS-015", "ERRORS-020"],
        |subject| edits(subject, takes_zero_for_missing),
    ),
    Adversary::saboteur(
        "takes-null-for-missing",
        "an EHALT that expected or met null is refused",
        &["ERRORS-025"],
        |subject| {
            edits(subject, |_, error| {
                refuse_if(error, &["expected", "actual"], |value| value.is_null());
            })
        },
    ),
];

fn cuts_received(error: &mut Map<String, Value>) {
    let details = error.get_mut("details").and_then(Value::as_array_mut);
    for detail in details.into_iter().flatten() {
        if let Some(Value::String(text)) = detail.get_mut("received") {
            *text = text.chars().take(1024).collect();
        }
    }
}

fn takes_the_causes_members(args: &Value, error: &mut Map<String, Value>) {
    let of_every_error = ["code", "message", "name", "cause", "stack"];
    for (name, value) in args["cause"].as_object().into_iter().flatten() {
        if error.contains_key(name) && !of_every_error.contains(&name.as_str()) {
            error.insert(name.clone(), value.clone());
        }
    }
}

fn takes_zero_for_missing(_: &Value, error: &mut Map<String, Value>) {
    if error["code"] == "ELOCK_TIMEOUT" || error["code"] == "ETIMEOUT" {
        refuse_if(error, &["timeoutMs", "elapsedMs"], |value| value.as_f64() == Some(0.0));
    }
}

/// Refuses to make an error with such a value of one of these properties.
fn refuse_if(error: &mut Map<String, Value>, names: &[&str], wrong: fn(&Value) -> bool) {
    let Some(name) = names.iter().find(|name| error.get(**name).is_some_and(wrong)) else { return };
    let refusal = json!({
        "name": "ValidationError", "code": "EVALIDATION", "message": "a property is missing",
        "details": [{ "field": name, "reason": "is required" }],
    });
    if let Value::Object(refusal) = refusal {
        *error = refusal;
    }
}

fn properties_stick(subject: Subject) -> Subject {
    static BEFORE: Memory<Map<String, Value>> = Memory::new();
    around(subject, &["errors.raise"], async |call, args, inner: Next| {
        let answer = inner.call(call.clone(), args).await;
        change(answer, |error| {
            BEFORE.of(&call, "", |before| {
                for (name, value) in before.iter().flatten() {
                    error.entry(name).or_insert_with(|| value.clone());
                }
                *before = Some(error.clone());
            });
        })
    })
}

fn details_stick(subject: Subject) -> Subject {
    static BEFORE: Memory<Map<String, Value>> = Memory::new();
    around(subject, &["errors.raise"], async |call, args, inner: Next| {
        let answer = inner.call(call.clone(), args).await;
        change(answer, |error| {
            let details = error.get_mut("details").and_then(Value::as_array_mut);
            for detail in details.into_iter().flatten().filter_map(Value::as_object_mut) {
                BEFORE.of(&call, "", |before| {
                    for (name, value) in before.iter().flatten() {
                        detail.entry(name).or_insert_with(|| value.clone());
                    }
                    *before = Some(detail.clone());
                });
            }
        })
    })
}

fn details_pile_up(subject: Subject) -> Subject {
    static BEFORE: Memory<Vec<Value>> = Memory::new();
    around(subject, &["errors.raise"], async |call, args, inner: Next| {
        let answer = inner.call(call.clone(), args).await;
        change(answer, |error| {
            if let Some(details) = error.get_mut("details").and_then(Value::as_array_mut) {
                BEFORE.of(&call, "", |before| {
                    details.splice(0..0, before.take().unwrap_or_default());
                    *before = Some(details.clone());
                });
            }
        })
    })
}
