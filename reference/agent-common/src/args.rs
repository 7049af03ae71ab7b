//! The arguments of a tool, declared once for both the schema and the check.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::budget::{MOST_LIMIT, cut};
use crate::ids::{ConflictId, PlanId, StepId, StepPath, TaskId};
use crate::names::{
    BranchName, GraphNodeId, GraphRel, GraphType, NameError, PATH_PATTERN, WorkspaceId,
};
use crate::records::Status;
use crate::refusal::{Code, Refusal};

/// Limit of the caller's bytes that a message repeats.
const MOST_QUOTED: u64 = 80;

/// As much of the caller's input as a message repeats.
pub(crate) fn quoted(text: &str) -> &str {
    cut(text, MOST_QUOTED)
}

/// What is wrong with the value of a member.
pub(crate) enum Fault {
    /// It has the wrong type, or is out of bounds.
    Input(String),
    /// It is a name that the caller chose badly.
    Name(NameError),
}

/// A kind of member.
pub(crate) trait Argument: Sized {
    fn schema() -> Value;
    fn read(value: &Value) -> Result<Self, Fault>;
}

/// A member that a tool takes.
pub(crate) struct Member {
    pub(crate) name: &'static str,
    required: bool,
    schema: fn() -> Value,
    check: fn(&Value) -> Result<(), Fault>,
}

fn check<T: Argument>(value: &Value) -> Result<(), Fault> {
    T::read(value).map(|_| ())
}

/// A member that must be there.
pub(crate) const fn required<T: Argument>(name: &'static str) -> Member {
    Member { name, required: true, schema: T::schema, check: check::<T> }
}

/// A member that may be absent; `null` does not count as absent.
pub(crate) const fn optional<T: Argument>(name: &'static str) -> Member {
    Member { name, required: false, schema: T::schema, check: check::<T> }
}

/// The schema of a tool that takes these members and no others.
pub(crate) fn schema(members: &[Member]) -> Value {
    let properties: Map<_, _> =
        members.iter().map(|member| (member.name.to_owned(), (member.schema)())).collect();
    let required: Vec<_> =
        members.iter().filter(|member| member.required).map(|member| member.name).collect();
    json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

/// Arguments that were checked against the members of their tool.
pub(crate) struct Args<'a> {
    members: &'a Map<String, Value>,
}

impl<'a> Args<'a> {
    /// Checks that the tool takes each member of `arguments`, and that each is valid.
    pub(crate) fn check(members: &[Member], arguments: &'a Value) -> Result<Self, Refusal> {
        let Value::Object(given) = arguments else {
            return Err(Refusal::invalid_input(format!(
                "arguments must be an object, and are {}",
                kind(arguments)
            )));
        };
        if let Some(name) = given.keys().find(|name| members.iter().all(|m| m.name != **name)) {
            let taken: Vec<_> = members.iter().map(|member| member.name).collect();
            return Err(Refusal::invalid_input(format!(
                "there is no member `{}`; there are `{}`",
                quoted(name),
                taken.join("`, `")
            )));
        }
        let missing = |member: &&Member| member.required && !given.contains_key(member.name);
        if let Some(member) = members.iter().find(missing) {
            return Err(Refusal::invalid_input(format!("`{}` is missing", member.name)));
        }
        for member in members {
            if let Some(value) = given.get(member.name) {
                (member.check)(value).map_err(|fault| refusal(member.name, fault))?;
            }
        }
        Ok(Self { members: given })
    }

    /// The members as received.
    pub(crate) fn as_given(&self) -> &'a Map<String, Value> {
        self.members
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.members.contains_key(name)
    }

    /// A member that the tool takes as optional.
    pub(crate) fn optional<T: Argument>(&self, name: &str) -> Result<Option<T>, Refusal> {
        let value = self.members.get(name);
        value.map(|value| T::read(value).map_err(|fault| refusal(name, fault))).transpose()
    }

    /// A member that the tool takes as required.
    pub(crate) fn required<T: Argument>(&self, name: &str) -> Result<T, Refusal> {
        let missing = || Refusal::invalid_input(format!("`{name}` is missing"));
        self.optional(name)?.ok_or_else(missing)
    }
}

