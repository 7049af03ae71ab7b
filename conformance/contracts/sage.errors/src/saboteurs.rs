//! Errors that lose what they should keep, or keep what they should drop.

use serde_json::{Map, Value};

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
];

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
