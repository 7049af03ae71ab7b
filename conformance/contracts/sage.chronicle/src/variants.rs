//! The reference, changed in something that the text leaves free. Each must be certified.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Instant;

use proofmark_protocol::Failure;
use proofmark_room::arguments::contract_error;
use proofmark_room::bend::{Next, Reply, around, around_all, own_fault, root};
use proofmark_room::{Adversary, Subject};
use sage_chronicle::{Chronicle, Options, event_id};
use serde_json::{Map, Value, json};

use crate::CONTRACT;
use crate::saboteurs::identity::is_right;
use crate::saboteurs::log_files::{
    APPENDS, append_as, beside, bytes, file, lock_timeout, path, put, refusal,
};

/// A variant of this contract.
const fn free(
    name: &'static str,
    about: &'static str,
    free: &'static str,
    bend: fn(Subject) -> Subject,
) -> Adversary {
    Adversary::variant(CONTRACT, name, about, free, bend)
}

const REPEATS: &str =
    "Idempotency: duplicate appends are allowed; implementations may dedupe or allow duplicates";
const RELATIVE: &str =
    "ChroniclePath: relative to the workspace root; what happens with other paths is not said";
const TIMEOUT: &str = "lockTimeoutMs is optional; the text names no default";

pub(crate) const ALL: &[Adversary] = &[
    free(
        "drops-repeats-within-a-hundred-lines",
        "a repeat of one of the last 100 events is acknowledged and dropped",
        REPEATS,
        |subject| drops_repeats(subject, 100),
    ),
    free(
        "drops-repeats-in-a-row",
        "a repeat that directly follows its equal is dropped, whichever way it was appended",
        REPEATS,
        |subject| drops_repeats(subject, 1),
    ),
    free(
        "drops-every-repeat",
        "a repeat of any event of the file is acknowledged and dropped",
        REPEATS,
        |subject| drops_repeats(subject, usize::MAX),
    ),
    free(
        "keeps-given-ids",
        "appendEvent keeps an eventId that looks like a hash",
        "eventId: computed by the library if not provided",
        keeps_given_ids,
    ),
    free("keeps-every-repeat", "every repeat is appended again", REPEATS, keeps_every_repeat),
    free(
        "checks-given-ids",
        "appendEventWithId refuses an eventId that is not the hash of the event",
        "\"Must include a valid eventId\": the text does not say which ids are valid",
        checks_given_ids,
    ),
    free(
        "refuses-empty-and-mistyped-fields",
        "an event with an empty or mistyped optional field, or without an ISO 8601 timestamp, is refused",
        "planHash?: string, tags?: string[], timestamp in ISO8601 format: which events are malformed is not said",
        refuses_empty_and_mistyped_fields,
    ),
    free(
        "gives-up-before-the-first-try",
        "a machine so busy that an append with a lockTimeoutMs below 500 gives up before its first try",
        "lockTimeoutMs: the timeout for acquiring a file lock; from when it counts is not said",
        gives_up_before_the_first_try,
    ),
    free(
        "takes-absolute-paths-as-relative",
        "an absolute path is one relative to the workspace root",
        RELATIVE,
        |subject| takes_paths_as(subject, |path| path.trim_start_matches('/').to_owned()),
    ),
    free(
        "stays-at-the-root",
        "`..` at the workspace root stays there, as at the root of a file system",
        RELATIVE,
        |subject| takes_paths_as(subject, rooted),
    ),
    free(
        "turns-keys-around",
        "the keys of a line are in the reverse order",
        "NDJSON, JSON canonicalization uses stable key sort for hashing: no order inside a line",
        turns_keys_around,
    ),
    free(
        "gives-up-sooner-by-default",
        "without lockTimeoutMs, an append waits for 100 ms",
        TIMEOUT,
        |subject| by_default(subject, APPENDS, "lockTimeoutMs", 100),
    ),
    free(
        "is-patient-by-default",
        "without lockTimeoutMs, an append waits for a minute",
        TIMEOUT,
        |subject| by_default(subject, APPENDS, "lockTimeoutMs", 60_000),
    ),
    free(
        "tails-three-by-default",
        "without n, tailChronicle returns the last 3 events",
        "tailChronicle: n is optional; the text names no default",
        |subject| by_default(subject, &["chronicle.tailChronicle"], "n", 3),
    ),
    free(
        "tells-the-measured-wait",
        "timeoutMs is the time that the append really waited, and the holder is unknown",
        "ELOCK_TIMEOUT, timeoutMs: how long we waited for the lock; holder, if known",
        tells_the_measured_wait,
    ),
    free(
        "cuts-partial-lines-off",
        "an append cuts off a partial line instead of ending it",
        "Append-only: never modify existing lines; partial lines are ignored on read",
        cuts_partial_lines_off,
    ),
    free(
        "leaves-lock-files",
        "every append leaves an empty lock file beside the chronicle",
        "Locking: per-file advisory lock around append; where the lock lives is not said",
        leaves_lock_files,
    ),
    free(
        "denies-what-leads-out",
        "a path that leads out of the workspace is refused with EPERMISSION",
        "EPERMISSION: denied by path or policy; the text names no code for such paths",
        denies_what_leads_out,
    ),
    free(
        "explains-its-errors",
        "errors have further members and other messages, and EIO has no path",
        "TypedError: allow for additional properties; EIO, path, if applicable",
        explains_its_errors,
    ),
];

