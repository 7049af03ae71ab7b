//! The reference without one thing that many cases meet: only the requirements about that thing may be broken.

use proofmark_protocol::{Failure, RpcError};
use proofmark_room::bend::{Next, Reply, around, around_all};
use proofmark_room::{Adversary, Subject};
use serde_json::{Value, json};

use crate::saboteurs::log_files::{APPENDS, READS};

pub(crate) const ALL: &[Adversary] = &[
    Adversary::crippled(
        "errors-without-details",
        "no error has details",
        &["CHRONICLE-051"],
        |subject| errors_without(subject, "details"),
    ),
    Adversary::crippled(
        "errors-without-path",
        "no error has a path",
        &["CHRONICLE-034", "CHRONICLE-062"],
        |subject| errors_without(subject, "path"),
    ),
    Adversary::crippled(
        "errors-without-timeout",
        "no error has timeoutMs",
        &["CHRONICLE-034"],
        |subject| errors_without(subject, "timeoutMs"),
    ),
    Adversary::crippled(
        "has-no-tail",
        "tailChronicle is not implemented",
        &["CHRONICLE-024"],
        |subject| lacks(subject, "chronicle.tailChronicle"),
    ),
    Adversary::crippled(
        "has-no-append-with-id",
        "appendEventWithId is not implemented",
        &["CHRONICLE-014"],
        |subject| lacks(subject, "chronicle.appendEventWithId"),
    ),
    Adversary::crippled(
        "reads-without-ids",
        "no event that is read has an eventId, whether it was computed or given",
        &["CHRONICLE-001"],
        |subject| reads_without(subject, "eventId"),
    ),
    Adversary::crippled(
        "reads-without-timestamps",
        "no event that is read has a timestamp",
        &["CHRONICLE-001"],
        |subject| reads_without(subject, "timestamp"),
    ),
    Adversary::crippled(
        "appends-answer",
        "every append that succeeds answers with an object",
        &["CHRONICLE-004"],
        appends_answer,
    ),
];

fn errors_without(subject: Subject, member: &'static str) -> Subject {
    around_all(subject, "chronicle.", move |call, args, inner: Next| async move {
        inner.call(call, args).await.map_err(|failure| match failure {
            Failure::Contract(mut error) => {
                error.remove(member);
                Failure::Contract(error)
            }
            other => other,
        })
    })
}

fn lacks(subject: Subject, operation: &'static str) -> Subject {
    around(subject, &[operation], move |_, _, _: Next| async move {
        let message = format!("`{operation}` is not implemented");
        Err(Failure::Adapter(RpcError::new(RpcError::NOT_IMPLEMENTED, message)))
    })
}

fn reads_without(subject: Subject, member: &'static str) -> Subject {
    around(subject, READS, move |call, args, inner: Next| async move {
        let mut events = inner.call(call, args).await?;
        for event in events.as_array_mut().into_iter().flatten().filter_map(Value::as_object_mut) {
            event.shift_remove(member);
        }
        Ok(events)
    })
}

fn appends_answer(subject: Subject) -> Subject {
    around(subject, APPENDS, async |call, args, inner: Next| -> Reply {
        inner.call(call, args).await.map(|_| json!({ "appended": true }))
    })
}
