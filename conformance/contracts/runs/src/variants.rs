//! Right but unusual servers of runs.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use agent_runs::{Id, Line, NodeState, Permissions, PermissionsMode, Policy, Rules, Served};
use axum::Json;
use axum::body::to_bytes;
use axum::extract::Request;
use axum::http::{Method, StatusCode};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse as _, Response};
use proofmark_room::Adversary;
use serde_json::{Value, json};

use crate::CONTRACT;
use crate::bent::{answering, event_of, everywhere, remove, tells};
use crate::driver::{behind, under_rules};

pub(crate) const ALL: &[Adversary] = &[
    Adversary::variant(
        CONTRACT,
        "writes-its-history-later",
        "the history has an event 300 ms after the stream",
        "The text does not say when an event is in the history: `GET /api/runs/:id/events` -> event history",
        |subject| under_rules(subject, Arc::new(Late::default())),
    )
    .slow(),
    Adversary::variant(
        CONTRACT,
        "takes-its-time",
        "every answer comes 40 ms late, and the history has an event 300 ms after the stream",
        "The text gives no times: \"ordered by write time\" is the order of the log, not a limit",
        |subject| {
            behind(subject, Arc::new(Late::default()), |endpoints| {
                endpoints.layer(middleware::from_fn(late))
            })
        },
    )
    .slow(),
    Adversary::variant(
        CONTRACT,
        "refuses-in-other-words",
        "refusals have the statuses 422, 410, 423 and 451, and a text as their body",
        "\"Minimal REST endpoints\" lists requests, and neither a status nor a refusal",
        |subject| {
            behind(subject, Arc::new(Rules), |endpoints| {
                endpoints.layer(middleware::map_response(refused_otherwise))
            })
        },
    )
    .slow(),
    Adversary::variant(
        CONTRACT,
        "tells-the-end-of-a-turn-in-another-order",
        "the diff comes before the final message, and a stalled node is blocked before `run.stalled`",
        "\"On stall: pause orchestration + emit `run.stalled` with evidence\": no sentence orders the events of a turn",
        |subject| under_rules(subject, Arc::new(OtherOrder)),
    )
    .slow(),
    Adversary::variant(
        CONTRACT,
        "resets-in-another-way",
        "a message that is a reset command is a message like others",
        "Node state has `resetCommands`; no sentence says that a message of the chat is one",
        |subject| under_rules(subject, Arc::new(NoCommands)),
    )
    .slow(),
    Adversary::variant(
        CONTRACT,
        "sends-events-of-its-own",
        "every event is followed by one of a type that the text does not name",
        "The list says what \"consumers must support\", and not that nothing else is sent",
        |subject| under_rules(subject, Arc::new(OwnEvents)),
    )
    .slow(),
    Adversary::variant(
        CONTRACT,
        "says-more-than-it-must",
        "every object that has an `id` or a `type` has a member more",
        "\"minimum fields\", \"minimum\": the text says what must be there, not what may not",
        |subject| tells(subject, more, |endpoints| answering(endpoints, more)),
    )
    .slow(),
    Adversary::variant(
        CONTRACT,
        "has-no-optional-members",
        "nodes have no `inboxCount` and no `connection`, events no `context`",
        "\"Optional node fields are recommended for UI responsiveness\"",
        |subject| tells(subject, less, |endpoints| answering(endpoints, less)),
    )
    .slow(),
    Adversary::variant(
        CONTRACT,
        "has-other-defaults",
        "new nodes are gated and spawn unasked, new edges go one way, the reset command is `/fresh`",
        "The text gives defaults for the type and label of edges, and for nothing else",
        |subject| under_rules(subject, Arc::new(OtherDefaults)),
    )
    .slow(),
    Adversary::variant(
        CONTRACT,
        "leaves-empty-diffs-empty",
        "the diff of a turn that changed nothing is an empty file",
        "\"Every completed turn must emit a diff artifact (empty or \\\"no changes\\\" allowed)\"",
        |subject| under_rules(subject, Arc::new(EmptyDiffs)),
    )
    .slow(),
    Adversary::variant(
        CONTRACT,
        "answers-with-the-edge-that-is-there",
        "a request for an edge that is there already is answered with that edge, and makes none",
        "`POST /api/runs/:id/edges` -> create edge: no sentence says that two edges may be the same",
        |subject| {
            behind(subject, Arc::new(Rules), |endpoints| {
                endpoints.layer(middleware::from_fn(known_edges))
            })
        },
    )
    .slow(),
    Adversary::variant(
        CONTRACT,
        "refuses-the-edge-that-is-there",
        "a request for an edge that is there already is refused with 409",
        "`POST /api/runs/:id/edges` -> create edge: no sentence says that two edges may be the same",
        |subject| {
            behind(subject, Arc::new(Rules), |endpoints| {
                endpoints.layer(middleware::from_fn(no_known_edges))
            })
        },
    )
    .slow(),
];

/// When each event was written.
#[derive(Default)]
struct Late(Mutex<HashMap<Id, Instant>>);

impl Policy for Late {
    fn logged(&self, lines: Vec<Line>) -> Vec<Line> {
        let mut written = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        written.extend(lines.iter().map(|line| (line.id, Instant::now())));
        lines
    }

    fn served(&self, to: Served, mut events: Vec<Line>) -> Vec<Line> {
        if matches!(to, Served::Answer | Served::Rest) {
            let written = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let old = |at: &Instant| at.elapsed() > Duration::from_millis(300);
            events.retain(|line| written.get(&line.id).is_none_or(old));
        }
        events
    }
}

