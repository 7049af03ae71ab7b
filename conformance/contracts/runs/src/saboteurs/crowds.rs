//! Runs that lose something in few of many rounds of requests at once.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use agent_runs::{Line, Policy, Rules};
use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::http::{Method, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::Response;
use proofmark_room::Adversary;
use serde_json::{Value, json};

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
    .slow(),
    Adversary::saboteur(
        "undoes-a-change-in-one-round-of-thirty",
        "in one of 30 rounds of changes at once, a change of a node is made, acknowledged and undone",
        &["RUNS-153"],
        |subject| {
            behind(subject, Arc::new(Rules), |endpoints| {
                endpoints.layer(middleware::from_fn(undoing_some))
            })
        },
    ),
];

/// How many edges and messages each run has, and how many runs had many.
#[derive(Default)]
struct LosesALine(Mutex<(HashMap<(Value, Value), usize>, usize)>);

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

/// Undoes a change of a node that comes while two others are being made, in some rounds.
async fn undoing_some(request: Request, next: Next) -> Response {
    static UNDER_WAY: AtomicUsize = AtomicUsize::new(0);
    static ROUNDS: AtomicUsize = AtomicUsize::new(0);
    let path = request.uri().path().to_owned();
    let (run, node) = match path.split_once("/nodes/") {
        Some((run, node)) if request.method() == Method::PATCH => (run, node),
        _ => return next.run(request).await,
    };
    let third = UNDER_WAY.fetch_add(1, Ordering::Relaxed) == 2;
    let answer = match third && ROUNDS.fetch_add(1, Ordering::Relaxed) % EVERY == EVERY - 1 {
        true => undone(request, run, node, next).await,
        false => {
            // Lets the others of the round begin.
            tokio::task::yield_now().await;
            next.run(request).await
        }
    };
    UNDER_WAY.fetch_sub(1, Ordering::Relaxed);
    answer
}

async fn undone(request: Request, run: &str, node: &str, next: Next) -> Response {
    let (parts, body) = request.into_parts();
    let bytes = to_bytes(body, usize::MAX).await.unwrap_or_default();
    let before = next.clone().run(to(Method::GET, run, Body::empty())).await;
    let before = json_of(before).await["nodes"][node].take();
    let answer = next.clone().run(Request::from_parts(parts, Body::from(bytes.clone()))).await;
    let change: Value = serde_json::from_slice(&bytes).unwrap_or_default();
    let named = change.as_object().into_iter().flatten();
    let back: Value = named.map(|(name, _)| (name.clone(), before[name].clone())).collect();
    if answer.status() != StatusCode::OK {
        return answer;
    }
    let path = format!("{run}/nodes/{node}");
    let _undone = next.run(to(Method::PATCH, &path, Body::from(back.to_string()))).await;
    answer
}

fn to(method: Method, path: &str, body: Body) -> Request {
    let request = Request::builder().method(method).uri(path);
    request
        .header(header::HOST, "127.0.0.1")
        .header(header::CONTENT_TYPE, "application/json")
        .body(body)
        .expect("the parts are constant or came with a request")
}

async fn json_of(response: Response) -> Value {
    let bytes = to_bytes(response.into_body(), usize::MAX).await.unwrap_or_default();
    serde_json::from_slice(&bytes).unwrap_or_else(|_| json!({}))
}
