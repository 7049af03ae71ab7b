//! Ways to write canonical JSON otherwise.

use sage_utils::canonical_json;
use serde_json::{Value, json};

use proofmark_room::Subject;
use proofmark_room::bend::{Next, around};

/// As the contract wants it.
pub(crate) fn by_units(keys: &mut [&String]) {
    keys.sort_by(|a, b| a.encode_utf16().cmp(b.encode_utf16()));
}

pub(crate) type Order = fn(usize, &mut [&String]);

/// Writes objects with their keys in the saboteur's order.
pub(crate) fn spells(subject: Subject, order: Order) -> Subject {
    around(subject, &["utils.canonicalJSONStringify"], move |call, args, inner: Next| async move {
        let text = args["json"].as_str();
        let parsed = text.and_then(|text| serde_json::from_str::<Value>(text).ok());
        match args.get("value").or(parsed.as_ref()) {
            Some(value) => Ok(spelt(value, 0, order).into()),
            None => inner.call(call, args).await,
        }
    })
}

fn spelt(value: &Value, depth: usize, order: Order) -> String {
    match value {
        Value::Array(items) => {
            let items: Vec<String> =
                items.iter().map(|item| spelt(item, depth + 1, order)).collect();
            format!("[{}]", items.join(","))
        }
        Value::Object(members) => {
            let mut keys: Vec<&String> = members.keys().collect();
            order(depth, &mut keys);
            let member = |key: &&String| {
                let name = canonical_json(&json!(key));
                format!("{name}:{}", spelt(&members[key.as_str()], depth + 1, order))
            };
            format!("{{{}}}", keys.iter().map(member).collect::<Vec<_>>().join(","))
        }
        other => canonical_json(other),
    }
}

/// Changes every canonical form that the reference returns.
pub(crate) fn respells(subject: Subject, respell: fn(&str) -> String) -> Subject {
    around(subject, &["utils.canonicalJSONStringify"], move |call, args, inner: Next| async move {
        let answer = inner.call(call, args).await?;
        Ok(answer.as_str().map_or(answer.clone(), |form| respell(form).into()))
    })
}

/// A canonical form as a list of its strings and of what is between them.
pub(crate) fn parts(form: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut from, mut inside, mut escaped) = (0, false, false);
    for (at, character) in form.char_indices() {
        match character {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => {
                let to = if inside { at + 1 } else { at };
                parts.push(&form[from..to]);
                (from, inside) = (to, !inside);
            }
            _ => {}
        }
    }
    parts.push(&form[from..]);
    parts
}
