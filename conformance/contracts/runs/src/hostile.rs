//! The reference, hostile to readers of its streams.

use std::sync::Arc;

use agent_runs::{Line, Policy, Served};
use proofmark_room::Adversary;

use crate::driver::under_rules;

pub(crate) const ALL: &[Adversary] = &[
    Adversary::hostile_reference(
        "floods-its-consumers",
        "sends every event of a stream for ever",
        |subject| under_rules(subject, Arc::new(Floods)),
    ),
    Adversary::hostile_reference(
        "sends-100-megabytes",
        "sends events of a hundred megabytes",
        |subject| under_rules(subject, Arc::new(SendsMegabytes)),
    ),
];

struct Floods;

impl Policy for Floods {
    fn served(&self, to: Served, events: Vec<Line>) -> Vec<Line> {
        match to {
            Served::Answer | Served::Rest => events,
            // More than anybody reads. It stops when the consumer disconnects.
            Served::Past | Served::Missed | Served::Live => {
                events.iter().cycle().take(1 << 20).cloned().collect()
            }
        }
    }
}

struct SendsMegabytes;

impl Policy for SendsMegabytes {
    fn served(&self, to: Served, events: Vec<Line>) -> Vec<Line> {
        let grown = |line: Line| {
            let json = format!("{{\"padding\":\"{}\"}}", "x".repeat(100 << 20));
            Line { json: json.into(), ..line }
        };
        match to {
            Served::Answer | Served::Rest => events,
            Served::Past | Served::Missed | Served::Live => {
                events.into_iter().take(1).map(grown).collect()
            }
        }
    }
}