type Id = fn(&Value) -> String;

/// The id of the event in a call of `appendEvent`, and in a call of `appendEventWithId`.
const IDS: [(&str, Id); 2] = [
    ("chronicle.appendEvent", event_id),
    ("chronicle.appendEventWithId", |event| {
        event["eventId"].as_str().unwrap_or_default().to_owned()
    }),
];

fn drops_repeats(subject: Subject, among: usize) -> Subject {
    IDS.into_iter().fold(subject, |subject, (operation, id)| {
        around(subject, &[operation], move |call, args, inner: Next| async move {
            let event = id(&args["event"]);
            if is_right(&args) && last_ids(&bytes(&file(&call, &args)), among).contains(&event) {
                return Ok(Value::Null);
            }
            inner.call(call, args).await
        })
    })
}

/// The ids of the last events.
fn last_ids(bytes: &[u8], among: usize) -> Vec<String> {
    let lines = bytes.rsplit(|byte| *byte == b'\n').filter(|line| !line.is_empty()).take(among);
    let ids = lines.filter_map(|line| {
        let event: Value = serde_json::from_slice(line).ok()?;
        event["eventId"].as_str().map(ToOwned::to_owned)
    });
    ids.collect()
}

fn keeps_every_repeat(subject: Subject) -> Subject {
    around(subject, &["chronicle.appendEvent"], async |call, args, inner: Next| {
        let file = file(&call, &args);
        let id = event_id(&args["event"]);
        let repeats = is_right(&args) && last_ids(&bytes(&file), 1).contains(&id);
        if repeats { append_as(call, args, id).await } else { inner.call(call, args).await }
    })
}

fn keeps_given_ids(subject: Subject) -> Subject {
    around(subject, &["chronicle.appendEvent"], async |call, args, inner: Next| {
        let given = args["event"]["eventId"].as_str().map(str::to_owned);
        let digits =
            |id: &String| id.len() == 64 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
        match given.filter(digits) {
            Some(id) if is_right(&args) => append_as(call, args, id).await,
            _ => inner.call(call, args).await,
        }
    })
}

fn checks_given_ids(subject: Subject) -> Subject {
    around(subject, &["chronicle.appendEventWithId"], async |call, args, inner: Next| {
        if is_right(&args) && args["event"]["eventId"] != event_id(&args["event"]) {
            return Err(contract_error(json!({
                "name": "TypedError", "code": "EVALIDATION", "message": "the eventId is not the event's",
                "details": [{ "field": "eventId", "reason": "it is not the hash of the event" }],
            })));
        }
        inner.call(call, args).await
    })
}

fn refuses_empty_and_mistyped_fields(subject: Subject) -> Subject {
    around(subject, APPENDS, async |call, args, inner: Next| {
        let event = &args["event"];
        let filled = |value: &Value| value.as_str().is_some_and(|text| !text.is_empty());
        let texts = ["type", "timestamp", "planHash", "graphCommit", "prevEventId"];
        let mut wrong = texts.iter().find(|name| event.get(**name).is_some_and(|it| !filled(it)));
        if event
            .get("tags")
            .is_some_and(|tags| !tags.as_array().is_some_and(|tags| tags.iter().all(filled)))
        {
            wrong = Some(&"tags");
        }
        let timed = event["timestamp"]
            .as_str()
            .is_some_and(|time| time.get(10..11) == Some("T") && time.contains(':'));
        match wrong.or((!timed).then_some(&"timestamp")) {
            Some(field) if is_right(&args) => Err(contract_error(json!({
                "name": "TypedError", "code": "EVALIDATION", "message": "the event is malformed",
                "details": [{ "field": field, "reason": "is empty or has the wrong type" }],
            }))),
            _ => inner.call(call, args).await,
        }
    })
}

fn gives_up_before_the_first_try(subject: Subject) -> Subject {
    around(subject, APPENDS, async |call, args, inner: Next| {
        let impatient = args["lockTimeoutMs"].as_u64().is_some_and(|time| (1..500).contains(&time));
        if impatient && is_right(&args) {
            Err(lock_timeout(&args))
        } else {
            inner.call(call, args).await
        }
    })
}

