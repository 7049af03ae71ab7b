//! Runs that lose something in few of many rounds of requests at once.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use agent_runs::{Line, Policy, Rules};
use axum::body::to_bytes;
use axum::extract::Request;
use axum::http::{Method, header};
use axum::middleware::{self, Next};
use axum::response::Response;
use proofmark_room::Adversary;
use serde_json::Value;

use crate::bent::event_of;
use crate::driver::{behind, under_rules};

/// One of so many rounds goes wrong.
const EVERY: usize = 30;

pub(crate) const ALL: &[Adversary] = &[
    Adversary::saboteur(
        "loses-a-line-in-one-round-of-thirty",
        "in one of 30 runs with many edges or messages, one of them is not logged",
        &["RUNS-152"],
        |subject| under_rules(subject, Arc::new(LosesALine::default())),
    )
    .slow()
    .rare(),
    Adversary::saboteur(
        "undoes-a-change-in-one-round-of-thirty",
        "in one of 30 rounds of changes at once, a change of a node is made, acknowledged and undone",
        &["RUNS-153"],
        |subject| {
            behind(subject, Arc::new(Rules), |endpoints| {
                endpoints.layer(middleware::from_fn(undoing_some))
            })
        },
    )
    .rare(),
];

/// How many edges and messages each run has, and how many runs had many.
#[derive(Default)]
struct LosesALine(Mutex<(Counts, usize)>);

/// How many events of a type a run has, by run and type.
type Counts = HashMap<(Value, Value), usize>;

impl Policy for LosesALine {
    fn logged(&self, lines: Vec<Line>) -> Vec<Line> {
        const MANY: usize = 9;
        let mut memory = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (counts, crowded) = &mut *memory;
        let mut keeps = |line: &Line| {
            let event = event_of(line);
            if event["type"] != "edge.created" && event["type"] != "message.user" {
                return true;
            }
            let count = counts.entry((event["runId"].clone(), event["type"].clone())).or_default();
            *count += 1;
            if *count == MANY {
                *crowded += 1;
            }
            *count != MANY || !crowded.is_multiple_of(EVERY)
        };
        lines.into_iter().filter(|line| keeps(line)).collect()
    }
}

/// Undoes a change of a node that comes while another is being made, in some rounds.
async fn undoing_some(request: Request, next: Next) -> Response {
    // How many changes of each node are being made. Other sessions change other nodes.
    static UNDER_WAY: Mutex<BTreeMap<String, usize>> = Mutex::new(BTreeMap::new());
    static ROUNDS: AtomicUsize = AtomicUsize::new(0);
    if request.method() != Method::PATCH || !request.uri().path().contains("/nodes/") {
        return next.run(request).await;
    }
    let node = request.uri().path().to_owned();
    let second = {
        let mut under_way = UNDER_WAY.lock().unwrap_or_else(PoisonError::into_inner);
        let count = under_way.entry(node.clone()).or_default();
        *count += 1;
        *count == 2
    };
    // Lets the others of the round begin.
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    let answer = match second && ROUNDS.fetch_add(1, Ordering::Relaxed) % EVERY == EVERY - 1 {
        true => undone(request, next).await,
        false => next.run(request).await,
    };
    let mut under_way = UNDER_WAY.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(count) = under_way.get_mut(&node) {
        *count -= 1;
    }
    drop(under_way);
    answer
}

async fn undone(request: Request, next: Next) -> Response {
    let (mut parts, body) = request.into_parts();
    let bytes = to_bytes(body, usize::MAX).await.unwrap_or_default();
    let mut change: Value = serde_json::from_slice(&bytes).unwrap_or_default();
    let acknowledged = next.clone().run(Request::from_parts(parts.clone(), bytes.into())).await;
    for (member, before) in
        [("label", "Ann"), ("roleTemplate", "implementer"), ("provider", "codex")]
    {
        if change.get(member).is_some() {
            change[member] = before.into();
        }
    }
    parts.headers.remove(header::CONTENT_LENGTH);
    let _undone = next.run(Request::from_parts(parts, change.to_string().into())).await;
    acknowledged
}
