//! Readers for scripts and arguments. Each error names the place that is wrong and what belongs there.

use serde_json::{Map, Value};

/// An error that a script tells a fake to answer with.
#[derive(Debug, Clone, PartialEq)]
pub struct ScriptedFault {
    /// The name of the error's type, if the script gives one.
    pub name: Option<String>,
    pub code: String,
    pub message: String,
    pub cause: Option<Value>,
    /// All other members, in the order of the script.
    pub properties: Map<String, Value>,
}

impl ScriptedFault {
    /// Reads `{"code", "message"}`, with optional `name`, `cause` and other members.
    ///
    /// # Errors
    /// `value` is not an object, or one of `code`, `message` and `name` is not a string.
    pub fn read(place: &str, value: &Value) -> Result<Self, String> {
        let Some(members) = value.as_object() else {
            return Err(format!(
                "`{place}` must be an error with `code` and `message`, not {value}"
            ));
        };
        let mut members = members.clone();
        let mut take = |name: &str| members.shift_remove(name);
        let text = |name: &str, value: Option<&Value>| {
            string(&format!("{place}.{name}"), value).map(str::to_owned)
        };
        Ok(Self {
            code: text("code", take("code").as_ref())?,
            message: text("message", take("message").as_ref())?,
            cause: take("cause"),
            name: take("name").map(|name| text("name", Some(&name))).transpose()?,
            properties: members,
        })
    }

    /// One flat object: `name` if there is one, `code`, `message`, the properties, `cause` if there is one.
    pub fn to_json(&self) -> Value {
        let mut json = Map::new();
        json.extend(self.name.clone().map(|name| ("name".to_owned(), name.into())));
        json.insert("code".to_owned(), self.code.clone().into());
        json.insert("message".to_owned(), self.message.clone().into());
        json.extend(self.properties.clone());
        json.extend(self.cause.clone().map(|cause| ("cause".to_owned(), cause)));
        Value::Object(json)
    }
}

/// The object at `place`, which may have these members and no others.
pub fn object<'a>(
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

/// The array at `place`; an empty one if the member is absent.
pub fn array<'a>(place: &str, value: Option<&'a Value>) -> Result<&'a [Value], String> {
    match value {
        None => Ok(&[]),
        Some(Value::Array(items)) => Ok(items),
        Some(other) => Err(format!("`{place}` must be an array, not {other}")),
    }
}

/// The string at `place`.
pub fn string<'a>(place: &str, value: Option<&'a Value>) -> Result<&'a str, String> {
    match value {
        Some(Value::String(text)) => Ok(text),
        Some(other) => Err(format!("`{place}` must be a string, not {other}")),
        None => Err(format!("`{place}` is missing; it is a string")),
    }
}

/// Checks the member `stall`, whose only value is `true`.
pub fn stall(place: &str, value: &Value) -> Result<(), String> {
    match value {
        Value::Bool(true) => Ok(()),
        other => Err(format!("`{place}.stall` must be true, not {other}; leave it out otherwise")),
    }
}

/// The arguments of a call: an object that may have these members and no others.
pub fn arguments<'a>(
    call: &str,
    args: &'a Value,
    members: &[&str],
) -> Result<&'a Map<String, Value>, String> {
    let taken = args.as_object().filter(|args| args.keys().all(|n| members.contains(&n.as_str())));
    taken.ok_or_else(|| format!("`{call}` takes an object with {}, not {args}", list(members)))
}

/// A string among the arguments of a call.
pub fn argument<'a>(
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

/// Names in a sentence: `a`, `b` and `c`.
pub fn list(names: &[&str]) -> String {
    match names {
        [] => "no members".to_owned(),
        [only] => format!("`{only}`"),
        [firsts @ .., last] => format!("`{}` and `{last}`", firsts.join("`, `")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_fault_is_written_flat_with_its_cause_last() {
        let script = json!({"cause": {"a": 1}, "path": "x", "message": "gone", "code": "EIO"});
        let fault = ScriptedFault::read("faults[0]", &script).unwrap();
        let flat = r#"{"code":"EIO","message":"gone","path":"x","cause":{"a":1}}"#;
        assert_eq!(fault.to_json().to_string(), flat);
        let named = ScriptedFault { name: Some("IoError".to_owned()), ..fault };
        assert_eq!(named.to_json()["name"], "IoError");
    }

    #[test]
    fn a_wrong_fault_names_its_place() {
        let check = |script: Value, expect: &str| {
            assert_eq!(ScriptedFault::read("f", &script).unwrap_err(), expect);
        };
        check(json!(1), "`f` must be an error with `code` and `message`, not 1");
        check(json!({"message": "m"}), "`f.code` is missing; it is a string");
        check(json!({"code": "E", "message": 2}), "`f.message` must be a string, not 2");
        check(
            json!({"code": "E", "message": "m", "name": null}),
            "`f.name` must be a string, not null",
        );
    }
}