fn takes_paths_as(subject: Subject, other: fn(&str) -> String) -> Subject {
    around_all(subject, "chronicle.", move |call, mut args, inner: Next| async move {
        if let Some(path) = args["path"].as_str() {
            args["path"] = other(path).into();
        }
        inner.call(call, args).await
    })
}

fn rooted(path: &str) -> String {
    let mut kept = Vec::new();
    for segment in path.split('/') {
        if segment == ".." {
            kept.pop();
        } else {
            kept.push(segment);
        }
    }
    kept.join("/")
}

fn turns_keys_around(subject: Subject) -> Subject {
    around(subject, APPENDS, async |call, mut args, inner: Next| {
        if is_right(&args) {
            args["event"] = turned(&args["event"]);
        }
        inner.call(call, args).await
    })
}

fn turned(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let members = members.iter().rev().map(|(key, value)| (key.clone(), turned(value)));
            Value::Object(members.collect())
        }
        Value::Array(items) => items.iter().map(turned).collect(),
        scalar => scalar.clone(),
    }
}

/// Another default for an optional argument.
fn by_default(
    subject: Subject,
    operations: &'static [&'static str],
    name: &'static str,
    value: u32,
) -> Subject {
    around(subject, operations, move |call, mut args, inner: Next| async move {
        if args.get(name).is_none() {
            args[name] = value.into();
        }
        inner.call(call, args).await
    })
}

fn tells_the_measured_wait(subject: Subject) -> Subject {
    around(subject, APPENDS, async |call, args, inner: Next| {
        let begun = Instant::now();
        inner.call(call, args).await.map_err(|failure| {
            changed(failure, |error| {
                if error.contains_key("timeoutMs") {
                    let waited = begun.elapsed().as_secs_f64() * 1000.0;
                    error.insert("timeoutMs".to_owned(), waited.into());
                    error.shift_remove("holder");
                }
            })
        })
    })
}

/// The contract's error, changed.
fn changed(failure: Failure, change: impl FnOnce(&mut Map<String, Value>)) -> Failure {
    match failure {
        Failure::Contract(mut error) => {
            change(&mut error);
            Failure::Contract(error)
        }
        other => other,
    }
}

fn cuts_partial_lines_off(subject: Subject) -> Subject {
    around(subject, APPENDS, async |call, args, inner: Next| {
        let (root, file, path) = (root(&call), file(&call, &args), path(&args).to_owned());
        if is_right(&args) && is_torn(&bytes(&file)) {
            let work = move || cut(root, &file, &path);
            let done = tokio::task::spawn_blocking(work).await;
            done.map_err(|panic| Failure::broken(panic.to_string()))??;
        }
        inner.call(call, args).await
    })
}

fn is_torn(bytes: &[u8]) -> bool {
    bytes.last().is_some_and(|byte| *byte != b'\n')
}

/// Under the lock, since what looks like a partial line may be an append in progress.
fn cut(root: PathBuf, file: &Path, path: &str) -> Result<(), Failure> {
    let chronicle = Chronicle::open(root, Options::default()).map_err(|fault| refusal(&fault))?;
    let _lock = chronicle.hold_lock(path).map_err(|fault| refusal(&fault))?;
    let old = bytes(file);
    let whole = old.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    if whole < old.len() { put(file, &old[..whole]) } else { Ok(()) }
}

fn leaves_lock_files(subject: Subject) -> Subject {
    around(subject, APPENDS, async |call, args, inner: Next| -> Reply {
        let mark = beside(&file(&call, &args), ".lock");
        let answer = inner.call(call, args).await?;
        File::create(mark).map_err(own_fault)?;
        Ok(answer)
    })
}

fn denies_what_leads_out(subject: Subject) -> Subject {
    around_all(subject, "chronicle.", async |call, args, inner: Next| {
        let out = path(&args).starts_with('/') || path(&args).split('/').any(|part| part == "..");
        let resource = args["path"].clone();
        inner.call(call, args).await.map_err(|failure| match failure {
            Failure::Contract(error) if out && error["code"] == "EVALIDATION" => {
                contract_error(json!({
                    "name": "TypedError", "code": "EPERMISSION", "message": "outside the workspace",
                    "resource": resource, "operation": "open",
                }))
            }
            other => other,
        })
    })
}

fn explains_its_errors(subject: Subject) -> Subject {
    around_all(subject, "chronicle.", async |call, args, inner: Next| {
        inner.call(call, args).await.map_err(|failure| {
            changed(failure, |error| {
                if error["code"] == "EIO" {
                    error.shift_remove("path");
                }
                error.insert("message".to_owned(), "see `hint`".into());
                error.insert("hint".to_owned(), json!({ "see": ["the documentation"] }));
            })
        })
    })
}
