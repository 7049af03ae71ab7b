//! A server by hand, since it must do what no honest server does.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// A test that hangs fails; nothing waits this long otherwise.
pub(crate) const LONG: Duration = Duration::from_secs(60);

/// One connection, after its request has been read.
pub(crate) struct Connection {
    pub(crate) socket: TcpStream,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Connection {
    pub(crate) async fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.socket.write_all(bytes.as_ref()).await.unwrap();
        self.socket.flush().await.unwrap();
    }

    /// The head of an answer that goes on until the connection is closed.
    pub(crate) async fn begin(&mut self) {
        self.send(
            "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n",
        )
        .await;
    }

    /// Waits until the other side has closed.
    pub(crate) async fn wait_for_close(&mut self) {
        let mut rest = [0; 64];
        let read = tokio::time::timeout(LONG, self.socket.read(&mut rest)).await;
        match read.expect("the client closes its connection") {
            Ok(0) | Err(_) => {}
            Ok(read) => panic!("the client sent {read} bytes more"),
        }
    }
}

/// Accepts one connection, reads its request and lets `play` answer. Gives the address for a provider.
pub(crate) async fn serve<T: Send + 'static, F: Future<Output = T> + Send>(
    play: impl FnOnce(Connection) -> F + Send + 'static,
) -> (String, JoinHandle<T>) {
    let listener = TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], 0))).await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    let served = tokio::spawn(async move {
        let (socket, _) = tokio::time::timeout(LONG, listener.accept()).await.unwrap().unwrap();
        // One server, one connection: whoever tries again is refused.
        drop(listener);
        play(read_request(socket).await).await
    });
    (base, served)
}

async fn read_request(mut socket: TcpStream) -> Connection {
    let mut read = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&read).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head
                .lines()
                .filter_map(|line| line.split_once(':'))
                .find(|(name, _)| name.eq_ignore_ascii_case("content-length"))
                .map_or(0, |(_, value)| value.trim().parse().unwrap());
            if body.len() >= length {
                return Connection { socket, head: head.to_owned(), body: body.to_owned() };
            }
        }
        let mut more = [0; 4096];
        let count = socket.read(&mut more).await.unwrap();
        assert!(count > 0, "the client closed in the middle of its request");
        read.extend_from_slice(&more[..count]);
    }
}

/// Answers with these bytes and closes.
pub(crate) async fn answering(bytes: impl Into<Vec<u8>>) -> (String, JoinHandle<(String, String)>) {
    let bytes = bytes.into();
    serve(move |mut connection| async move {
        connection.send(&bytes).await;
        connection.socket.shutdown().await.unwrap();
        (connection.head, connection.body)
    })
    .await
}

/// A whole answer with the right length.
pub(crate) fn whole(status: &str, headers: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n{headers}\r\n{body}", body.len())
}

/// Events of a stream, as they are sent.
pub(crate) fn frames(data: &[&str]) -> String {
    data.iter().map(|data| format!("data: {data}\n\n")).collect()
}

pub(crate) fn said(text: &str) -> String {
    serde_json::json!({ "choices": [{ "index": 0, "delta": { "content": text } }] }).to_string()
}
