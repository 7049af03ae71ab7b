//! Foundations as the contract allows them, but other than the reference.

use proofmark_room::Adversary;
use proofmark_room::bend::{Memory, Next, around};
use serde_json::{Map, Value, json};

use proofmark_protocol::Failure;
use proofmark_room::Subject;

use crate::CONTRACT;
use crate::spelling::spells;

pub(crate) const ALL: &[Adversary] = &[
    Adversary::variant(
        CONTRACT,
        "typed-errors-say-more",
        "a typed error has a stack and a further property",
        "interface TypedError extends Error; Error Taxonomy: [key: string]: any",
        |subject| {
            edits_errors(subject, |error| {
                error.insert("stack".to_owned(), "Error: m\n    at err (errors.js:1:1)".into());
                error.insert("retryable".to_owned(), false.into());
            })
        },
    ),
    Adversary::variant(
        CONTRACT,
        "typed-errors-have-an-empty-name",
        "the name of a typed error is empty",
        "the text fixes no names, and `name: string` of an ECMAScript error may be empty",
        |subject| {
            edits_errors(subject, |error| {
                error.insert("name".to_owned(), "".into());
            })
        },
    ),
    Adversary::variant(
        CONTRACT,
        "refuses-numbers-beyond-a-double",
        "a number that has no finite double is refused",
        "the text does not say how such a number is written; RFC 8785 requires an error",
        |subject| refuses(subject, "e400"),
    ),
    Adversary::variant(
        CONTRACT,
        "refuses-lone-surrogates",
        "a lone surrogate is refused",
        "the text does not say how a lone surrogate is written; RFC 8785 requires an error",
        |subject| refuses(subject, "\\u"),
    ),
    Adversary::variant(
        CONTRACT,
        "writes-null-beyond-a-double",
        "a number that has no finite double is written as null",
        "the text does not say how such a number is written; ECMAScript writes null",
        |subject| {
            around(
                subject,
                &["utils.canonicalJSONStringify"],
                async |call, mut args, inner: Next| {
                    if let Some(Value::String(text)) = args.get_mut("json") {
                        *text = text.replace("-1e400", "null").replace("1e400", "null");
                    }
                    inner.call(call, args).await
                },
            )
        },
    ),
    Adversary::variant(
        CONTRACT,
        "clock-with-an-offset",
        "the clock writes its offset from UTC as +00:00",
        "export type ISO8601 = string: ISO 8601 has both forms, and the text fixes none",
        |subject| {
            around(subject, &["utils.clock.now"], async |call, args, inner: Next| {
                let now = inner.call(call, args).await?;
                Ok(now.as_str().map_or(Value::Null, |now| now.replace('Z', "+00:00").into()))
            })
        },
    ),
    Adversary::variant(
        CONTRACT,
        "clock-with-a-comma",
        "the clock writes the fraction of a second after a comma",
        "export type ISO8601 = string: ISO 8601 has both forms, and the text fixes none",
        |subject| {
            around(subject, &["utils.clock.now"], async |call, args, inner: Next| {
                let now = inner.call(call, args).await?;
                Ok(now.as_str().map_or(Value::Null, |now| now.replace('.', ",").into()))
            })
        },
    ),
    Adversary::variant(
        CONTRACT,
        "takes-null-for-no-cause",
        "a cause that is null is none",
        "cause?: unknown: the text does not say whether null counts as given",
        |subject| {
            edits_errors(subject, |error| {
                if error.get("cause").is_some_and(Value::is_null) {
                    error.shift_remove("cause");
                }
            })
        },
    ),
    Adversary::variant(
        CONTRACT,
        "keeps-secrets",
        "a secret that was found is not fetched again",
        "SecretProvider, get: the text does not say how often the backend is asked",
        |subject| {
            static KNOWN: Memory<Value> = Memory::new();
            around(subject, &["utils.secrets.get"], async |call, args, inner: Next| {
                let key = args["key"].to_string();
                if let Some(known) = KNOWN.of(&call, &key, |known| known.clone()) {
                    return Ok(known);
                }
                let secret = inner.call(call.clone(), args).await?;
                if !secret.is_null() {
                    KNOWN.of(&call, &key, |known| *known = Some(secret.clone()));
                }
                Ok(secret)
            })
        },
    ),
    Adversary::variant(
        CONTRACT,
        "sorts-by-code-point-everywhere",
        "keys beyond ASCII are sorted by code points",
        "\"Keys are sorted alphabetically\" names no collation",
        |subject| spells(subject, |_, keys| keys.sort_unstable()),
    ),
    Adversary::variant(
        CONTRACT,
        "sorts-as-a-dictionary",
        "keys are sorted without regard to case; those that differ in case only, by code unit",
        "\"Keys are sorted alphabetically\" names no collation",
        |subject| {
            spells(subject, |_, keys| {
                keys.sort_by_cached_key(|key| (key.to_lowercase(), (*key).clone()));
            })
        },
    ),
    Adversary::variant(
        CONTRACT,
        "sorts-letters-before-digits",
        "in the order of keys, letters come first, then digits, then everything else",
        "\"Keys are sorted alphabetically\" names no collation",
        |subject| {
            spells(subject, |_, keys| {
                let class = |one: char| (!one.is_alphabetic(), !one.is_numeric(), one);
                keys.sort_by_cached_key(|key| key.chars().map(class).collect::<Vec<_>>());
            })
        },
    ),
];

fn edits_errors(subject: Subject, edit: fn(&mut Map<String, Value>)) -> Subject {
    around(subject, &["utils.err"], move |call, args, inner: Next| async move {
        let mut error = inner.call(call, args).await?;
        error.as_object_mut().into_iter().for_each(edit);
        Ok(error)
    })
}

/// Refuses a JSON text that has `what` in it.
fn refuses(subject: Subject, what: &'static str) -> Subject {
    around(subject, &["utils.canonicalJSONStringify"], move |call, args, inner: Next| async move {
        if args["json"].as_str().is_some_and(|text| text.contains(what)) {
            let details = json!([{ "field": "json", "reason": "has no canonical form" }]);
            let error = json!({
                "name": "ValidationError",
                "code": "EVALIDATION",
                "message": "has no canonical form",
                "details": details,
            });
            return Err(Failure::Contract(error.as_object().cloned().unwrap_or_default()));
        }
        inner.call(call, args).await
    })
}
