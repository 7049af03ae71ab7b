//! The result of a tool.

use sage_errors::{Detail, SageError};
use sage_utils::{Iso8601, TypedError};
use serde_json::{Map, Value, json};

/// The outcome of one call of a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolResult {
    pub ok: bool,
    pub data: Option<Value>,
    pub error: Option<ToolError>,
    pub meta: Option<Meta>,
}

/// Start and end, by the injected clock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Meta {
    pub started_at: Iso8601,
    pub ended_at: Iso8601,
    pub duration_ms: i64,
}

/// Why a tool failed: a code, a message, and the properties of the code.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolError {
    pub code: String,
    pub message: String,
    pub properties: Map<String, Value>,
}

impl ToolResult {
    /// It worked, and this came of it.
    pub fn done(data: Value) -> Self {
        Self { ok: true, data: Some(data), error: None, meta: None }
    }

    /// It did not work.
    pub fn failed(error: impl Into<ToolError>) -> Self {
        Self { ok: false, data: None, error: Some(error.into()), meta: None }
    }

    /// Parses a result from another process.
    ///
    /// # Errors
    /// `EVALIDATION` if it is invalid: `ok` is required, and `error` if `ok` is false.
    pub fn from_json(value: &Value) -> Result<Self, SageError> {
        let refuse = |field: &str, reason: &str| {
            Err(SageError::validation(Detail::new(field, reason).expected("a ToolResult")))
        };
        let Some(ok) = value.get("ok").and_then(Value::as_bool) else {
            return refuse("ok", "must be true or false");
        };
        let error = match value.get("error") {
            None => None,
            Some(error) => match ToolError::from_json(error) {
                Some(error) => Some(error),
                None => return refuse("error", "must have a `code` and a `message`, both strings"),
            },
        };
        if !ok && error.is_none() {
            return refuse("error", "is missing though `ok` is false");
        }
        Ok(Self { ok, data: value.get("data").cloned(), error, meta: None })
    }

    /// `{ok, data?, error?, meta?}`.
    pub fn to_json(&self) -> Value {
        let mut json = Map::new();
        json.insert("ok".to_owned(), self.ok.into());
        if let Some(data) = &self.data {
            json.insert("data".to_owned(), data.clone());
        }
        if let Some(error) = &self.error {
            json.insert("error".to_owned(), error.to_json());
        }
        if let Some(meta) = &self.meta {
            json.insert("meta".to_owned(), meta.to_json());
        }
        Value::Object(json)
    }
}

impl From<Result<Value, SageError>> for ToolResult {
    fn from(outcome: Result<Value, SageError>) -> Self {
        match outcome {
            Ok(data) => Self::done(data),
            Err(error) => Self::failed(error),
        }
    }
}

impl Meta {
    /// `None` if a clock returned something that is not a time.
    pub(crate) fn between(started_at: Iso8601, ended_at: Iso8601) -> Option<Self> {
        let start: jiff::Timestamp = started_at.parse().ok()?;
        let end: jiff::Timestamp = ended_at.parse().ok()?;
        let duration_ms = i64::try_from(end.duration_since(start).as_millis()).ok()?;
        Some(Self { started_at, ended_at, duration_ms })
    }

    fn to_json(&self) -> Value {
        json!({
            "startedAt": self.started_at,
            "endedAt": self.ended_at,
            "durationMs": self.duration_ms,
        })
    }
}

impl ToolError {
    /// A flat object with a `code` and a `message`.
    pub fn from_json(value: &Value) -> Option<Self> {
        let mut properties = value.as_object()?.clone();
        let Some(Value::String(code)) = properties.shift_remove("code") else { return None };
        let Some(Value::String(message)) = properties.shift_remove("message") else { return None };
        Some(Self { code, message, properties })
    }

    /// Flat: `code`, `message`, then the properties.
    pub fn to_json(&self) -> Value {
        let mut json = Map::new();
        json.insert("code".to_owned(), self.code.clone().into());
        json.insert("message".to_owned(), self.message.clone().into());
        json.extend(self.properties.clone());
        Value::Object(json)
    }
}

impl From<TypedError> for ToolError {
    fn from(error: TypedError) -> Self {
        let mut properties = error.properties().clone();
        if let Some(cause) = error.cause() {
            properties.insert("cause".to_owned(), cause.clone());
        }
        Self { code: error.code().to_owned(), message: error.message().to_owned(), properties }
    }
}

impl From<SageError> for ToolError {
    fn from(error: SageError) -> Self {
        TypedError::from(error).into()
    }
}
