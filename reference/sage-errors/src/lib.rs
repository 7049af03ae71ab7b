//! The error taxonomy that all sage contracts share: six codes, each with its own properties.
//!
//! Every code is a type that cannot be built without the properties that the taxonomy demands, so
//! an error that forgets one does not compile. At the edge an error is one flat JSON object:
//! `name`, `code`, `message`, the properties, and `cause` when there is one.
//!
//! `proofmark show sage.errors` lists the promises that it keeps.
//!
//! Decided here: the taxonomy lists for `EIO` a property `code`, the system's code such as
//! `ENOENT`, but `code` is already the error's own. The error's own stays `EIO`, and the system's
//! code is kept as `cause.code`.
//!
//! Left open: the wording of messages.

mod kinds;
mod parse;
mod system;

pub use kinds::{
    Common, Detail, HaltError, IoError, LockTimeoutError, PermissionError, TimeoutError,
    ValidationError,
};

use std::fmt;

use sage_utils::{CanonicalError, TypedError};
use serde::{Serialize, Serializer};
use serde_json::{Map, Number, Value, json};

/// An error of the taxonomy.
#[derive(Debug, Clone, PartialEq)]
pub enum SageError {
    /// `EVALIDATION`: an argument or a document is not of the right form.
    Validation(Box<ValidationError>),
    /// `EPERMISSION`: a path or a policy forbids it.
    Permission(Box<PermissionError>),
    /// `ETIMEOUT`: a tool or a provider took too long.
    Timeout(Box<TimeoutError>),
    /// `EIO`: a file system, a database or a network failed.
    Io(Box<IoError>),
    /// `ELOCK_TIMEOUT`: a chronicle stayed locked.
    LockTimeout(Box<LockTimeoutError>),
    /// `EHALT`: an invariant does not hold; stop and report.
    Halt(Box<HaltError>),
}

impl SageError {
    /// Every code of the taxonomy, in the order of the text.
    pub const CODES: [&str; 6] =
        ["EVALIDATION", "EPERMISSION", "ETIMEOUT", "EIO", "ELOCK_TIMEOUT", "EHALT"];

    /// One thing is wrong with what was given.
    pub fn validation(detail: Detail) -> Self {
        Self::Validation(Box::new(ValidationError::new(detail, [])))
    }

    /// Everything that is wrong with what was given; `None` when nothing is.
    pub fn validation_of(details: impl IntoIterator<Item = Detail>) -> Option<Self> {
        let mut details = details.into_iter();
        let first = details.next()?;
        Some(Self::Validation(Box::new(ValidationError::new(first, details))))
    }

    /// `operation` on `resource` is forbidden, by `policy` if that is known.
    pub fn permission(
        resource: impl Into<String>,
        operation: impl Into<String>,
        policy: Option<String>,
    ) -> Self {
        let (resource, operation) = (resource.into(), operation.into());
        let common = Common::new(match &policy {
            Some(policy) => format!("`{operation}` of `{resource}` is denied by `{policy}`"),
            None => format!("`{operation}` of `{resource}` is denied"),
        });
        Self::Permission(Box::new(PermissionError { resource, operation, policy, common }))
    }

    /// `operation` ran for `elapsed_ms` and had `timeout_ms`.
    pub fn timeout(
        operation: impl Into<String>,
        timeout_ms: impl Into<Number>,
        elapsed_ms: impl Into<Number>,
    ) -> Self {
        let (operation, timeout_ms, elapsed_ms) =
            (operation.into(), timeout_ms.into(), elapsed_ms.into());
        let common = Common::new(format!(
            "`{operation}` did not finish within {timeout_ms} ms; it ran for {elapsed_ms} ms"
        ));
        Self::Timeout(Box::new(TimeoutError { timeout_ms, elapsed_ms, operation, common }))
    }

    /// `operation` on `path` failed with the system error `error`.
    pub fn io(
        operation: impl Into<String>,
        path: impl Into<String>,
        error: &std::io::Error,
    ) -> Self {
        let (operation, path) = (operation.into(), path.into());
        let mut common = Common::new(format!("`{operation}` of `{path}` failed: {error}"));
        common.cause = system::code(error).map(|code| json!({ "code": code }));
        Self::Io(Box::new(IoError { path: Some(path), operation, common }))
    }

