//! Foundations that lack one thing everywhere, or do it otherwise everywhere. Only the requirements about that thing
//! are broken.

use std::fmt::Write as _;

use proofmark_protocol::{Failure, RpcError};
use proofmark_room::bend::{Next, around};
use proofmark_room::{Adversary, Subject};
use serde_json::{Value, json};

use crate::spelling::{by_units, parts, respells, spells};

pub(crate) const ALL: &[Adversary] = &[
    Adversary::crippled(
        "no-typed-error-name",
        "no error of utils.err has a name",
        &["UTILS-025"],
        |subject| lacks(subject, "name"),
    ),
    Adversary::crippled(
        "no-typed-error-cause",
        "no error of utils.err has a cause",
        &["UTILS-023"],
        |subject| lacks(subject, "cause"),
    ),
    Adversary::crippled(
        "no-typed-error-message",
        "no error of utils.err has a message",
        &["UTILS-022"],
        |subject| lacks(subject, "message"),
    ),
    Adversary::crippled(
        "blanks-after-separators",
        "the canonical form has a blank after every comma and colon",
        &["UTILS-001", "UTILS-005"],
        |subject| {
            respells(subject, |form| {
                let parts = parts(form).into_iter().enumerate();
                parts
                    .map(|(at, part)| match at % 2 {
                        0 => part.replace(',', ", ").replace(':', ": "),
                        _ => part.to_owned(),
                    })
                    .collect()
            })
        },
    ),
    Adversary::crippled(
        "escapes-beyond-ascii",
        "the canonical form has an escape for every character beyond ASCII",
        &["UTILS-011"],
        |subject| respells(subject, |form| form.chars().map(in_ascii).collect()),
    ),
    Adversary::crippled(
        "integer-like-keys-first",
        "keys that look like integers come first, in numeric order, as in ECMAScript's objects",
        &["UTILS-003"],
        |subject| {
            spells(subject, |_, keys| {
                by_units(keys);
                keys.sort_by_key(|key| index(key).map_or((true, 0), |index| (false, index)));
            })
        },
    ),
    Adversary::crippled(
        "upper-case-digests",
        "digests are written in upper case",
        &["UTILS-017", "UTILS-018"],
        |subject| {
            around(subject, &["utils.sha256"], async |call, args, inner: Next| {
                let digest = inner.call(call, args).await?;
                Ok(digest.as_str().map_or(Value::Null, |digest| digest.to_uppercase().into()))
            })
        },
    ),
    Adversary::crippled(
        "no-milliseconds",
        "the clock has no milliseconds",
        &["UTILS-028"],
        |subject| {
            around(subject, &["utils.clock.now"], async |call, args, inner: Next| {
                let now = inner.call(call, args).await?;
                let seconds = now.as_str().and_then(|now| now.split('.').next());
                Ok(seconds.map_or(Value::Null, |seconds| format!("{seconds}Z").into()))
            })
        },
    ),
    Adversary::crippled(
        "no-random-floats",
        "utils.random.float is not implemented",
        &["UTILS-030"],
        |subject| {
            around(subject, &["utils.random.float"], async |_, _, _| {
                Err(Failure::Adapter(RpcError::new(
                    RpcError::NOT_IMPLEMENTED,
                    "utils.random.float is not implemented",
                )))
            })
        },
    ),
];

fn lacks(subject: Subject, name: &'static str) -> Subject {
    around(subject, &["utils.err"], move |call, args, inner: Next| async move {
        let mut error = inner.call(call, args).await?;
        if let Some(error) = error.as_object_mut() {
            error.shift_remove(name);
        }
        Ok(json!(error))
    })
}

fn in_ascii(character: char) -> String {
    if character.is_ascii() {
        return character.to_string();
    }
    let mut escapes = String::new();
    for unit in character.encode_utf16(&mut [0; 2]) {
        let _infallible = write!(escapes, "\\u{unit:04x}");
    }
    escapes
}

/// The key as ECMAScript's array index, if it is one.
fn index(key: &str) -> Option<u32> {
    key.parse().ok().filter(|index: &u32| index.to_string() == key)
}
