//! The arguments of wire operations.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tool {
    pub name: String,
    /// Sent unchanged, even if it is not an object.
    #[serde(default)]
    pub arguments: Option<Value>,
}

/// A suggestion of a server. It may have more members.
#[derive(Debug, Deserialize)]
pub struct Suggestion {
    pub target: String,
    pub params: Value,
}

/// An index into a list of suggestions.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct OneOfThem {
    suggestions: Vec<Value>,
    at: usize,
}

/// The suggestion to execute: the given one, or the one at an index of a list, if it exists.
pub fn suggestion(args: &Value) -> Result<Option<Suggestion>, String> {
    if args.get("target").is_some() || args.get("at").is_none() {
        return read(args).map(Some);
    }
    let OneOfThem { suggestions, at } = read(args)?;
    let message = |fault| format!("suggestion {at}: {fault}");
    suggestions.get(at).map(|one| read(one).map_err(message)).transpose()
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct McpRequest {
    pub method: String,
    pub params: Option<Value>,
}

/// The path of a request.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub enum Path {
    /// Sent unchanged.
    Text(String),
    /// Each segment is escaped.
    Segments(Vec<String>),
}

impl Default for Path {
    fn default() -> Self {
        Self::Text("/".to_owned())
    }
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HttpRequest {
    pub method: String,
    pub path: Path,
    #[serde(default)]
    pub query: BTreeMap<String, String>,
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    #[serde(default, deserialize_with = "present")]
    pub body: Option<Value>,
    pub text: Option<String>,
    /// The response headers to include in the answer.
    #[serde(default)]
    pub tell: Vec<String>,
    /// The items to wait for in a list. All of them must arrive.
    pub until: Option<Sought>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OpenSocket {
    pub socket: String,
    pub stream: Option<BTreeMap<String, String>>,
    pub path: Option<Path>,
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Until {
    pub socket: String,
    pub until: Sought,
    #[serde(rename = "where")]
    pub only: Option<Sought>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Take {
    pub socket: String,
    pub count: usize,
    #[serde(rename = "where")]
    pub only: Option<Sought>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Send {
    pub socket: String,
    pub text: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CloseSocket {
    pub socket: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReadFile {
    pub path: Option<String>,
    pub log: Option<BTreeMap<String, String>>,
    /// The lines to wait for. Unlike messages, all of them must arrive.
    pub until: Option<Sought>,
}

/// The messages to look for: those with these members, or with the members of one of several objects.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub enum Sought {
    One(Map<String, Value>),
    OneOf(Vec<Map<String, Value>>),
}

impl Sought {
    pub fn fits(&self, message: &Value) -> bool {
        match self {
            Self::One(members) => has_all(members, message),
            Self::OneOf(several) => several.iter().any(|members| has_all(members, message)),
        }
    }

    /// Whether each of the sought objects matches one of the lines.
    pub fn all_among(&self, lines: &[Value]) -> bool {
        let among = |members| lines.iter().any(|line| has_all(members, line));
        match self {
            Self::One(members) => among(members),
            Self::OneOf(several) => several.iter().all(among),
        }
    }
}

fn has_all(members: &Map<String, Value>, message: &Value) -> bool {
    members.iter().all(|(key, wanted)| match (wanted, message.get(key)) {
        (Value::Object(inner), Some(found)) => has_all(inner, found),
        (wanted, Some(found)) => wanted == found,
        (_, None) => false,
    })
}

/// Distinguishes `"body": null` from no body.
fn present<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

pub fn read<T: DeserializeOwned>(args: &Value) -> Result<T, String> {
    T::deserialize(args).map_err(|fault| fault.to_string())
}

/// Checks the arguments of a call, after earlier answers are filled in.
pub fn check(operation: &str, args: &Value) -> Result<(), String> {
    let both = |one: bool, other: bool, names: &str| match (one, other) {
        (true, false) | (false, true) => Ok(()),
        _ => Err(format!("it takes exactly one of {names}")),
    };
    match operation {
        "mcp.tool" => read::<Tool>(args).map(drop),
        "mcp.suggestion" => suggestion(args).map(drop),
        "mcp.request" => read::<McpRequest>(args).map(drop),
        "http.request" => {
            let request: HttpRequest = read(args)?;
            if request.until.is_some() && request.method != "GET" {
                return Err("`until` needs the method `GET`, which it sends again".to_owned());
            }
            match (request.body, request.text) {
                (Some(_), Some(_)) => Err("it takes one of `body` and `text`, not both".to_owned()),
                _ => Ok(()),
            }
        }
        "ws.open" => {
            let open: OpenSocket = read(args)?;
            both(open.stream.is_some(), open.path.is_some(), "`stream` and `path`")
        }
        "ws.until" => read::<Until>(args).map(drop),
        "ws.take" => read::<Take>(args).map(drop),
        "ws.send" => read::<Send>(args).map(drop),
        "ws.close" => read::<CloseSocket>(args).map(drop),
        "file.read" => {
            let file: ReadFile = read(args)?;
            match (&file.until, &file.log) {
                (Some(_), None) => {
                    Err("`until` needs a `log`, whose lines it waits for".to_owned())
                }
                _ => both(file.path.is_some(), file.log.is_some(), "`path` and `log`"),
            }
        }
        // Contracts check the arguments of their own operations.
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[rstest]
    #[case(json!({"type": "a"}), true)]
    #[case(json!({"type": "b"}), false)]
    #[case(json!({"patch": {"status": "idle"}}), true)]
    #[case(json!({"patch": {"status": "idle", "more": 1}}), false)]
    #[case(json!([{"type": "b"}, {"type": "a"}]), true)]
    #[case(json!({}), true)]
    fn a_message_fits_when_it_has_the_members(#[case] sought: Value, #[case] fits: bool) {
        let sought: Sought = read(&sought).unwrap();
        assert_eq!(sought.fits(&json!({"type": "a", "patch": {"status": "idle", "n": 1}})), fits);
    }

    #[test]
    fn all_sought_lines_must_be_there() {
        let lines = [json!({"type": "a", "n": 1}), json!({"type": "b"})];
        let among = |sought: Value| read::<Sought>(&sought).unwrap().all_among(&lines);
        assert!(among(json!({"type": "b"})));
        assert!(among(json!([{"type": "a"}, {"type": "b"}])));
        assert!(!among(json!([{"type": "a"}, {"type": "c"}])));
        assert!(!among(json!({"type": "a", "n": 2})));
    }

    #[rstest]
    #[case("http.request", json!({"method": "GET", "path": ["api", "things"]}), true)]
    #[case("http.request", json!({"method": "GET", "path": "/api", "bdy": 1}), false)]
    #[case("http.request", json!({"method": "GET", "path": "/api", "body": null, "text": ""}), false)]
    #[case("http.request", json!({"method": "GET", "path": "/", "until": {"type": "a"}}), true)]
    #[case("http.request", json!({"method": "POST", "path": "/", "until": {"type": "a"}}), false)]
    #[case("ws.open", json!({"socket": "ui"}), false)]
    #[case("ws.open", json!({"socket": "ui", "stream": {"runId": "x"}}), true)]
    #[case("file.read", json!({"path": "a", "log": {"runId": "x"}}), false)]
    #[case("mcp.suggestion", json!({"target": "t", "params": {}, "reason": "…"}), true)]
    #[case("mcp.suggestion", json!({"params": {}}), false)]
    #[case("mcp.suggestion", json!({"suggestions": [{"target": "t", "params": {}}], "at": 0}), true)]
    #[case("mcp.suggestion", json!({"suggestions": [], "at": 1}), true)]
    #[case("mcp.suggestion", json!({"suggestions": ["look again"], "at": 0}), false)]
    #[case("mcp.suggestion", json!({"suggestions": "look again", "at": 0}), false)]
    #[case("file.read", json!({"log": {"runId": "x"}, "until": {"type": "a"}}), true)]
    #[case("file.read", json!({"path": "a", "until": {"type": "a"}}), false)]
    #[case("sage.any", json!(7), true)]
    fn wrong_arguments_are_refused(
        #[case] operation: &str,
        #[case] args: Value,
        #[case] right: bool,
    ) {
        assert_eq!(check(operation, &args).is_ok(), right, "{:?}", check(operation, &args));
    }
}
