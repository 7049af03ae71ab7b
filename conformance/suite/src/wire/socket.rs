//! A WebSocket of a case. The harness reads it only when the case does, so an unread socket is a slow consumer.

use futures::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::http::{HeaderName, HeaderValue};
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{Error, Message};

use super::Trouble;
use super::http::{MOST_BYTES, body_of, connect, escaped, target};
use super::offer::{HttpServer, filled, no_path};
use proofmark_judge::wire::arguments::{OpenSocket, Sought};

/// The most messages to read while looking for one.
const MOST_MESSAGES: usize = 20_000;

pub(crate) struct Socket(WebSocketStream<TcpStream>);

/// Opens a socket, or returns the server's answer if it refuses.
pub(super) async fn open(
    server: &HttpServer,
    args: &OpenSocket,
) -> Result<(Option<Socket>, Value), Trouble> {
    let target = match (&args.stream, &args.path) {
        (Some(values), _) => {
            let stream = server.paths.stream.as_deref();
            let stream = stream.ok_or_else(|| Trouble::Odd(no_path("stream")))?;
            filled(stream, values, escaped).map_err(Trouble::Odd)?
        }
        (None, Some(path)) => target(path, &Default::default()),
        (None, None) => {
            return Err(Trouble::Odd("there is neither `stream` nor `path`".to_owned()));
        }
    };
    let mut request = format!("ws://{}{target}", server.authority)
        .into_client_request()
        .map_err(|fault| Trouble::Odd(format!("the request cannot be sent: {fault}")))?;
    for (name, value) in &args.headers {
        let name = HeaderName::from_bytes(name.as_bytes());
        let value = HeaderValue::from_str(value);
        let (Ok(name), Ok(value)) = (name, value) else {
            return Err(Trouble::Odd(format!("{:?} are not valid headers", args.headers)));
        };
        request.headers_mut().insert(name, value);
    }
    let config = WebSocketConfig::default()
        .max_message_size(Some(MOST_BYTES))
        .max_frame_size(Some(MOST_BYTES));
    let stream = connect(server).await?;
    match tokio_tungstenite::client_async_with_config(request, stream, Some(config)).await {
        Ok((socket, _)) => Ok((Some(Socket(socket)), json!({"open": true}))),
        Err(Error::Http(response)) => {
            let status = response.status().as_u16();
            let body =
                body_of(response.body().as_deref().unwrap_or_default()).map_err(Trouble::Odd)?;
            Ok((None, json!({"open": false, "status": status, "body": body})))
        }
        Err(fault) => Err(Trouble::Lost(format!("the socket does not open: {fault}"))),
    }
}

impl Socket {
    /// The messages up to the first that fits. Of the earlier ones, only those that fit `only`.
    pub(super) async fn until(
        &mut self,
        sought: &Sought,
        only: Option<&Sought>,
    ) -> Result<Vec<Value>, Trouble> {
        let mut taken = Vec::new();
        for _ in 0..MOST_MESSAGES {
            let message = self.next().await?;
            let last = sought.fits(&message);
            if last || only.is_none_or(|only| only.fits(&message)) {
                taken.push(message);
            }
            if last {
                return Ok(taken);
            }
        }
        let message = format!("{MOST_MESSAGES} messages came, but not the sought one");
        Err(Trouble::Odd(message))
    }

    /// The next `count` messages that fit `only`.
    pub(super) async fn take(
        &mut self,
        count: usize,
        only: Option<&Sought>,
    ) -> Result<Vec<Value>, Trouble> {
        let mut taken = Vec::new();
        for _ in 0..MOST_MESSAGES {
            if taken.len() == count {
                return Ok(taken);
            }
            let message = self.next().await?;
            if only.is_none_or(|only| only.fits(&message)) {
                taken.push(message);
            }
        }
        let message = format!("{MOST_MESSAGES} messages came, but too few of the sought ones");
        Err(Trouble::Odd(message))
    }

    async fn next(&mut self) -> Result<Value, Trouble> {
        let odd = |message: String| Err(Trouble::Odd(message));
        let lost = |message: String| Err(Trouble::Lost(message));
        loop {
            match self.0.next().await {
                Some(Ok(Message::Text(text))) => {
                    return serde_json::from_str(&text)
                        .or_else(|fault| odd(format!("a message is not JSON: {fault}")));
                }
                Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => {}
                Some(Ok(Message::Binary(_))) => {
                    return odd("a message is binary; it must be JSON as text".to_owned());
                }
                Some(Ok(Message::Close(_))) | None => {
                    return lost("the server closed the socket".to_owned());
                }
                Some(Err(fault)) => return lost(format!("the socket broke: {fault}")),
            }
        }
    }

    pub(super) async fn send(&mut self, text: String) -> Result<(), Trouble> {
        let lost = |fault| Trouble::Lost(format!("the socket broke: {fault}"));
        self.0.send(Message::text(text)).await.map_err(lost)
    }

    /// Closes politely; ignores a server that is gone.
    pub(super) async fn close(mut self) {
        let _gone = self.0.close(None).await;
    }
}