async fn late(request: Request, next: Next) -> Response {
    tokio::time::sleep(Duration::from_millis(40)).await;
    next.run(request).await
}

async fn refused_otherwise(response: Response) -> Response {
    let status = match response.status() {
        StatusCode::BAD_REQUEST => StatusCode::UNPROCESSABLE_ENTITY,
        StatusCode::NOT_FOUND => StatusCode::GONE,
        StatusCode::CONFLICT => StatusCode::LOCKED,
        StatusCode::FORBIDDEN => StatusCode::UNAVAILABLE_FOR_LEGAL_REASONS,
        _ => return response,
    };
    (status, "no").into_response()
}

struct OtherOrder;

impl Policy for OtherOrder {
    fn logged(&self, lines: Vec<Line>) -> Vec<Line> {
        reordered(lines)
    }

    fn served(&self, _: Served, events: Vec<Line>) -> Vec<Line> {
        reordered(events)
    }
}

/// Swaps neighbours: a final message and a diff, a stall and the node that it blocks.
fn reordered(mut lines: Vec<Line>) -> Vec<Line> {
    let kind = |line: &Line| event_of(line)["type"].as_str().unwrap_or_default().to_owned();
    for at in 1..lines.len() {
        let (one, other) = (kind(&lines[at - 1]), kind(&lines[at]));
        let swaps =
            [("message.assistant.final", "artifact.created"), ("run.stalled", "node.patch")];
        if swaps.contains(&(one.as_str(), other.as_str())) {
            lines.swap(at - 1, at);
        }
    }
    lines
}

struct NoCommands;

impl Policy for NoCommands {
    fn is_reset(&self, _: &NodeState, _: &str) -> bool {
        false
    }
}

struct OwnEvents;

impl Policy for OwnEvents {
    fn served(&self, to: Served, events: Vec<Line>) -> Vec<Line> {
        if matches!(to, Served::Answer | Served::Rest) {
            return events;
        }
        events.into_iter().flat_map(|line| [own(&line), line]).collect()
    }
}

/// An event of a type that the text does not name. It has the same time and run, and no node.
fn own(line: &Line) -> Line {
    let event = event_of(line);
    let id = event["id"].as_str().unwrap_or_default();
    // Another UUID for each event.
    let turned: String = id.chars().map(|digit| if digit == '0' { 'f' } else { digit }).collect();
    let own = json!({
        "id": turned, "runId": event["runId"], "ts": event["ts"], "type": "server.heartbeat", "load": 0.5,
    });
    Line { id: line.id, json: own.to_string().into() }
}

fn more(value: &mut Value) {
    everywhere(value, |inner| {
        if inner.get("id").is_some() || inner.get("type").is_some() {
            inner["vendor"] = json!({ "build": 7 });
        }
    });
}

fn less(value: &mut Value) {
    everywhere(value, |inner| {
        remove(inner, "inboxCount");
        remove(inner, "connection");
        remove(inner, "context");
    });
}

struct OtherDefaults;

impl Policy for OtherDefaults {
    fn default_permissions(&self) -> Permissions {
        Permissions { cli_permissions_mode: PermissionsMode::Gated, spawn_requires_approval: false }
    }

    fn default_reset_commands(&self) -> Vec<String> {
        vec!["/fresh".to_owned()]
    }

    fn edge_is_bidirectional(&self) -> bool {
        false
    }
}

async fn known_edges(request: Request, next: Next) -> Response {
    once(request, next, |edge| Json(edge).into_response()).await
}

async fn no_known_edges(request: Request, next: Next) -> Response {
    once(request, next, |_| (StatusCode::CONFLICT, "there is such an edge").into_response()).await
}

/// Makes an edge, unless there is one that was requested in the same words.
async fn once(request: Request, next: Next, again: fn(Value) -> Response) -> Response {
    // The edges of all sessions, by the path and the body that made them. Every run has a path of its own.
    static THERE: Mutex<BTreeMap<(String, String), Value>> = Mutex::new(BTreeMap::new());
    let there = || THERE.lock().unwrap_or_else(PoisonError::into_inner);
    let path = request.uri().path().to_owned();
    if request.method() == Method::DELETE {
        let answer = next.run(request).await;
        if answer.status().is_success() {
            there().retain(|_, edge| !edge["id"].as_str().is_some_and(|id| path.ends_with(id)));
        }
        return answer;
    }
    if request.method() != Method::POST || !path.ends_with("/edges") {
        return next.run(request).await;
    }
    let (parts, body) = request.into_parts();
    let bytes = to_bytes(body, usize::MAX).await.unwrap_or_default();
    let key = (path, String::from_utf8_lossy(&bytes).into_owned());
    if let Some(edge) = there().get(&key) {
        return again(edge.clone());
    }
    let (parts, body) = next.run(Request::from_parts(parts, bytes.into())).await.into_parts();
    let bytes = to_bytes(body, usize::MAX).await.unwrap_or_default();
    if parts.status.is_success() {
        there().insert(key, serde_json::from_slice(&bytes).unwrap_or_default());
    }
    Response::from_parts(parts, bytes.into())
}

struct EmptyDiffs;

impl Policy for EmptyDiffs {
    fn diff_artifact(&self, diff: Option<&str>) -> Option<String> {
        Some(diff.unwrap_or_default().to_owned())
    }
}