fn refusal(name: &str, fault: Fault) -> Refusal {
    match fault {
        Fault::Input(reason) => Refusal::invalid_input(format!("`{name}`: {reason}")),
        Fault::Name(error) => {
            Refusal::new(Code::InvalidName, format!("`{name}`: {error}"), "choose another name")
        }
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

fn other_kind(expected: &str, value: &Value) -> Fault {
    Fault::Input(format!("must be {expected}, and is {}", kind(value)))
}

fn string(value: &Value) -> Result<&str, Fault> {
    value.as_str().ok_or_else(|| other_kind("a string", value))
}

macro_rules! names {
    ($($name:ty: $schema:tt;)*) => {
        $(impl Argument for $name {
            fn schema() -> Value {
                json!($schema)
            }

            fn read(value: &Value) -> Result<Self, Fault> {
                Self::parse(string(value)?).map_err(Fault::Name)
            }
        })*
    };
}

// White space around a graph id is allowed, so a schema cannot count its characters.
names! {
    WorkspaceId: { "type": "string", "minLength": 1, "maxLength": WorkspaceId::MOST, "pattern": PATH_PATTERN };
    BranchName: { "type": "string", "minLength": 1, "maxLength": BranchName::MOST, "pattern": PATH_PATTERN };
    GraphNodeId: { "type": "string", "minLength": 1, "description": "at most 256 characters, no `|`, no control characters" };
    GraphType: { "type": "string", "minLength": 1, "description": "at most 128 characters, no control characters" };
    GraphRel: { "type": "string", "minLength": 1, "description": "at most 128 characters, no `|`, no control characters" };
}

macro_rules! ids {
    ($($name:ty),*) => {
        $(impl Argument for $name {
            fn schema() -> Value {
                json!({ "type": "string", "pattern": Self::PATTERN })
            }

            fn read(value: &Value) -> Result<Self, Fault> {
                Self::parse(string(value)?).map_err(|error| Fault::Input(error.to_string()))
            }
        })*
    };
}

ids!(PlanId, TaskId, StepId, StepPath, ConflictId);

/// A title: 1 to 500 characters.
pub(crate) struct Title(pub(crate) String);

impl Title {
    const MOST: usize = 500;
}

impl Argument for Title {
    fn schema() -> Value {
        json!({ "type": "string", "minLength": 1, "maxLength": Self::MOST })
    }

    fn read(value: &Value) -> Result<Self, Fault> {
        let text = string(value)?;
        match text.chars().count() {
            1..=Self::MOST => Ok(Self(text.to_owned())),
            found => Err(Fault::Input(format!(
                "must have 1 to {} characters, and has {found}",
                Self::MOST
            ))),
        }
    }
}

/// Any text.
impl Argument for String {
    fn schema() -> Value {
        json!({ "type": "string" })
    }

    fn read(value: &Value) -> Result<Self, Fault> {
        string(value).map(str::to_owned)
    }
}

impl Argument for bool {
    fn schema() -> Value {
        json!({ "type": "boolean" })
    }

    fn read(value: &Value) -> Result<Self, Fault> {
        value.as_bool().ok_or_else(|| other_kind("a boolean", value))
    }
}

/// An integer of at least 0. One that is too large for us exceeds everything here, so it becomes the largest.
impl Argument for u64 {
    fn schema() -> Value {
        json!({ "type": "integer", "minimum": 0 })
    }

    fn read(value: &Value) -> Result<Self, Fault> {
        let Value::Number(number) = value else { return Err(other_kind("an integer", value)) };
        // As in JSON Schema, 1.0 is an integer.
        let whole = |float: &f64| float.fract() == 0.0 && *float >= 0.0;
        number
            .as_u64()
            .or_else(|| number.as_f64().filter(whole).map(|float| float as u64))
            .ok_or_else(|| Fault::Input(format!("must be an integer of 0 or more, not {number}")))
    }
}

/// How many items a list may show.
pub(crate) struct Limit(pub(crate) u64);

impl Argument for Limit {
    fn schema() -> Value {
        json!({ "type": "integer", "minimum": 1, "maximum": MOST_LIMIT })
    }

    fn read(value: &Value) -> Result<Self, Fault> {
        match u64::read(value)? {
            limit @ 1..=MOST_LIMIT => Ok(Self(limit)),
            other => Err(Fault::Input(format!("must be 1 to {MOST_LIMIT}, not {other}"))),
        }
    }
}

fn one_of<T: Copy>(words: &[(&str, T)], value: &Value) -> Result<T, Fault> {
    let text = string(value)?;
    let found = words.iter().find(|(word, _)| *word == text);
    found.map(|(_, meaning)| *meaning).ok_or_else(|| {
        let words: Vec<_> = words.iter().map(|(word, _)| *word).collect();
        Fault::Input(format!("must be one of `{}`", words.join("`, `")))
    })
}

impl Argument for Status {
    fn schema() -> Value {
        json!({ "enum": [Self::Open, Self::Done] })
    }

    fn read(value: &Value) -> Result<Self, Fault> {
        one_of(&[("open", Self::Open), ("done", Self::Done)], value)
    }
}

/// Which side of a conflict is kept.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Take {
    Ours,
    Theirs,
}

impl Argument for Take {
    fn schema() -> Value {
        json!({ "enum": ["ours", "theirs"] })
    }

    fn read(value: &Value) -> Result<Self, Fault> {
        one_of(&[("ours", Self::Ours), ("theirs", Self::Theirs)], value)
    }
}

/// The checkpoints that a patch names, and their new values.
pub(crate) struct Confirm {
    pub(crate) criteria: Option<bool>,
    pub(crate) tests: Option<bool>,
}

impl Argument for Confirm {
    fn schema() -> Value {
        json!({
            "type": "object",
            "properties": { "criteria": bool::schema(), "tests": bool::schema() },
            "minProperties": 1,
            "additionalProperties": false,
        })
    }

    fn read(value: &Value) -> Result<Self, Fault> {
        let Value::Object(members) = value else { return Err(other_kind("an object", value)) };
        let known = |name: &String| name == "criteria" || name == "tests";
        if members.is_empty() || !members.keys().all(known) {
            return Err(Fault::Input("must name `criteria`, `tests` or both, and no other".into()));
        }
        let read = |name| members.get(name).map(bool::read).transpose();
        Ok(Self { criteria: read("criteria")?, tests: read("tests")? })
    }
}

/// The properties of a node: strings by name.
pub(crate) type Props = BTreeMap<String, String>;

impl Argument for Props {
    fn schema() -> Value {
        json!({ "type": "object", "additionalProperties": { "type": "string" } })
    }

    fn read(value: &Value) -> Result<Self, Fault> {
        let Value::Object(members) = value else { return Err(other_kind("an object", value)) };
        let read = |(name, value): (&String, &Value)| match value {
            Value::String(text) => Ok((name.clone(), text.clone())),
            other => {
                let name = quoted(name);
                Err(Fault::Input(format!("`{name}` must be a string, and is {}", kind(other))))
            }
        };
        members.iter().map(read).collect()
    }
}
