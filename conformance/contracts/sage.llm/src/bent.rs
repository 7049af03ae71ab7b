//! What the wrong and the unusual subjects of this room share.

use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::Value;

use proofmark_room::Subject;
use proofmark_room::bend::{Call, Next, around};

pub(crate) const CHAT: &[&str] = &["llm.createChatStream"];

pub(crate) fn is(item: &Value, kind: &str) -> bool {
    item["type"] == kind
}

/// Replaces each item of every stream.
pub(crate) fn changing(
    subject: Subject,
    change: impl Fn(Value) -> Vec<Value> + Copy + Send + Sync + 'static,
) -> Subject {
    around(subject, CHAT, move |call: Call, args, inner: Next| async move {
        inner.call(call.changing_items(change), args).await
    })
}

pub(crate) fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
