//! Chat options and their validation. All faults are reported at once, before a provider is asked.

use sage_errors::{Detail, SageError};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Number, Value};

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    System,
    User,
    Assistant,
    Tool,
}

/// One message of a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChatMessage {
    pub role: Role,
    pub content: String,
    /// In a tool's message: the call that it answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<String>,
}

impl ChatMessage {
    pub fn new(role: Role, content: impl Into<String>) -> Self {
        Self { role, content: content.into(), tool_call_id: None }
    }
}

/// A tool that the model may ask for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolSchema {
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The JSON Schema of its arguments.
    pub parameters: Map<String, Value>,
}

/// A model by name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Model {
    pub name: String,
}

/// A request to a model.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(try_from = "Value")]
pub struct ChatOptions {
    pub model: String,
    pub messages: Vec<ChatMessage>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<ToolSchema>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<Number>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    /// Timeout of the whole stream: all answers of the provider and all tools.
    #[serde(rename = "timeoutMs", skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    #[serde(rename = "requestId", skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
}

impl ChatOptions {
    /// One question to a model, and nothing else.
    pub fn question(model: impl Into<String>, text: impl Into<String>) -> Self {
        let messages = vec![ChatMessage::new(Role::User, text)];
        Self { model: model.into(), messages, ..Self::default() }
    }

    /// # Errors
    /// `EVALIDATION` with a detail for every fault: `messages.0.role`, `tools.1.name`, …
    pub fn from_json(value: &Value) -> Result<Self, SageError> {
        let mut faults = Faults::default();
        let Value::Object(members) = value else {
            faults.note("options", "is not an object", Some(value), "an object");
            return Err(faults.refusal());
        };
        let known =
            ["model", "messages", "tools", "temperature", "max_tokens", "timeoutMs", "requestId"];
        faults.strangers("", members, &known);
        let options = Self {
            model: faults.string("model", members.get("model")),
            messages: faults.each("messages", members.get("messages"), Faults::message),
            tools: members
                .get("tools")
                .map(|tools| faults.each("tools", Some(tools), Faults::tool)),
            temperature: members.get("temperature").and_then(|given| faults.number(given)),
            max_tokens: faults.count("max_tokens", members),
            timeout_ms: faults.count("timeoutMs", members),
            request_id: faults.optional_string("requestId", members.get("requestId")),
        };
        faults.of(&options);
        if faults.0.is_empty() { Ok(options) } else { Err(faults.refusal()) }
    }

    /// Checks what the types do not express.
    ///
    /// # Errors
    /// `EVALIDATION`, as [`Self::from_json`].
    pub(crate) fn check(&self) -> Result<(), SageError> {
        let mut faults = Faults::default();
        faults.of(self);
        if faults.0.is_empty() { Ok(()) } else { Err(faults.refusal()) }
    }
}

impl TryFrom<Value> for ChatOptions {
    type Error = SageError;

    fn try_from(value: Value) -> Result<Self, SageError> {
        Self::from_json(&value)
    }
}

#[derive(Default)]
struct Faults(Vec<Detail>);

impl Faults {
    /// Faults that well-typed options can have, except those already reported.
    fn of(&mut self, options: &ChatOptions) {
        if options.model.is_empty() && !self.is_reported("model") {
            self.note("model", "is empty", None, "the name of a model");
        }
        for (name, count) in [("max_tokens", options.max_tokens), ("timeoutMs", options.timeout_ms)]
        {
            if count == Some(0) {
                self.note(name, "is 0", Some(&0.into()), "a positive integer");
            }
        }
        let tools = options.tools.as_deref().unwrap_or_default();
        for (index, tool) in tools.iter().enumerate() {
            let field = format!("tools.{index}.name");
            let received = tool.name.as_str().into();
            if self.is_reported(&field) || self.is_reported(&format!("tools.{index}")) {
                continue;
            }
            if tool.name.is_empty() {
                self.note(&field, "is empty", Some(&received), "the name of a tool");
            } else if tools[..index].iter().any(|other| other.name == tool.name) {
                self.note(&field, "is the name of two tools", Some(&received), "another name");
            }
        }
    }

    fn is_reported(&self, field: &str) -> bool {
        self.0.iter().any(|detail| detail.field == field)
    }

    fn refusal(self) -> SageError {
        SageError::validation_of(self.0).expect("there is a fault where one is refused")
    }

    fn note(&mut self, field: &str, reason: &str, received: Option<&Value>, expected: &str) {
        let detail = Detail::new(field, reason).expected(expected);
        self.0.push(match received {
            Some(value) => detail.received(value.clone()),
            None => detail,
        });
    }

