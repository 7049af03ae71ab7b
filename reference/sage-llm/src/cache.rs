//! The prompt cache: a question that was answered in full is answered the same way again.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sage_utils::canonical_json;
use serde_json::{Map, Value};

use crate::{ChatOptions, StreamEvent};

/// What a stream is kept under. Besides the request itself it is who answered and whether somebody ran tools, since
/// the same request has another answer then.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    provider: String,
    with_runner: bool,
    request: String,
}

impl Key {
    pub(crate) fn new(provider: &str, with_runner: bool, options: &ChatOptions) -> Self {
        let request = request(options);
        Self { provider: provider.to_owned(), with_runner, request }
    }
}

/// The canonical JSON of model, messages, tools, temperature and max_tokens. What is absent is left out, so it differs
/// from every value.
fn request(options: &ChatOptions) -> String {
    let mut members = Map::new();
    if let Ok(Value::Object(all)) = serde_json::to_value(options) {
        members.extend(all);
    }
    members.shift_remove("requestId");
    members.shift_remove("timeoutMs");
    canonical_json(&Value::Object(members))
}

/// Streams that reached their end. Clones share what is kept.
#[derive(Debug, Clone, Default)]
pub(crate) struct Cache(Arc<Mutex<Kept>>);

#[derive(Debug, Default)]
struct Kept {
    streams: HashMap<Key, Arc<[StreamEvent]>>,
    /// Oldest first.
    order: VecDeque<Key>,
}

impl Cache {
    /// Beyond this many the oldest one goes.
    pub(crate) const MOST_STREAMS: usize = 256;

    pub(crate) fn get(&self, key: &Key) -> Option<Arc<[StreamEvent]>> {
        self.kept().streams.get(key).cloned()
    }

    fn put(&self, key: Key, events: Vec<StreamEvent>) {
        let mut kept = self.kept();
        if kept.streams.insert(key.clone(), events.into()).is_none() {
            kept.order.push_back(key);
        }
        if kept.order.len() > Self::MOST_STREAMS
            && let Some(oldest) = kept.order.pop_front()
        {
            kept.streams.remove(&oldest);
        }
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Writes a stream down as it passes; it is kept only if it reaches its end.
pub(crate) struct Recorder {
    cache: Cache,
    key: Key,
    events: Vec<StreamEvent>,
    bytes: usize,
}

impl Recorder {
    /// A stream that is larger is not kept: an endless one would fill the memory.
    const MOST_BYTES: usize = 8 << 20;

    pub(crate) fn new(cache: Cache, key: Key) -> Self {
        Self { cache, key, events: Vec::new(), bytes: 0 }
    }

    /// Notes `event`. After the end, or when it is too much, there is no recorder any more.
    pub(crate) fn note(mut self, event: &StreamEvent) -> Option<Self> {
        self.bytes += size(event);
        if self.bytes > Self::MOST_BYTES {
            return None;
        }
        self.events.push(event.clone());
        if let StreamEvent::End { .. } = event {
            self.cache.put(self.key, self.events);
            return None;
        }
        Some(self)
    }
}

/// Roughly what an event takes.
fn size(event: &StreamEvent) -> usize {
    let content = match event {
        StreamEvent::Text { value } => value.len(),
        StreamEvent::ToolCall { arguments, .. } => weight(arguments),
        StreamEvent::ToolResult { result, .. } => weight(result),
        StreamEvent::End { .. } => 0,
    };
    size_of::<StreamEvent>() + content
}

fn weight(value: &Value) -> usize {
    let inside = match value {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(weight).sum(),
        Value::Object(members) => {
            members.iter().map(|(name, item)| name.len() + weight(item)).sum()
        }
        _ => 0,
    };
    size_of::<Value>() + inside
}
