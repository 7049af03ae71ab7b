//! One type for each code. Required properties are plain fields, optional ones are `Option`s, and [`Common`] has what
//! all errors share.

use serde_json::{Map, Number, Value, json};

/// Members of every error, besides its own properties.
#[derive(Debug, Clone, PartialEq)]
pub struct Common {
    /// What went wrong, for people.
    pub message: String,
    /// The cause.
    pub cause: Option<Value>,
    extra: Map<String, Value>,
}

impl Common {
    /// A message, with no cause and nothing beyond the taxonomy.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), cause: None, extra: Map::new() }
    }

    /// Properties beyond the taxonomy, which it allows.
    pub fn extra(&self) -> &Map<String, Value> {
        &self.extra
    }

    /// The caller adds the message, and has made sure that no name is one of the error's own.
    pub(crate) fn with_extra(extra: Map<String, Value>) -> Self {
        Self { message: String::new(), cause: None, extra }
    }
}

/// One fault of the input.
#[derive(Debug, Clone, PartialEq)]
pub struct Detail {
    /// The name of the field that is wrong, such as `actor.id`.
    pub field: String,
    /// What is wrong with it.
    pub reason: String,
    /// The value found there.
    pub received: Option<Value>,
    /// What would be right.
    pub expected: Option<Value>,
}

impl Detail {
    /// `field` is wrong for `reason`.
    pub fn new(field: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { field: field.into(), reason: reason.into(), received: None, expected: None }
    }

    /// The same detail, with what was found there.
    #[must_use]
    pub fn received(mut self, value: impl Into<Value>) -> Self {
        self.received = Some(value.into());
        self
    }

    /// The same detail, with what would be right.
    #[must_use]
    pub fn expected(mut self, value: impl Into<Value>) -> Self {
        self.expected = Some(value.into());
        self
    }

    fn to_json(&self) -> Value {
        let mut json = Map::new();
        json.insert("field".to_owned(), self.field.clone().into());
        json.insert("reason".to_owned(), self.reason.clone().into());
        put(&mut json, "received", self.received.clone());
        put(&mut json, "expected", self.expected.clone());
        Value::Object(json)
    }
}

/// `EVALIDATION`. Built here, it has at least one detail. Received from outside it may have none, because the text
/// requires an array, not a non-empty one.
#[derive(Debug, Clone, PartialEq)]
pub struct ValidationError {
    details: Vec<Detail>,
    pub common: Common,
}

impl ValidationError {
    /// An error with these details. Its message lists all of them.
    pub fn new(first: Detail, others: impl IntoIterator<Item = Detail>) -> Self {
        let mut details = vec![first];
        details.extend(others);
        let reasons: Vec<_> =
            details.iter().map(|detail| format!("`{}`: {}", detail.field, detail.reason)).collect();
        Self { details, common: Common::new(reasons.join("; ")) }
    }

    /// An error received from outside.
    pub(crate) fn from_parts(details: Vec<Detail>, common: Common) -> Self {
        Self { details, common }
    }

    /// What is wrong.
    pub fn details(&self) -> &[Detail] {
        &self.details
    }

    pub(crate) fn write(&self, properties: &mut Map<String, Value>) {
        let details = self.details.iter().map(Detail::to_json).collect();
        properties.insert("details".to_owned(), Value::Array(details));
    }
}

/// `EPERMISSION`.
#[derive(Debug, Clone, PartialEq)]
pub struct PermissionError {
    /// The path or thing that was denied.
    pub resource: String,
    /// What was attempted: `read`, `write`, `execute`, …
    pub operation: String,
    /// The rule that denied it.
    pub policy: Option<String>,
    pub common: Common,
}

impl PermissionError {
    pub(crate) fn write(&self, properties: &mut Map<String, Value>) {
        properties.insert("resource".to_owned(), json!(self.resource));
        properties.insert("operation".to_owned(), json!(self.operation));
        put(properties, "policy", self.policy.clone());
    }
}

/// `ETIMEOUT`.
#[derive(Debug, Clone, PartialEq)]
pub struct TimeoutError {
    /// The time that was allowed.
    pub timeout_ms: Number,
    /// The time that was taken.
    pub elapsed_ms: Number,
    /// What took too long.
    pub operation: String,
    pub common: Common,
}

impl TimeoutError {
    pub(crate) fn write(&self, properties: &mut Map<String, Value>) {
        properties.insert("timeoutMs".to_owned(), json!(self.timeout_ms));
        properties.insert("elapsedMs".to_owned(), json!(self.elapsed_ms));
        properties.insert("operation".to_owned(), json!(self.operation));
    }
}

/// `EIO`. The system's own code is kept as `cause.code`; see [`Self::system_code`].
#[derive(Debug, Clone, PartialEq)]
pub struct IoError {
    /// The file or address, if one was involved.
    pub path: Option<String>,
    /// What failed: `read`, `write`, `connect`, …
    pub operation: String,
    pub common: Common,
}

impl IoError {
    /// The system's code, such as `ENOENT`.
    pub fn system_code(&self) -> Option<&str> {
        self.common.cause.as_ref()?.get("code")?.as_str()
    }

    pub(crate) fn write(&self, properties: &mut Map<String, Value>) {
        put(properties, "path", self.path.clone());
        properties.insert("operation".to_owned(), json!(self.operation));
    }
}

/// `ELOCK_TIMEOUT`.
#[derive(Debug, Clone, PartialEq)]
pub struct LockTimeoutError {
    /// The chronicle that stayed locked.
    pub path: String,
    /// How long the caller waited.
    pub timeout_ms: Number,
    /// Who holds the lock.
    pub holder: Option<String>,
    pub common: Common,
}

impl LockTimeoutError {
    pub(crate) fn write(&self, properties: &mut Map<String, Value>) {
        properties.insert("path".to_owned(), json!(self.path));
        properties.insert("timeoutMs".to_owned(), json!(self.timeout_ms));
        put(properties, "holder", self.holder.clone());
    }
}

/// `EHALT`.
#[derive(Debug, Clone, PartialEq)]
pub struct HaltError {
    /// The invariant that does not hold.
    pub invariant: String,
    /// What should have been found.
    pub expected: Value,
    /// What was found.
    pub actual: Value,
    /// Where: may hold `graphCommit`, `chroniclePath` and anything else.
    pub context: Option<Map<String, Value>>,
    pub common: Common,
}

impl HaltError {
    pub(crate) fn write(&self, properties: &mut Map<String, Value>) {
        properties.insert("invariant".to_owned(), json!(self.invariant));
        properties.insert("expected".to_owned(), self.expected.clone());
        properties.insert("actual".to_owned(), self.actual.clone());
        put(properties, "context", self.context.clone());
    }
}

fn put(json: &mut Map<String, Value>, name: &str, value: Option<impl Into<Value>>) {
    if let Some(value) = value {
        json.insert(name.to_owned(), value.into());
    }
}
