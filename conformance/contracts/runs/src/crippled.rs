//! The reference without one thing that many cases meet.

use std::sync::Arc;

use agent_runs::{Line, Policy, Rules, Served};
use axum::http::{Method, StatusCode};
use proofmark_room::Adversary;
use serde_json::Value;

use crate::bent::{answering, event_of, everywhere, remove, tells, without};
use crate::driver::{behind, under_rules};

pub(crate) const ALL: &[Adversary] = &[
    Adversary::crippled(
        "has-no-phase",
        "no run and no event has a `phase`",
        &["RUNS-017", "RUNS-019", "RUNS-021"],
        |subject| tells(subject, no_phase, |endpoints| answering(endpoints, no_phase)),
    )
    .slow(),
    Adversary::crippled(
        "has-no-labels",
        "no node has a `label`",
        &["RUNS-018", "RUNS-019", "RUNS-035"],
        |subject| tells(subject, no_label, |endpoints| answering(endpoints, no_label)),
    )
    .slow(),
    Adversary::crippled(
        "has-no-time-of-events",
        "no event has a `ts`",
        &["RUNS-013", "RUNS-019"],
        |subject| tells(subject, no_time, |endpoints| answering(endpoints, no_time)),
    )
    .slow(),
    Adversary::crippled(
        "has-no-time-of-messages",
        "no message has a `createdAt`",
        &["RUNS-019", "RUNS-069"],
        |subject| {
            tells(subject, no_message_time, |endpoints| answering(endpoints, no_message_time))
        },
    )
    .slow(),
    Adversary::crippled(
        "has-no-list-of-approvals",
        "`GET /api/approvals` answers 404",
        &["RUNS-108", "RUNS-113"],
        |subject| {
            behind(subject, Arc::new(Rules), |endpoints| {
                without(endpoints, Method::GET, "/api/approvals", StatusCode::NOT_FOUND)
            })
        },
    )
    .slow(),
    Adversary::crippled(
        "has-no-history",
        "`GET /api/runs/:id/events` answers 501",
        &["RUNS-027"],
        |subject| {
            behind(subject, Arc::new(Rules), |endpoints| {
                without(endpoints, Method::GET, "/api/runs/*/events", StatusCode::NOT_IMPLEMENTED)
            })
        },
    )
    .slow(),
    Adversary::crippled(
        "cannot-change-nodes",
        "`PATCH /api/runs/:id/nodes/:nodeId` answers 501",
        &["RUNS-040", "RUNS-139", "RUNS-142"],
        |subject| {
            behind(subject, Arc::new(Rules), |endpoints| {
                without(
                    endpoints,
                    Method::PATCH,
                    "/api/runs/*/nodes/*",
                    StatusCode::NOT_IMPLEMENTED,
                )
            })
        },
    )
    .slow(),
    Adversary::crippled(
        "cannot-delete-edges",
        "`DELETE /api/runs/:id/edges/:edgeId` answers 501",
        &["RUNS-055", "RUNS-139"],
        |subject| {
            behind(subject, Arc::new(Rules), |endpoints| {
                without(
                    endpoints,
                    Method::DELETE,
                    "/api/runs/*/edges/*",
                    StatusCode::NOT_IMPLEMENTED,
                )
            })
        },
    )
    .slow(),
    Adversary::crippled(
        "makes-no-edges",
        "`POST /api/runs/:id/edges` answers 501",
        &["RUNS-054", "RUNS-139", "RUNS-143"],
        |subject| {
            behind(subject, Arc::new(Rules), |endpoints| {
                without(endpoints, Method::POST, "/api/runs/*/edges", StatusCode::NOT_IMPLEMENTED)
            })
        },
    )
    .slow(),
    Adversary::crippled(
        "takes-no-messages",
        "`POST /api/runs/:id/chat` answers 501",
        &["RUNS-068", "RUNS-139", "RUNS-144"],
        |subject| {
            behind(subject, Arc::new(Rules), |endpoints| {
                without(endpoints, Method::POST, "/api/runs/*/chat", StatusCode::NOT_IMPLEMENTED)
            })
        },
    )
    .slow(),
    Adversary::crippled(
        "resolves-no-approvals",
        "`POST /api/approvals/:id/resolve` answers 501",
        &["RUNS-109", "RUNS-115", "RUNS-139", "RUNS-159"],
        |subject| {
            behind(subject, Arc::new(Rules), |endpoints| {
                without(
                    endpoints,
                    Method::POST,
                    "/api/approvals/*/resolve",
                    StatusCode::NOT_IMPLEMENTED,
                )
            })
        },
    )
    .slow(),
    Adversary::crippled(
        "lists-no-runs",
        "`GET /api/runs` answers 501",
        &["RUNS-025", "RUNS-149"],
        |subject| {
            behind(subject, Arc::new(Rules), |endpoints| {
                without(endpoints, Method::GET, "/api/runs", StatusCode::NOT_IMPLEMENTED)
            })
        },
    )
    .slow(),
    Adversary::crippled(
        "shows-no-run",
        "`GET /api/runs/:id` answers 501",
        &["RUNS-026", "RUNS-139", "RUNS-140"],
        |subject| {
            behind(subject, Arc::new(Rules), |endpoints| {
                without(endpoints, Method::GET, "/api/runs/*", StatusCode::NOT_IMPLEMENTED)
            })
        },
    )
    .slow(),
    Adversary::crippled(
        "sends-no-final-messages",
        "no reader gets a `message.assistant.final`",
        &["RUNS-070", "RUNS-075"],
        |subject| under_rules(subject, Arc::new(NoFinals)),
    )
    .slow(),
];

fn no_phase(value: &mut Value) {
    everywhere(value, |inner| remove(inner, "phase"));
}

/// An edge also has a label.
fn no_label(value: &mut Value) {
    everywhere(value, |inner| {
        let of_an_edge = inner.get("from").is_some();
        let of_a_tool = inner.get("args").is_some();
        if !of_an_edge && !of_a_tool {
            remove(inner, "label");
        }
    });
}

fn no_time(value: &mut Value) {
    everywhere(value, |inner| remove(inner, "ts"));
}

fn no_message_time(value: &mut Value) {
    everywhere(value, |inner| {
        if inner.get("content").is_some() {
            remove(inner, "createdAt");
        }
    });
}

struct NoFinals;

impl Policy for NoFinals {
    fn served(&self, _: Served, mut events: Vec<Line>) -> Vec<Line> {
        events.retain(|line| event_of(line)["type"] != "message.assistant.final");
        events
    }
}
