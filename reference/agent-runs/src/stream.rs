//! The stream of a run over a WebSocket: past events, then new ones.
//!
//! A consumer is a position in the list of events. It wakes up when there are more and reads at its own pace, so a
//! slow one needs no buffer, and nobody waits for it.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::ws::{
    Message, WebSocket, WebSocketUpgrade, rejection::WebSocketUpgradeRejection,
};
use axum::extract::{FromRequestParts, Query, State};
use axum::http::request::Parts;
use axum::response::Response;
use futures::stream::{SplitSink, SplitStream};
use futures::{SinkExt, StreamExt};

use crate::http::{Engines, Fault};
use crate::policy::{Policy, Served};
use crate::run::{Life, Run};
use crate::{Id, Refusal};

/// How many events are sent between two checks that the consumer is still connected.
const AT_ONCE: usize = 64;
/// Timeout of the closing handshake.
const PATIENCE: Duration = Duration::from_secs(1);
/// Limit of a consumer's message, which is discarded anyway.
const MOST_BYTES: usize = 64 << 10;
/// Buffer for a consumer's messages. Small, because there may be many consumers that send almost nothing.
const READ_AHEAD: usize = 1 << 10;

/// Members of a query, as they are written.
fn query(parts: &Parts, name: &str) -> Result<Option<Id>, Refusal> {
    let Query(pairs) = Query::<Vec<(String, String)>>::try_from_uri(&parts.uri)
        .map_err(|fault| Refusal::Bad(fault.body_text()))?;
    let mut given = pairs.into_iter().filter(|(key, _)| key == name).map(|(_, value)| value);
    let Some(value) = given.next() else { return Ok(None) };
    if given.next().is_some() {
        return Err(Refusal::Bad(format!("`{name}` is given more than once")));
    }
    value.parse().map(Some).map_err(|fault| Refusal::Bad(format!("`{name}`: {fault}")))
}

/// `after`: the event after which a reader goes on.
pub(crate) struct After(pub(crate) Option<Id>);

impl<S: Send + Sync> FromRequestParts<S> for After {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Refusal> {
        query(parts, "after").map(Self)
    }
}

/// `runId`: whose stream it is.
pub(crate) struct RunId(Id);

impl<S: Send + Sync> FromRequestParts<S> for RunId {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Refusal> {
        query(parts, "runId")?
            .map(Self)
            .ok_or_else(|| Refusal::bad("`runId` says whose stream it is"))
    }
}

pub(crate) fn no_such_event(after: Option<Id>) -> Refusal {
    match after {
        Some(id) => Refusal::Unknown { what: "event of this run", id },
        None => Refusal::NoPath,
    }
}

#[utoipa::path(get, path = "/ws",
    params(("runId" = Id, Query), ("after" = Option<Id>, Query, description = "only events after this one")),
    responses((status = 101, description = "a WebSocket; each text message is an event"), (status = "4XX", body = Fault), (status = "5XX", body = Fault)))]
pub(crate) async fn open(
    State(engine): Engines,
    RunId(id): RunId,
    After(after): After,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Result<Response, Refusal> {
    let run = engine.run(id)?;
    let first = run.published().after(after).ok_or_else(|| no_such_event(after))?;
    let upgrade = upgrade.map_err(|fault| Refusal::NoWebSocket(fault.body_text()))?;
    let policy = Arc::clone(&engine.settings().policy);
    let past = if after.is_some() { Served::Missed } else { Served::Past };
    let life = engine.life()?;
    Ok(upgrade
        .read_buffer_size(READ_AHEAD)
        .max_message_size(MOST_BYTES)
        .max_frame_size(MOST_BYTES)
        .on_upgrade(move |socket| consume(socket, run, (first, past), policy, life)))
}

async fn consume(
    socket: WebSocket,
    run: Arc<Run>,
    begin: (usize, Served),
    policy: Arc<dyn Policy>,
    mut life: Life,
) {
    let (mut sink, source) = socket.split();
    tokio::select! {
        biased;
        () = life.ends() => {}
        () = until_gone(source) => {}
        () = send_all(&mut sink, &run, begin, policy.as_ref()) => {}
    }
    // The engine must not wait for the consumer to read the close frame.
    drop((life, run));
    let _ = tokio::time::timeout(PATIENCE, sink.close()).await;
}

/// Reads and ignores the consumer's messages; the socket itself answers pings. Returns when the consumer disconnects
/// or sends too much.
async fn until_gone(mut source: SplitStream<WebSocket>) {
    while let Some(Ok(message)) = source.next().await {
        if matches!(message, Message::Close(_)) {
            return;
        }
    }
}

async fn send_all(
    sink: &mut SplitSink<WebSocket, Message>,
    run: &Run,
    (first, of_the_past): (usize, Served),
    policy: &dyn Policy,
) {
    let mut count = run.published().count();
    let past = *count.borrow_and_update();
    let mut place = first;
    loop {
        let most = if place < past { AT_ONCE.min(past - place) } else { AT_ONCE };
        let events = run.published().from(place, most);
        if events.is_empty() {
            if count.changed().await.is_err() {
                return;
            }
            continue;
        }
        let to = if place < past { of_the_past } else { Served::Live };
        place += events.len();
        for event in policy.served(to, events) {
            if sink.feed(Message::text(event.json.as_ref().to_owned())).await.is_err() {
                return;
            }
        }
        if sink.flush().await.is_err() {
            return;
        }
    }
}
