//! Changes of everything that the reference tells: its answers, its history and its stream.

use std::sync::Arc;

use agent_runs::{Line, Policy, Served};
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::http::{Method, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse as _, Response};
use proofmark_room::Subject;
use serde_json::Value;

use crate::driver::behind;

/// A change of an answer or an event.
pub(crate) type Bend = fn(&mut Value);

/// The reference with a change of every answer and of every event that it sends. The log is as it was.
pub(crate) fn tells(subject: Subject, bend: Bend, layers: fn(Router) -> Router) -> Subject {
    behind(subject, Arc::new(Tells(bend)), layers)
}

struct Tells(Bend);

impl Policy for Tells {
    fn served(&self, _: Served, events: Vec<Line>) -> Vec<Line> {
        events.into_iter().map(|line| bent(&line, self.0)).collect()
    }
}

/// The same event, changed.
pub(crate) fn bent(line: &Line, bend: Bend) -> Line {
    let mut event = event_of(line);
    bend(&mut event);
    Line { id: line.id, json: event.to_string().into() }
}

pub(crate) fn event_of(line: &Line) -> Value {
    serde_json::from_str(&line.json).expect("events are JSON")
}

/// Applies the change to every object in the value.
pub(crate) fn everywhere(value: &mut Value, bend: Bend) {
    match value {
        Value::Object(members) => members.values_mut().for_each(|inner| everywhere(inner, bend)),
        Value::Array(items) => items.iter_mut().for_each(|inner| everywhere(inner, bend)),
        _ => return,
    }
    bend(value);
}

/// Removes the member from the object, if the value is one.
pub(crate) fn remove(value: &mut Value, member: &str) {
    if let Value::Object(members) = value {
        members.shift_remove(member);
    }
}

/// Changes the JSON of every answer.
pub(crate) fn answering(endpoints: Router, bend: Bend) -> Router {
    endpoints.layer(middleware::map_response(move |response| changed(response, bend)))
}

async fn changed(response: Response, bend: Bend) -> Response {
    let json = |kind: &header::HeaderValue| kind.as_bytes().starts_with(b"application/json");
    if !response.headers().get(header::CONTENT_TYPE).is_some_and(json) {
        return response;
    }
    let (mut parts, body) = response.into_parts();
    let Ok(bytes) = to_bytes(body, usize::MAX).await else {
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    };
    let Ok(mut value) = serde_json::from_slice(&bytes) else {
        return Response::from_parts(parts, Body::from(bytes));
    };
    bend(&mut value);
    parts.headers.remove(header::CONTENT_LENGTH);
    Response::from_parts(parts, Body::from(value.to_string()))
}

/// Answers these requests as if there were no such endpoint. A `*` in the path stands for a segment.
pub(crate) fn without(
    endpoints: Router,
    method: Method,
    path: &'static str,
    status: StatusCode,
) -> Router {
    let refuse = move |request: Request, next: Next| {
        let method = method.clone();
        async move {
            if request.method() == method && is_path(request.uri().path(), path) {
                return status.into_response();
            }
            next.run(request).await
        }
    };
    endpoints.layer(middleware::from_fn(refuse))
}

fn is_path(path: &str, pattern: &str) -> bool {
    let (segments, wanted) = (path.split('/'), pattern.split('/'));
    segments.clone().count() == wanted.clone().count()
        && segments.zip(wanted).all(|(segment, wanted)| wanted == "*" || segment == wanted)
}
