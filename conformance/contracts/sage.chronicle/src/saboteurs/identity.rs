//! Saboteurs that compute ids from the wrong bytes.

use sage_utils::{canonical_json, sha256};
use serde_json::Value;

use super::log_files::{append_as, events, file};
use proofmark_room::bend::{Next, around};
use proofmark_room::{Adversary, Subject};

pub(crate) const ALL: &[Adversary] = &[
    Adversary::saboteur(
        "hashes-as-given",
        "the id is of the event with its keys as they came",
        &["CHRONICLE-011", "CHRONICLE-012"],
        hashes_as_given,
    ),
    Adversary::saboteur(
        "hashes-the-given-id",
        "an id that was given has a part in the computed one",
        &["CHRONICLE-013"],
        hashes_the_given_id,
    ),
    Adversary::saboteur(
        "chains-ids",
        "the id depends on the event before",
        &["CHRONICLE-011", "CHRONICLE-012"],
        chains_ids,
    ),
    Adversary::saboteur(
        "computes-every-id",
        "appendEventWithId computes the id anew",
        &["CHRONICLE-014"],
        computes_every_id,
    ),
];

/// Whether the reference would accept it.
pub(crate) fn is_right(args: &Value) -> bool {
    let event = &args["event"];
    let text = |value: &Value| value.is_string();
    let rest = event.get("eventId").is_none_or(text)
        && args.get("lockTimeoutMs").is_none_or(Value::is_u64);
    rest && text(&event["type"])
        && text(&event["timestamp"])
        && text(&event["actor"]["agent"])
        && text(&event["actor"]["id"])
}

fn without_id(event: &Value) -> Value {
    let mut event = event.clone();
    if let Value::Object(members) = &mut event {
        members.shift_remove("eventId");
    }
    event
}

fn hashes_as_given(subject: Subject) -> Subject {
    around(subject, &["chronicle.appendEvent"], async |call, args, inner: Next| {
        if args["event"].get("eventId").is_some() || !is_right(&args) {
            return inner.call(call, args).await;
        }
        let id = sha256(without_id(&args["event"]).to_string());
        append_as(call, args, id).await
    })
}

fn hashes_the_given_id(subject: Subject) -> Subject {
    around(subject, &["chronicle.appendEvent"], async |call, args, inner: Next| {
        if args["event"].get("eventId").is_none() || !is_right(&args) {
            return inner.call(call, args).await;
        }
        let id = sha256(canonical_json(&args["event"]));
        append_as(call, args, id).await
    })
}

fn chains_ids(subject: Subject) -> Subject {
    around(subject, &["chronicle.appendEvent"], async |call, args, inner: Next| {
        match events(&file(&call, &args)).last() {
            Some(last) if is_right(&args) => {
                let event = canonical_json(&without_id(&args["event"]));
                let id = sha256(format!("{}{event}", last["eventId"]));
                append_as(call, args, id).await
            }
            _ => inner.call(call, args).await,
        }
    })
}

fn computes_every_id(subject: Subject) -> Subject {
    around(subject, &["chronicle.appendEventWithId"], async |call, args, inner: Next| {
        if args["event"].get("eventId").is_none() || !is_right(&args) {
            return inner.call(call, args).await;
        }
        let id = sha256(canonical_json(&without_id(&args["event"])));
        append_as(call, args, id).await
    })
}
