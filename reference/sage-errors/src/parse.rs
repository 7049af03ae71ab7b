//! Builds errors of the taxonomy from loose parts, as they come over a wire.

use sage_utils::TypedError;
use serde_json::{Map, Number, Value, json};

use crate::{
    Common, Detail, HaltError, IoError, LockTimeoutError, PermissionError, SageError, TimeoutError,
    ValidationError,
};

impl SageError {
    /// The error that these parts describe. Properties beyond the taxonomy are kept.
    ///
    /// For `EIO` a property `code` is the system's code, which becomes `cause.code`.
    ///
    /// # Errors
    /// `EVALIDATION`, with a detail for each property that is missing or of the wrong type, and for
    /// each that would hide the error's own `name`, `code`, `message` or `cause`.
    pub fn from_parts(
        code: &str,
        message: &str,
        properties: Map<String, Value>,
        cause: Option<Value>,
    ) -> Result<Self, Self> {
        let mut take = Take { properties, wrong: Vec::new() };
        // Each arm reads everything before it checks, so that all faults are reported.
        let mut error = match code {
            "EVALIDATION" => {
                let details = take.details();
                take.finish(|common| {
                    Some(Self::Validation(Box::new(ValidationError::from_parts(details?, common))))
                })
            }
            "EPERMISSION" => {
                let resource = take.string("resource");
                let operation = take.string("operation");
                let policy = take.optional_string("policy");
                take.finish(|common| {
                    let (resource, operation) = (resource?, operation?);
                    Some(Self::Permission(Box::new(PermissionError {
                        resource,
                        operation,
                        policy,
                        common,
                    })))
                })
            }
            "ETIMEOUT" => {
                let timeout_ms = take.number("timeoutMs");
                let elapsed_ms = take.number("elapsedMs");
                let operation = take.string("operation");
                take.finish(|common| {
                    let (timeout_ms, elapsed_ms) = (timeout_ms?, elapsed_ms?);
                    let operation = operation?;
                    Some(Self::Timeout(Box::new(TimeoutError {
                        timeout_ms,
                        elapsed_ms,
                        operation,
                        common,
                    })))
                })
            }
            "EIO" => {
                let path = take.optional_string("path");
                let operation = take.string("operation");
                let system_code = take.optional_string("code");
                take.finish(|common| {
                    let operation = operation?;
                    Some(Self::Io(Box::new(IoError { path, operation, common })))
                })
                .map(|error| match system_code {
                    Some(code) => error.with_cause(json!({ "code": code })),
                    None => error,
                })
            }
            "ELOCK_TIMEOUT" => {
                let path = take.string("path");
                let timeout_ms = take.number("timeoutMs");
                let holder = take.optional_string("holder");
                take.finish(|common| {
                    let (path, timeout_ms) = (path?, timeout_ms?);
                    Some(Self::LockTimeout(Box::new(LockTimeoutError {
                        path,
                        timeout_ms,
                        holder,
                        common,
                    })))
                })
            }
            "EHALT" => {
                let invariant = take.string("invariant");
                let expected = take.any("expected");
                let actual = take.any("actual");
                let context = take.context();
                take.finish(|common| {
                    let (invariant, expected, actual) = (invariant?, expected?, actual?);
                    Some(Self::Halt(Box::new(HaltError {
                        invariant,
                        expected,
                        actual,
                        context,
                        common,
                    })))
                })
            }
            unknown => Err(Self::validation(
                Detail::new("code", "is no code of the taxonomy")
                    .received(unknown)
                    .expected(json!(Self::CODES)),
            )),
        }?;
        error.common_mut().message = message.to_owned();
        error.common_mut().cause = join(error.cause().cloned(), cause);
        Ok(error)
    }
}

/// The cause of an `EIO` holds the system's code besides whatever else is known.
fn join(system: Option<Value>, given: Option<Value>) -> Option<Value> {
    let Some(Value::Object(mut system)) = system else { return given };
    match given {
        None => {}
        Some(Value::Object(given)) if !given.contains_key("code") => system.extend(given),
        Some(given) => {
            system.insert("cause".to_owned(), given);
        }
    }
    Some(Value::Object(system))
}

