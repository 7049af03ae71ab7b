//! The JSON Schema of a tool's input, and the faults of an input.
//!
//! Schemas are JSON Schema 2020-12; formats are not asserted. A property that the schema does not mention is a fault,
//! unless `additionalProperties`, `unevaluatedProperties` or `patternProperties` allow it. Nothing is fetched:
//! references stay inside the schema.

mod close;
mod limits;
mod shape;

use std::fmt;
use std::sync::Arc;

use jsonschema::error::ValidationErrorKind as Kind;
use jsonschema::paths::Location;
use jsonschema::{Draft, PatternOptions, ValidationError, Validator};
use sage_errors::{Detail, SageError};
use serde_json::Value;

use close::Names;
pub(crate) use limits::check_input as check_depth;

/// Backtracking limit for patterns with look-around. Other patterns are linear anyway.
const MOST_BACKTRACKS: usize = 100_000;
/// A value that is longer than this as JSON is not repeated in an error.
const LONGEST_RECEIVED: usize = 200;

/// A compiled schema of a tool's input. Cheap to clone.
#[derive(Clone)]
pub struct InputSchema {
    validator: Arc<Validator>,
    names: Arc<Names>,
}

impl InputSchema {
    /// # Errors
    /// `EVALIDATION` with the field `schema` when it is no JSON Schema 2020-12 object, refers to
    /// anything outside itself, or is too large or too deep.
    pub fn compile(schema: &Value) -> Result<Self, SageError> {
        let refuse = |reason: String| {
            let detail = Detail::new("schema", reason).expected("an object, a JSON Schema 2020-12");
            SageError::validation(detail)
        };
        limits::check_schema(schema).map_err(refuse)?;
        let (closed, names) = close::close(schema);
        let validator = jsonschema::options()
            .offline()
            .with_draft(Draft::Draft202012)
            .should_validate_formats(false)
            .with_pattern_options(PatternOptions::fancy_regex().backtrack_limit(MOST_BACKTRACKS))
            .build(&closed)
            .map_err(|fault| refuse(describe(&fault)))?;
        Ok(Self { validator: Arc::new(validator), names: Arc::new(names) })
    }

    /// # Errors
    /// `EVALIDATION` with a detail for every fault, in the order of their fields.
    pub fn check(&self, input: &Value) -> Result<(), SageError> {
        if let Err(reason) = limits::check_input(input) {
            return Err(SageError::validation(Detail::new("input", reason)));
        }
        let faults: Vec<_> = self.validator.iter_errors(input).collect();
        let mut details = Vec::new();
        for fault in &faults {
            self.describe(fault, &faults, &mut details);
        }
        if let (true, Some(fault)) = (details.is_empty(), faults.first()) {
            details.push(plain(fault)); // No fault is lost, whatever else was left out.
        }
        details.sort_by(|a, b| (&a.field, &a.reason).cmp(&(&b.field, &b.reason)));
        details.dedup_by(|a, b| a.field == b.field && a.reason == b.reason);
        SageError::validation_of(details).map_or(Ok(()), Err)
    }

    fn describe(
        &self,
        fault: &ValidationError<'_>,
        all: &[ValidationError<'_>],
        details: &mut Vec<Detail>,
    ) {
        let place = fault.instance_path();
        match fault.kind() {
            Kind::Required { property } => {
                let name = property.as_str().unwrap_or_default();
                details.push(Detail::new(field(place, Some(name)), "is missing"));
            }
            Kind::AdditionalProperties { unexpected } => {
                details.extend(unexpected.iter().map(|name| extra(fault, name)));
            }
            Kind::UnevaluatedProperties { unexpected } => {
                // Includes what a failed part of the schema would have allowed.
                let failed = all.iter().any(|other| {
                    !matches!(other.kind(), Kind::UnevaluatedProperties { .. })
                        && is_within(other.instance_path(), place)
                });
                let certain = unexpected.iter().filter(|name| !failed || self.names.never(name));
                details.extend(certain.map(|name| extra(fault, name)));
            }
            Kind::PropertyNames { error } => {
                let name = error.instance().as_str().unwrap_or_default().to_owned();
                let reason = format!("is no legal name: {}", error.masked_with("it"));
                details.push(Detail::new(field(place, Some(&name)), reason));
            }
            _ => details.push(plain(fault)),
        }
    }
}

/// The schema's own text reveals nothing new to its owner.
impl fmt::Debug for InputSchema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InputSchema").finish_non_exhaustive()
    }
}

fn extra(fault: &ValidationError<'_>, name: &str) -> Detail {
    let detail = Detail::new(
        field(fault.instance_path(), Some(name)),
        "is not in the schema; extra properties are rejected",
    );
    match fault.instance().get(name) {
        Some(value) => received(detail, value),
        None => detail,
    }
}

fn plain(fault: &ValidationError<'_>) -> Detail {
    let detail = Detail::new(field(fault.instance_path(), None), describe(fault));
    let detail = received(detail, fault.instance());
    match fault.kind() {
        Kind::Type { kind: jsonschema::error::TypeKind::Single(kind) } => {
            detail.expected(kind.to_string())
        }
        Kind::Enum { options } => detail.expected((**options).clone()),
        Kind::Constant { expected_value } => detail.expected((**expected_value).clone()),
        _ => detail,
    }
}

/// The validator's message without the value, which may be long and is reported as `received`.
fn describe(fault: &ValidationError<'_>) -> String {
    fault.masked_with("it").to_string()
}

fn received(detail: Detail, value: &Value) -> Detail {
    // Containers are not serialized just to be measured.
    let is_short = match value {
        Value::String(text) => text.len() <= LONGEST_RECEIVED,
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
        _ => true,
    };
    if is_short { detail.received(value.clone()) } else { detail }
}

/// `a.b.0`; the input as a whole is `input`.
fn field(place: &Location, name: Option<&str>) -> String {
    let mut parts: Vec<String> = place.iter().map(|segment| segment.to_string()).collect();
    parts.extend(name.map(str::to_owned));
    if parts.is_empty() { "input".to_owned() } else { parts.join(".") }
}

fn is_within(inner: &Location, outer: &Location) -> bool {
    inner
        .as_str()
        .strip_prefix(outer.as_str())
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests;
