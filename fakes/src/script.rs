//! What the scripts of several fakes have in common: readers that say where a script is wrong.

use sage_utils::{TypedError, err};
use serde_json::{Map, Value};

/// The object at `place`, which may have these members and no others.
pub(crate) fn object<'a>(
    place: &str,
    value: &'a Value,
    members: &[&str],
) -> Result<&'a Map<String, Value>, String> {
    let Some(object) = value.as_object() else {
        return Err(format!("`{place}` must be an object with {}, not {value}", list(members)));
    };
    match object.keys().find(|name| !members.contains(&name.as_str())) {
        Some(name) => Err(format!("`{place}` has no member `{name}`; it has {}", list(members))),
        None => Ok(object),
    }
}

/// The array at `place`, empty when it is not there.
pub(crate) fn array<'a>(place: &str, value: Option<&'a Value>) -> Result<&'a [Value], String> {
    match value {
        None => Ok(&[]),
        Some(Value::Array(items)) => Ok(items),
        Some(other) => Err(format!("`{place}` must be an array, not {other}")),
    }
}

/// The string at `place`.
pub(crate) fn string<'a>(place: &str, value: Option<&'a Value>) -> Result<&'a str, String> {
    match value {
        Some(Value::String(text)) => Ok(text),
        Some(other) => Err(format!("`{place}` must be a string, not {other}")),
        None => Err(format!("`{place}` is missing; it is a string")),
    }
}

/// The member `stall`, which can only be `true`.
pub(crate) fn stall(place: &str, value: &Value) -> Result<(), String> {
    match value {
        Value::Bool(true) => Ok(()),
        other => Err(format!("`{place}.stall` must be true, not {other}; leave it out otherwise")),
    }
}

/// The error at `place`: `{"code", "message"}`, perhaps `name` and `cause`, and properties.
pub(crate) fn fault(place: &str, value: &Value) -> Result<TypedError, String> {
    let Some(members) = value.as_object() else {
        return Err(format!("`{place}` must be an error with `code` and `message`, not {value}"));
    };
    let mut members = members.clone();
    let code = string(&format!("{place}.code"), members.shift_remove("code").as_ref())?.to_owned();
    let message =
        string(&format!("{place}.message"), members.shift_remove("message").as_ref())?.to_owned();
    let mut error = err(code, message, members.shift_remove("cause"));
    if let Some(name) = members.shift_remove("name") {
        error = error.named(string(&format!("{place}.name"), Some(&name))?);
    }
    error.with_properties(members).map_err(|refusal| format!("`{place}`: {}", refusal.message()))
}

/// The arguments of a call, which must be an object with these members and no others.
pub(crate) fn arguments<'a>(
    call: &str,
    args: &'a Value,
    members: &[&str],
) -> Result<&'a Map<String, Value>, String> {
    let taken = args.as_object().filter(|args| args.keys().all(|n| members.contains(&n.as_str())));
    taken.ok_or_else(|| format!("`{call}` takes an object with {}, not {args}", list(members)))
}

/// A string among the arguments of a call.
pub(crate) fn argument<'a>(
    call: &str,
    args: &'a Map<String, Value>,
    name: &str,
) -> Result<&'a str, String> {
    match args.get(name) {
        Some(Value::String(text)) => Ok(text),
        Some(other) => Err(format!("`{call}` takes a string `{name}`, not {other}")),
        None => Err(format!("`{call}` takes a string `{name}`, which is missing")),
    }
}

/// Names for people: `a`, `b` and `c`.
pub(crate) fn list(names: &[&str]) -> String {
    match names {
        [] => "no members".to_owned(),
        [only] => format!("`{only}`"),
        [firsts @ .., last] => format!("`{}` and `{last}`", firsts.join("`, `")),
    }
}