/// Takes properties one by one and collects their faults.
struct Take {
    properties: Map<String, Value>,
    wrong: Vec<Detail>,
}

impl Take {
    fn any(&mut self, name: &str) -> Option<Value> {
        let value = self.properties.shift_remove(name);
        if value.is_none() {
            self.wrong.push(Detail::new(name, "is missing"));
        }
        value
    }

    fn string(&mut self, name: &str) -> Option<String> {
        if !self.properties.contains_key(name) {
            self.wrong.push(Detail::new(name, "is missing").expected("string"));
        }
        self.optional_string(name)
    }

    fn optional_string(&mut self, name: &str) -> Option<String> {
        match self.properties.shift_remove(name)? {
            Value::String(text) => Some(text),
            other => self.mistyped(name, "a string", other),
        }
    }

    fn number(&mut self, name: &str) -> Option<Number> {
        match self.properties.shift_remove(name) {
            Some(Value::Number(number)) => Some(number),
            Some(other) => self.mistyped(name, "a number", other),
            None => {
                self.wrong.push(Detail::new(name, "is missing").expected("number"));
                None
            }
        }
    }

    fn context(&mut self) -> Option<Map<String, Value>> {
        let context = match self.properties.shift_remove("context")? {
            Value::Object(context) => context,
            other => return self.mistyped("context", "an object", other),
        };
        for name in ["graphCommit", "chroniclePath"] {
            if let Some(value) = context.get(name).filter(|value| !value.is_string()) {
                self.mistyped::<()>(&format!("context.{name}"), "a string", value.clone());
            }
        }
        Some(context)
    }

    fn details(&mut self) -> Option<Vec<Detail>> {
        let items = match self.properties.shift_remove("details") {
            Some(Value::Array(items)) => items,
            Some(other) => return self.mistyped("details", "an array", other),
            None => {
                self.wrong.push(Detail::new("details", "is missing").expected("array"));
                return None;
            }
        };
        let details = items.into_iter().enumerate();
        details.map(|(index, item)| self.detail(&format!("details[{index}]"), item)).collect()
    }

    fn detail(&mut self, place: &str, item: Value) -> Option<Detail> {
        let mut inner = match item {
            Value::Object(properties) => Take { properties, wrong: Vec::new() },
            other => return self.mistyped(place, "an object", other),
        };
        let field = inner.string("field");
        let reason = inner.string("reason");
        let received = inner.properties.shift_remove("received");
        let expected = inner.properties.shift_remove("expected");
        for name in inner.properties.keys() {
            inner.wrong.push(Detail::new(name, "is no member of a detail"));
        }
        self.wrong.extend(
            inner
                .wrong
                .into_iter()
                .map(|wrong| Detail { field: format!("{place}.{}", wrong.field), ..wrong }),
        );
        Some(Detail { field: field?, reason: reason?, received, expected })
    }

    fn mistyped<T>(&mut self, name: &str, right: &str, received: Value) -> Option<T> {
        let kind = right.trim_start_matches("an ").trim_start_matches("a ");
        let reason = format!("must be {right}");
        self.wrong.push(Detail::new(name, reason).received(received).expected(kind));
        None
    }

    /// Returns the error that `build` makes, unless there were faults. Properties not taken are kept.
    fn finish(
        mut self,
        build: impl FnOnce(Common) -> Option<SageError>,
    ) -> Result<SageError, SageError> {
        for name in TypedError::OWN_MEMBERS {
            if self.properties.contains_key(name) {
                let reason = format!("would hide the error's own `{name}`; name it otherwise");
                self.wrong.push(Detail::new(name, reason));
            }
        }
        match SageError::validation_of(self.wrong) {
            Some(refusal) => Err(refusal),
            None => Ok(build(Common::with_extra(self.properties))
                .expect("a property is absent only where something was noted as wrong")),
        }
    }
}