    /// Unknown members are refused as typos: `max_token` would silently set no limit.
    fn strangers(&mut self, place: &str, members: &Map<String, Value>, known: &[&str]) {
        for name in members.keys().filter(|name| !known.contains(&name.as_str())) {
            let expected = known.join(", ");
            self.note(&format!("{place}{name}"), "is no member here", None, &expected);
        }
    }

    fn string(&mut self, field: &str, given: Option<&Value>) -> String {
        if given.is_none() {
            self.note(field, "is missing", None, "a string");
        }
        self.optional_string(field, given).unwrap_or_default()
    }

    fn optional_string(&mut self, field: &str, given: Option<&Value>) -> Option<String> {
        match given? {
            Value::String(text) => return Some(text.clone()),
            other => self.note(field, "is not a string", Some(other), "a string"),
        }
        None
    }

    fn number(&mut self, given: &Value) -> Option<Number> {
        match given {
            Value::Number(number) => return Some(number.clone()),
            other => self.note("temperature", "is not a number", Some(other), "a number"),
        }
        None
    }

    /// `1.0` is the number 1. Beyond 2^53 a double may not be the number that the caller wrote.
    fn count(&mut self, field: &str, members: &Map<String, Value>) -> Option<u64> {
        const LARGEST: f64 = 9_007_199_254_740_992.0;
        let given = members.get(field)?;
        let count = given.as_u64().or_else(|| {
            let number = given.as_f64()?;
            (number.fract() == 0.0 && (0.0..=LARGEST).contains(&number)).then_some(number as u64)
        });
        if count.is_none() {
            let reason = if given.is_number() { "is not a count" } else { "is not a number" };
            self.note(field, reason, Some(given), "a positive integer");
        }
        count
    }

    /// An array of objects, each parsed by `read`. A wrong element is reported and keeps its place.
    fn each<T>(
        &mut self,
        field: &str,
        given: Option<&Value>,
        read: impl Fn(&mut Self, &str, &Map<String, Value>) -> T,
    ) -> Vec<T> {
        let items = match given {
            Some(Value::Array(items)) => items,
            Some(other) => {
                self.note(field, "is not an array", Some(other), "an array");
                return Vec::new();
            }
            None => {
                self.note(field, "is missing", None, "an array");
                return Vec::new();
            }
        };
        let mut found = Vec::with_capacity(items.len());
        for (index, item) in items.iter().enumerate() {
            let place = format!("{field}.{index}");
            match item {
                Value::Object(members) => found.push(read(self, &place, members)),
                other => {
                    self.note(&place, "is not an object", Some(other), "an object");
                    found.push(read(&mut Self::default(), &place, &Map::new()));
                }
            }
        }
        found
    }

    fn message(&mut self, place: &str, members: &Map<String, Value>) -> ChatMessage {
        self.strangers(&format!("{place}."), members, &["role", "content", "tool_call_id"]);
        ChatMessage {
            role: self.role(&format!("{place}.role"), members.get("role")),
            content: self.string(&format!("{place}.content"), members.get("content")),
            tool_call_id: self
                .optional_string(&format!("{place}.tool_call_id"), members.get("tool_call_id")),
        }
    }

    fn role(&mut self, field: &str, given: Option<&Value>) -> Role {
        match self.optional_string(field, given).as_deref() {
            Some("system") => return Role::System,
            Some("user") => return Role::User,
            Some("assistant") => return Role::Assistant,
            Some("tool") => return Role::Tool,
            Some(_) => self.note(field, "is no role", given, "system, user, assistant or tool"),
            None if given.is_none() => {
                self.note(field, "is missing", None, "system, user, assistant or tool");
            }
            None => {}
        }
        Role::User
    }

    fn tool(&mut self, place: &str, members: &Map<String, Value>) -> ToolSchema {
        self.strangers(&format!("{place}."), members, &["name", "description", "parameters"]);
        let field = format!("{place}.parameters");
        let parameters = match members.get("parameters") {
            Some(Value::Object(parameters)) => parameters.clone(),
            given => {
                let reason = if given.is_some() { "is not an object" } else { "is missing" };
                self.note(&field, reason, given, "a JSON Schema");
                Map::new()
            }
        };
        ToolSchema {
            name: self.string(&format!("{place}.name"), members.get("name")),
            description: self
                .optional_string(&format!("{place}.description"), members.get("description")),
            parameters,
        }
    }
}
