//! Access checks: only this machine, under its own names.

use rstest::rstest;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::lab::{Lab, in_time};

/// Sends the very bytes, and gives the answer.
async fn raw(lab: &Lab, request: &str) -> String {
    let mut socket = TcpStream::connect(&lab.address).await.unwrap();
    socket.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    in_time(socket.read_to_end(&mut answer)).await.unwrap();
    String::from_utf8_lossy(&answer).into_owned()
}

#[rstest]
#[case::loopback("GET /api/runs HTTP/1.1", "Host: 127.0.0.1", 200)]
#[case::a_name("GET /api/runs HTTP/1.1", "Host: localhost:80", 200)]
#[case::a_page_of_ours(
    "GET /api/runs HTTP/1.1",
    "Host: localhost\r\nOrigin: http://localhost:3000",
    200
)]
#[case::rebound("GET /api/runs HTTP/1.1", "Host: example.org", 403)]
#[case::two_hosts("GET /api/runs HTTP/1.1", "Host: localhost\r\nHost: example.org", 403)]
#[case::absolute("GET http://example.org/api/runs HTTP/1.1", "Host: localhost", 403)]
#[case::no_host("GET /api/runs HTTP/1.0", "Accept: */*", 403)]
#[case::a_page("GET /api/runs HTTP/1.1", "Host: localhost\r\nOrigin: http://example.org", 403)]
#[case::no_page("GET /api/runs HTTP/1.1", "Host: localhost\r\nOrigin: null", 403)]
#[case::a_page_that_writes(
    "POST /api/runs HTTP/1.1",
    "Host: localhost\r\nOrigin: https://example.org\r\nContent-Length: 2",
    403
)]
#[case::a_path_that_is_none("GET /nothing HTTP/1.1", "Host: example.org", 403)]
#[case::climbing("GET /api/runs/../../etc/passwd HTTP/1.1", "Host: localhost", 404)]
#[case::climbing_in_an_id("GET /api/runs/..%2f..%2fetc HTTP/1.1", "Host: localhost", 400)]
#[tokio::test]
async fn only_this_machine_is_answered(
    #[case] line: &str,
    #[case] headers: &str,
    #[case] wanted: u16,
) {
    let lab = Lab::start().await;
    let body = if line.starts_with("POST") { "{}" } else { "" };
    let answer =
        raw(&lab, &format!("{line}\r\n{headers}\r\nConnection: close\r\n\r\n{body}")).await;
    let status: u16 = answer.split(' ').nth(1).unwrap().parse().unwrap();
    assert_eq!(status, wanted, "{answer}");
    if status != 200 {
        let body: serde_json::Value =
            serde_json::from_str(answer.split("\r\n\r\n").nth(1).unwrap()).unwrap();
        crate::lab::hold_against("Fault", &body);
    }
    assert_eq!(lab.get("/api/runs").await.as_array().unwrap().len(), 0);
}

#[tokio::test]
async fn a_page_of_others_gets_no_stream() {
    let lab = Lab::start().await;
    let run = lab.run().await;
    let mut socket = TcpStream::connect(&lab.address).await.unwrap();
    let request = format!(
        "GET /ws?runId={run} HTTP/1.1\r\nHost: localhost\r\nOrigin: http://example.org\r\nConnection: Upgrade\r\n\
         Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    );
    socket.write_all(request.as_bytes()).await.unwrap();
    let mut first = [0; 12];
    in_time(socket.read_exact(&mut first)).await.unwrap();
    assert_eq!(&first, b"HTTP/1.1 403");
}

#[tokio::test]
async fn half_a_request_does_not_keep_the_server_from_ending() {
    let lab = Lab::start().await;
    let mut socket = TcpStream::connect(&lab.address).await.unwrap();
    socket.write_all(b"GET /api/runs HTTP/1.1\r\nHost: loc").await.unwrap();
    lab.run().await;
    lab.end().await;
}
