use std::fmt;

use serde::{Serialize, Serializer};
use serde_json::{Map, Value, json};

/// An error with a code for machines and a message for people.
///
/// Its JSON form is flat: `name`, `code`, `message`, then the properties, then `cause` when there
/// is one. Those four names belong to the error itself: a property of such a name is refused.
#[derive(Debug, Clone, PartialEq)]
pub struct TypedError(Box<Parts>); // Boxed, so that a `Result` of it stays small.

#[derive(Debug, Clone, PartialEq)]
struct Parts {
    name: String,
    code: String,
    message: String,
    cause: Option<Value>,
    properties: Map<String, Value>,
}

/// Creates a typed error named `TypedError`, without further properties.
pub fn err(
    code: impl Into<String>,
    message: impl Into<String>,
    cause: Option<Value>,
) -> TypedError {
    TypedError(Box::new(Parts {
        name: "TypedError".to_owned(),
        code: code.into(),
        message: message.into(),
        cause,
        properties: Map::new(),
    }))
}

impl TypedError {
    /// The members of the JSON form that are not properties.
    pub const OWN_MEMBERS: [&str; 4] = ["name", "code", "message", "cause"];

    /// The same error under another name, such as `ValidationError`.
    #[must_use]
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.0.name = name.into();
        self
    }

    /// The same error with these properties added.
    ///
    /// # Errors
    /// `EVALIDATION`, naming the first property that would hide one of [`Self::OWN_MEMBERS`].
    pub fn with_properties(mut self, properties: Map<String, Value>) -> Result<Self, Self> {
        if let Some(name) = Self::OWN_MEMBERS.iter().find(|name| properties.contains_key(**name)) {
            let reason = format!("would hide the error's own `{name}`; name it otherwise");
            let mut refusal = err("EVALIDATION", format!("property `{name}` {reason}"), None);
            let details = json!([{ "field": name, "reason": reason }]);
            refusal.0.properties.insert("details".to_owned(), details);
            return Err(refusal);
        }
        self.0.properties.extend(properties);
        Ok(self)
    }

    pub fn name(&self) -> &str {
        &self.0.name
    }

    pub fn code(&self) -> &str {
        &self.0.code
    }

    pub fn message(&self) -> &str {
        &self.0.message
    }

    pub fn cause(&self) -> Option<&Value> {
        self.0.cause.as_ref()
    }

    pub fn properties(&self) -> &Map<String, Value> {
        &self.0.properties
    }

    /// The flat JSON form.
    pub fn to_json(&self) -> Value {
        let mut json = Map::new();
        json.insert("name".to_owned(), self.0.name.clone().into());
        json.insert("code".to_owned(), self.0.code.clone().into());
        json.insert("message".to_owned(), self.0.message.clone().into());
        json.extend(self.0.properties.clone());
        if let Some(cause) = &self.0.cause {
            json.insert("cause".to_owned(), cause.clone());
        }
        Value::Object(json)
    }
}

impl Serialize for TypedError {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.to_json().serialize(serializer)
    }
}

impl fmt::Display for TypedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.0.code, self.0.message)
    }
}

impl std::error::Error for TypedError {}