    /// The chronicle at `path` stayed locked for `timeout_ms`, by `holder` if that is known.
    pub fn lock_timeout(
        path: impl Into<String>,
        timeout_ms: impl Into<Number>,
        holder: Option<String>,
    ) -> Self {
        let (path, timeout_ms) = (path.into(), timeout_ms.into());
        let common = Common::new(match &holder {
            Some(holder) => {
                format!("`{path}` stayed locked by `{holder}` for {timeout_ms} ms; try again later")
            }
            None => format!("`{path}` stayed locked for {timeout_ms} ms; try again later"),
        });
        Self::LockTimeout(Box::new(LockTimeoutError { path, timeout_ms, holder, common }))
    }

    /// `invariant` does not hold: `actual` was found where `expected` should be.
    pub fn halt(invariant: impl Into<String>, expected: Value, actual: Value) -> Self {
        let invariant = invariant.into();
        let common = Common::new(format!("invariant does not hold: {invariant}"));
        Self::Halt(Box::new(HaltError { invariant, expected, actual, context: None, common }))
    }

    /// The same error with another message.
    #[must_use]
    pub fn with_message(mut self, message: impl Into<String>) -> Self {
        self.common_mut().message = message.into();
        self
    }

    /// The same error with this cause.
    #[must_use]
    pub fn with_cause(mut self, cause: Value) -> Self {
        self.common_mut().cause = Some(cause);
        self
    }

    /// The code of the taxonomy, such as `EVALIDATION`.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Validation(_) => "EVALIDATION",
            Self::Permission(_) => "EPERMISSION",
            Self::Timeout(_) => "ETIMEOUT",
            Self::Io(_) => "EIO",
            Self::LockTimeout(_) => "ELOCK_TIMEOUT",
            Self::Halt(_) => "EHALT",
        }
    }

    /// The name of the error, such as `ValidationError`.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Validation(_) => "ValidationError",
            Self::Permission(_) => "PermissionError",
            Self::Timeout(_) => "TimeoutError",
            Self::Io(_) => "IOError",
            Self::LockTimeout(_) => "LockTimeoutError",
            Self::Halt(_) => "HaltError",
        }
    }

    /// What went wrong, for people.
    pub fn message(&self) -> &str {
        &self.common().message
    }

    /// What lies behind the error, if anything is known.
    pub fn cause(&self) -> Option<&Value> {
        self.common().cause.as_ref()
    }

    /// The properties as they stand in the JSON form, those beyond the taxonomy last.
    pub fn properties(&self) -> Map<String, Value> {
        let mut properties = Map::new();
        match self {
            Self::Validation(error) => error.write(&mut properties),
            Self::Permission(error) => error.write(&mut properties),
            Self::Timeout(error) => error.write(&mut properties),
            Self::Io(error) => error.write(&mut properties),
            Self::LockTimeout(error) => error.write(&mut properties),
            Self::Halt(error) => error.write(&mut properties),
        }
        for (name, value) in self.common().extra() {
            properties.entry(name).or_insert_with(|| value.clone());
        }
        properties
    }

    /// The flat JSON form.
    pub fn to_json(&self) -> Value {
        TypedError::from(self).to_json()
    }

    fn common(&self) -> &Common {
        match self {
            Self::Validation(error) => &error.common,
            Self::Permission(error) => &error.common,
            Self::Timeout(error) => &error.common,
            Self::Io(error) => &error.common,
            Self::LockTimeout(error) => &error.common,
            Self::Halt(error) => &error.common,
        }
    }

    fn common_mut(&mut self) -> &mut Common {
        match self {
            Self::Validation(error) => &mut error.common,
            Self::Permission(error) => &mut error.common,
            Self::Timeout(error) => &mut error.common,
            Self::Io(error) => &mut error.common,
            Self::LockTimeout(error) => &mut error.common,
            Self::Halt(error) => &mut error.common,
        }
    }
}

impl From<&SageError> for TypedError {
    fn from(error: &SageError) -> Self {
        sage_utils::err(error.code(), error.message(), error.cause().cloned())
            .named(error.name())
            .with_properties(error.properties())
            .expect("no property of the taxonomy has such a name, and `Common` keeps none")
    }
}

impl From<SageError> for TypedError {
    fn from(error: SageError) -> Self {
        Self::from(&error)
    }
}

/// A text without a canonical form is a bad argument, by the name `json`.
impl From<CanonicalError> for SageError {
    fn from(error: CanonicalError) -> Self {
        Self::validation(Detail::new("json", error.to_string()))
    }
}

impl Serialize for SageError {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.to_json().serialize(serializer)
    }
}

impl fmt::Display for SageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code(), self.message())
    }
}

impl std::error::Error for SageError {}
