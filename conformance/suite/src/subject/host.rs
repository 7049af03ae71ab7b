//! What the harness does for one session: it plays the fakes, and notes what they are asked.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;

use proofmark_fakes::host::{Answer as FakeAnswer, Host, Played};
use proofmark_protocol::message::FakeCall;
use proofmark_protocol::{Id, RpcError};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::connection::Answer;
use crate::transcript::deep;

/// So many calls of fakes may be made in a session during one step, and so many items of fakes' streams
/// be fetched.
const MOST_ASKS: usize = 1_000;
const MOST_PULLS: usize = 10_000;
/// So many of them may be fetched that nobody read.
const MOST_AHEAD: usize = 100;

/// A call of a fake, as the harness saw it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ask {
    pub fake: String,
    pub method: String,
    #[serde(deserialize_with = "deep")]
    pub args: Value,
    /// The fake's answer: `{"value": …}` or `{"error": …}`.
    #[serde(deserialize_with = "deep")]
    pub answer: Value,
}

impl Ask {
    /// Whether it only gives back what was taken.
    pub(crate) fn gives_back(&self) -> bool {
        (self.fake.as_str(), self.method.as_str()) == ("llm", "stop")
    }
}

/// What the harness does for one session: it plays the fakes and writes down what happens.
#[derive(Default)]
pub(crate) struct SessionHost {
    fakes: RefCell<Host>,
    asks: RefCell<Vec<Ask>>,
    /// Calls that are no part of what a case judges, and are only counted.
    pulls: Cell<usize>,
    /// Requests that the fakes have not answered yet, by their tickets.
    unanswered: RefCell<HashMap<u64, Id>>,
    tickets: Cell<u64>,
}

impl SessionHost {
    pub(crate) fn new(fakes: Host) -> Self {
        Self { fakes: RefCell::new(fakes), ..Self::default() }
    }

    /// Whether more was asked than anybody can want.
    pub(super) fn is_flooded(&self) -> bool {
        self.pulls.get() > MOST_PULLS || self.asks.borrow().len() > MOST_ASKS
    }

    /// What was asked since the last look. `read` says how many items came out of it: whoever fetched
    /// far more than that is told as one call more.
    pub(crate) fn take_asks(&self, read: usize) -> Vec<Ask> {
        let ahead = self.pulls.replace(0).saturating_sub(read);
        let mut asks = self.asks.take();
        if ahead > MOST_AHEAD {
            let (fake, method) = ("llm".to_owned(), "next".to_owned());
            asks.push(Ask { fake, method, args: json!({"unread": ahead}), answer: Value::Null });
        }
        asks
    }

    /// Plays one call of a fake, and tells the answers that are due now.
    pub(super) fn play(&self, id: &Id, call: FakeCall) -> Vec<(Id, Answer)> {
        let ticket = self.tickets.get();
        self.tickets.set(ticket + 1);
        let mut fakes = self.fakes.borrow_mut();
        let mut due = Vec::new();
        let (answer, noted) = match fakes.call(ticket, &call.fake, &call.method, &call.args) {
            Ok(FakeAnswer::Now { reply, noted }) => {
                let reply = reply_of(reply);
                due.push((id.clone(), Ok(reply.clone())));
                (reply, noted)
            }
            Ok(FakeAnswer::Later { noted }) => {
                self.unanswered.borrow_mut().insert(ticket, id.clone());
                (Value::Null, noted)
            }
            Err(told) => {
                let error = RpcError::new(RpcError::INVALID_PARAMS, told.clone());
                due.push((id.clone(), Err(error)));
                (json!({"told": told}), true)
            }
        };
        for (ticket, reply) in fakes.released() {
            let waiting = self.unanswered.borrow_mut().remove(&ticket);
            due.extend(waiting.map(|id| (id, Ok(reply_of(reply)))));
        }
        let FakeCall { fake, method, mut args, .. } = call;
        if noted {
            // A subject may give members in another order each time.
            args.sort_all_objects();
            self.asks.borrow_mut().push(Ask { fake, method, args, answer });
        } else {
            self.pulls.set(self.pulls.get() + 1);
        }
        due
    }
}

fn reply_of(played: Played) -> Value {
    match played {
        Ok(value) => json!({"value": value}),
        Err(error) => json!({"error": error}),
    }
}
