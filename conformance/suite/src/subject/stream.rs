//! The items that calls stream before their answers.

use std::collections::HashMap;

use proofmark_protocol::Id;
use proofmark_protocol::message::Event;
use serde_json::Value;

use proofmark_judge::Fault;

/// The most items in the stream of one call, and the most bytes of their lines.
const MOST_ITEMS: usize = 20_000;
const MOST_BYTES: usize = 64 * 1024 * 1024;

/// The streams of the pending calls.
#[derive(Default)]
pub(super) struct Streams(HashMap<i64, Stream>);

struct Stream {
    session: String,
    items: Vec<Value>,
    bytes: usize,
}

impl Streams {
    pub(super) fn open(&mut self, call: i64, session: &str) {
        let stream = Stream { session: session.to_owned(), items: Vec::new(), bytes: 0 };
        self.0.insert(call, stream);
    }

    /// Ends a stream and returns its items, in order.
    pub(super) fn close(&mut self, call: i64) -> Vec<Value> {
        self.0.remove(&call).map(|stream| stream.items).unwrap_or_default()
    }

    /// Adds an item to a call's stream. It must precede the call's answer and name the call's session.
    pub(super) fn take(&mut self, params: Value, bytes: usize) -> Result<(), Fault> {
        let bad = |message: String| Fault::BadAnswer { to: "event".to_owned(), message };
        let event: Event =
            serde_json::from_value(params).map_err(|fault| bad(fault.to_string()))?;
        let Id::Number(call) = event.call else {
            let message = format!("`call` is {:?}, but the harness's ids are integers", event.call);
            return Err(bad(message));
        };
        let Some(stream) = self.0.get_mut(&call) else {
            return Err(bad(format!("it belongs to call {call}, which is not in progress")));
        };
        if stream.session != event.session {
            return Err(bad(format!(
                "it names session `{}`, but call {call} is of session `{}`",
                event.session, stream.session
            )));
        }
        stream.items.push(event.item);
        stream.bytes += bytes;
        let flooded = stream.items.len() > MOST_ITEMS || stream.bytes > MOST_BYTES;
        if flooded { Err(Fault::Flooded) } else { Ok(()) }
    }
}
