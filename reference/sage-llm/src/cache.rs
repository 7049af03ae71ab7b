//! The prompt cache: repeats a completed answer to the same request.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sage_utils::canonical_json;
use serde_json::{Map, Value};

use crate::{ChatOptions, StreamEvent};

/// The cache key. Besides the request it has the provider and whether a runner was set, because either changes the
/// answer.
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

/// The canonical JSON of model, messages, tools, temperature and max_tokens. Absent members are left out, so they
/// differ from every value.
fn request(options: &ChatOptions) -> String {
    let mut members = Map::new();
    if let Ok(Value::Object(all)) = serde_json::to_value(options) {
        members.extend(all);
    }
    members.shift_remove("requestId");
    members.shift_remove("timeoutMs");
    canonical_json(&Value::Object(members))
}

/// Completed streams. Clones share the cache.
#[derive(Debug, Clone, Default)]
pub(crate) struct Cache(Arc<Mutex<Kept>>);

#[derive(Debug, Default)]
struct Kept {
    streams: HashMap<Arc<Key>, Entry>,
    /// Oldest first.
    order: VecDeque<Arc<Key>>,
    bytes: usize,
}

#[derive(Debug)]
struct Entry {
    events: Arc<[StreamEvent]>,
    /// Roughly, with the key.
    bytes: usize,
}

impl Cache {
    /// Beyond this count or size, the oldest entries are evicted.
    const MOST_STREAMS: usize = 256;
    const MOST_BYTES: usize = 16 << 20;

    pub(crate) fn get(&self, key: &Key) -> Option<Arc<[StreamEvent]>> {
        self.kept().streams.get(key).map(|entry| Arc::clone(&entry.events))
    }

    fn put(&self, key: Key, events: Vec<StreamEvent>, bytes: usize) {
        let (mut kept, key) = (self.kept(), Arc::new(key));
        kept.bytes += bytes;
        let entry = Entry { events: events.into(), bytes };
        match kept.streams.insert(Arc::clone(&key), entry) {
            // The same request was made twice at once. It keeps its age.
            Some(before) => kept.bytes -= before.bytes,
            None => kept.order.push_back(key),
        }
        while kept.order.len() > Self::MOST_STREAMS || kept.bytes > Self::MOST_BYTES {
            let Some(oldest) = kept.order.pop_front() else { break };
            kept.bytes -= kept.streams.remove(&oldest).map_or(0, |entry| entry.bytes);
        }
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Records a stream; it is cached only if it reaches its end.
pub(crate) struct Recorder {
    cache: Cache,
    key: Key,
    events: Vec<StreamEvent>,
    bytes: usize,
}

impl Recorder {
    /// A larger stream is not cached: an endless one would fill the memory, and a large one would evict all others.
    const MOST_BYTES: usize = Cache::MOST_BYTES / 4;

    pub(crate) fn new(cache: Cache, key: Key) -> Self {
        let bytes = size_of::<Key>() + key.provider.len() + key.request.len();
        Self { cache, key, events: Vec::new(), bytes }
    }

    /// Records `event`. After the end, or beyond the limit, the recorder is gone.
    pub(crate) fn note(mut self, event: &StreamEvent) -> Option<Self> {
        self.bytes += size(event);
        if self.bytes > Self::MOST_BYTES {
            return None;
        }
        self.events.push(event.clone());
        if let StreamEvent::End { .. } = event {
            self.cache.put(self.key, self.events, self.bytes);
            return None;
        }
        Some(self)
    }
}

/// The approximate size of an event.
fn size(event: &StreamEvent) -> usize {
    let content = match event {
        StreamEvent::Text { value } => value.len(),
        StreamEvent::ToolCall { tool_name, arguments, call_id } => {
            tool_name.len() + weight(arguments) + call_id.len()
        }
        StreamEvent::ToolResult { call_id, result } => call_id.len() + weight(result),
        StreamEvent::End { .. } => 0,
    };
    size_of::<StreamEvent>() + content
}

fn weight(value: &Value) -> usize {
    let inside = match value {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(weight).sum(),
        Value::Object(members) => {
            let names = members.keys().map(|name| size_of::<String>() + name.len());
            names.sum::<usize>() + members.values().map(weight).sum::<usize>()
        }
        _ => 0,
    };
    size_of::<Value>() + inside
}
