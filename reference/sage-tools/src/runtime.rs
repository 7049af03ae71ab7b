//! Runs one call: look up the tool, ask the policy, inject secrets, validate, execute, redact.

use std::sync::Arc;

use sage_errors::{Detail, SageError};
use sage_utils::Clock;
use serde_json::Value;

use crate::redact::Redactor;
use crate::registry::Registered;
use crate::result::Meta;
use crate::schema::check_depth;
use crate::secrets::Secrets;
use crate::{Registry, ToolContext, ToolError, ToolResult};

/// Runs the tool named `name`. All failures are in the result. Neither the result nor the log contains an injected
/// secret. The clock is read once before and once after.
pub async fn run(
    registry: &Registry,
    clock: &dyn Clock,
    name: &str,
    input: Value,
    context: &ToolContext,
) -> ToolResult {
    let started_at = clock.now();
    let mut result = match registry.get(name) {
        Ok(registered) => call(registered, input, context).await,
        Err(error) => ToolResult::failed(error),
    };
    result.meta = Meta::between(started_at, clock.now());
    result
}

async fn call(registered: &Registered, input: Value, context: &ToolContext) -> ToolResult {
    if let Err(reason) = check_depth(&input) {
        return ToolResult::failed(SageError::validation(Detail::new("input", reason)));
    }
    if let Err(refusal) = permit(registered, &input, context) {
        return ToolResult::failed(refusal);
    }
    let secrets = match &context.secrets {
        None => Secrets::default(),
        Some(provider) => match Secrets::fetch(&input, provider.as_ref()).await {
            Ok(secrets) => secrets,
            Err(error) => return ToolResult::failed(error),
        },
    };
    let redactor = Arc::new(Redactor::of(&secrets));
    let input = secrets.inject(input);
    let result = match registered.validate(input) {
        Err(refusal) => ToolResult::failed(refusal),
        Ok(input) => {
            let mut inner = context.clone();
            inner.redactor = Arc::clone(&redactor);
            registered.tool.execute(input, &inner).await
        }
    };
    ToolResult {
        data: result.data.map(|data| redactor.value(&data)),
        error: result.error.map(|error| redactor.error(error)),
        ..result
    }
}

/// Before any secret is fetched, so that a call without permission learns nothing.
fn permit(registered: &Registered, input: &Value, context: &ToolContext) -> Result<(), ToolError> {
    let tool = &registered.tool;
    match tool.needs_permission(input) {
        Some(access) if !context.permissions.contains(tool.name()) => {
            let policy = format!("`{0}` needs the permission `{0}`", tool.name());
            Err(SageError::permission(access.resource, access.operation, Some(policy)).into())
        }
        _ => Ok(()),
    }
}
