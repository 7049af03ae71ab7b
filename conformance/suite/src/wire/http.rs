//! HTTP requests, each on its own connection. The harness sends exactly what the case specifies.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::{Duration, Instant};

use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Bytes;
use hyper::header::{CONTENT_TYPE, HOST};
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use serde_json::{Map, Value, json};
use tokio::net::TcpStream;

use super::Trouble;
use super::offer::HttpServer;
use crate::subject::Patience;
use proofmark_judge::wire::arguments::{HttpRequest, Path};

/// The poll interval while waiting for items, and how long to wait.
const AGAIN: Duration = Duration::from_millis(20);
const LONGEST: Duration = Duration::from_secs(2);
/// The most bytes of an answer that are read.
pub(super) const MOST_BYTES: usize = 16 * 1024 * 1024;

/// Sends a request and returns the answer in the form that cases use. With `until`, it sends the request again as long
/// as the answer is a list without these items. After a while the last answer counts.
pub(super) async fn ask(server: &HttpServer, request: HttpRequest) -> Result<Value, Trouble> {
    let until = request.until.clone();
    let end = Instant::now() + LONGEST;
    loop {
        let answer = send(server, request.clone()).await?;
        let waits = match (&until, answer["body"].as_array()) {
            (Some(until), Some(items)) => !until.all_among(items),
            _ => false,
        };
        if !waits || Instant::now() >= end {
            return Ok(answer);
        }
        tokio::time::sleep(AGAIN).await;
    }
}

async fn send(server: &HttpServer, request: HttpRequest) -> Result<Value, Trouble> {
    let tell = request.tell.clone();
    let request = made(server, request).map_err(Trouble::Odd)?;
    let stream = connect(server).await?;
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
        .await
        .map_err(|fault| broken(&fault))?;
    let driving = tokio::task::spawn_local(connection);
    let answered = async {
        let response = sender.send_request(request).await.map_err(|fault| broken(&fault))?;
        read(response, &tell).await
    };
    let answer = answered.await;
    driving.abort();
    answer
}

/// Checks that an HTTP server answers there, with any status.
pub async fn reachable(server: &HttpServer, patience: Patience) -> Result<(), String> {
    let request = HttpRequest { method: "GET".to_owned(), ..HttpRequest::default() };
    match tokio::time::timeout(patience.call, send(server, request)).await {
        Ok(answered) => answered.map(drop).map_err(|trouble| trouble.message()),
        Err(_) => Err("no answer to `GET /` in time".to_owned()),
    }
}

pub(super) async fn connect(server: &HttpServer) -> Result<TcpStream, Trouble> {
    TcpStream::connect(server.address)
        .await
        .map_err(|fault| Trouble::Lost(format!("cannot connect to the server: {fault}")))
}

fn broken(fault: &hyper::Error) -> Trouble {
    // The cause is more specific than hyper's own message.
    let cause = std::error::Error::source(fault).map(|cause| format!(": {cause}"));
    Trouble::Lost(format!("no valid HTTP answer: {fault}{}", cause.unwrap_or_default()))
}

fn made(server: &HttpServer, request: HttpRequest) -> Result<Request<Full<Bytes>>, String> {
    let body = match (&request.body, request.text) {
        (Some(body), _) => Bytes::from(body.to_string()),
        (None, Some(text)) => Bytes::from(text),
        (None, None) => Bytes::new(),
    };
    let target = target(&request.path, &request.query);
    let mut built = Request::builder().method(request.method.as_str()).uri(target);
    for (name, value) in &request.headers {
        built = built.header(name, value);
    }
    let headers = built.headers_ref();
    let has = |name| headers.is_some_and(|headers| headers.contains_key(name));
    let (host, kind) = (!has(HOST), !has(CONTENT_TYPE) && !body.is_empty());
    if host {
        built = built.header(HOST, &server.authority);
    }
    if kind {
        built = built.header(CONTENT_TYPE, "application/json");
    }
    built.body(Full::new(body)).map_err(|fault| format!("the request cannot be sent: {fault}"))
}

/// The path and query of a request.
pub(super) fn target(path: &Path, query: &BTreeMap<String, String>) -> String {
    let mut target = match path {
        Path::Text(text) => text.clone(),
        Path::Segments(segments) => {
            segments.iter().map(|segment| format!("/{}", escaped(segment))).collect()
        }
    };
    for (at, (name, value)) in query.iter().enumerate() {
        let between = if at == 0 { '?' } else { '&' };
        target.push_str(&format!("{between}{}={}", escaped(name), escaped(value)));
    }
    target
}

/// Escapes everything except RFC 3986's unreserved characters.
pub(super) fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                escaped.push(char::from(byte));
            }
            // Writing to a string cannot fail.
            other => drop(write!(escaped, "%{other:02X}")),
        }
    }
    escaped
}

async fn read(
    response: Response<hyper::body::Incoming>,
    tell: &[String],
) -> Result<Value, Trouble> {
    let status = response.status();
    let headers: Map<String, Value> = tell
        .iter()
        .filter_map(|name| {
            let value = response.headers().get(name)?;
            Some((name.clone(), String::from_utf8_lossy(value.as_bytes()).into()))
        })
        .collect();
    let body = Limited::new(response.into_body(), MOST_BYTES)
        .collect()
        .await
        .map_err(|fault| Trouble::Lost(format!("the body of the answer is incomplete: {fault}")))?;
    let body = body_of(&body.to_bytes()).map_err(Trouble::Odd)?;
    let mut response = json!({"ok": status.is_success(), "status": status.as_u16(), "body": body});
    if !tell.is_empty() {
        response["headers"] = headers.into();
    }
    Ok(response)
}

/// JSON if it parses, otherwise text, and `null` if empty.
pub(super) fn body_of(bytes: &[u8]) -> Result<Value, String> {
    if bytes.is_empty() {
        return Ok(Value::Null);
    }
    let text = std::str::from_utf8(bytes).map_err(|_| "the body is not UTF-8".to_owned())?;
    Ok(serde_json::from_str(text).unwrap_or_else(|_| Value::from(text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_are_escaped_and_a_text_is_not() {
        let segments = Path::Segments(vec!["things".to_owned(), "../é".to_owned()]);
        let query = BTreeMap::from([("a".to_owned(), "1&2".to_owned())]);
        assert_eq!(target(&segments, &query), "/things/..%2F%C3%A9?a=1%262");
        assert_eq!(target(&Path::Text("/../x".to_owned()), &BTreeMap::new()), "/../x");
    }
}
