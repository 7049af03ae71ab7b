//! Plays the fakes of one session for a subject, and records their calls.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;

use proofmark_fakes::host::{Host, Reply, Response};
use proofmark_protocol::message::FakeCall;
use proofmark_protocol::{Id, RpcError};
use serde_json::{Value, json};

use super::connection::RpcResult;
use proofmark_judge::Ask;

/// The most recorded calls of fakes that a session may make during one step.
const MOST_ASKS: usize = 1_000;
/// The most items of fakes' streams that it may fetch during one step.
const MOST_PULLS: usize = 10_000;
/// The most items that it may fetch and not pass on.
const MOST_AHEAD: usize = 100;

/// The harness's side of one session: plays the fakes and records their calls.
#[derive(Default)]
pub(crate) struct SessionHost {
    fakes: RefCell<Host>,
    asks: RefCell<Vec<Ask>>,
    /// The number of unrecorded calls since the last [`Self::take_asks`].
    pulls: Cell<usize>,
    /// The fake and the method of the first of them.
    pulled: RefCell<Option<(String, String)>>,
    /// The requests that wait for a fake, by their tickets.
    unanswered: RefCell<HashMap<u64, Id>>,
    tickets: Cell<u64>,
}

impl SessionHost {
    pub(crate) fn new(fakes: Host) -> Self {
        Self { fakes: RefCell::new(fakes), ..Self::default() }
    }

    /// Whether the subject called fakes more often than it may.
    pub(super) fn is_flooded(&self) -> bool {
        self.pulls.get() > MOST_PULLS || self.asks.borrow().len() > MOST_ASKS
    }

    /// Takes the calls since the last time. `read` is the number of items that the subject passed on; if it fetched
    /// far more than that, one more call reports it.
    pub(crate) fn take_asks(&self, read: usize) -> Vec<Ask> {
        let ahead = self.pulls.replace(0).saturating_sub(read);
        let mut asks = self.asks.take();
        let pulled = self.pulled.take();
        if let (true, Some((fake, method))) = (ahead > MOST_AHEAD, pulled) {
            asks.push(Ask { fake, method, args: json!({"unread": ahead}), answer: Value::Null });
        }
        asks
    }

    /// Plays one call of a fake. Returns the answers that are due now.
    pub(super) fn play(&self, id: &Id, call: FakeCall) -> Vec<(Id, RpcResult)> {
        let ticket = self.tickets.get();
        self.tickets.set(ticket + 1);
        let mut fakes = self.fakes.borrow_mut();
        let mut due = Vec::new();
        let (answer, recorded) = match fakes.call(ticket, &call.fake, &call.method, &call.args) {
            Ok(Response::Now { reply, recorded }) => {
                let reply = reply_json(reply);
                due.push((id.clone(), Ok(reply.clone())));
                (reply, recorded)
            }
            Ok(Response::Later { recorded }) => {
                self.unanswered.borrow_mut().insert(ticket, id.clone());
                (Value::Null, recorded)
            }
            Err(message) => {
                let error = RpcError::new(RpcError::INVALID_PARAMS, message.clone());
                due.push((id.clone(), Err(error)));
                (json!({"message": message}), true)
            }
        };
        for (ticket, reply) in fakes.released() {
            let waiting = self.unanswered.borrow_mut().remove(&ticket);
            due.extend(waiting.map(|id| (id, Ok(reply_json(reply)))));
        }
        let FakeCall { fake, method, mut args, .. } = call;
        if recorded {
            // A subject's member order may vary between runs.
            args.sort_all_objects();
            self.asks.borrow_mut().push(Ask { fake, method, args, answer });
        } else {
            self.pulls.set(self.pulls.get() + 1);
            self.pulled.borrow_mut().get_or_insert((fake, method));
        }
        due
    }
}

fn reply_json(reply: Reply) -> Value {
    match reply {
        Ok(value) => json!({"value": value}),
        Err(error) => json!({"error": error}),
    }
}
