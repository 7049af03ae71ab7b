//! Servers on loopback that do nothing right, and some that are hostile to clients. All sessions share one server; on
//! the pipe they implement nothing.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::thread;

use proofmark_protocol::message::{push_error, push_result};
use proofmark_protocol::{Incoming, PROTOCOL, RpcError};
use proofmark_room::wrong::greeting;
use proofmark_room::{Adversary, Claims};
use serde_json::{Value, json};

pub(crate) const ALL: &[Adversary] = &[
    Adversary::null("serves-objects", "answers every request with 200 and {}", |claims| {
        serves(claims, |to, _| answer(to, "200 OK", b"{}"))
    }),
    Adversary::null("serves-lists", "answers every request with 200 and []", |claims| {
        serves(claims, |to, _| answer(to, "200 OK", b"[]"))
    }),
    Adversary::null("serves-nothing", "answers every request with 204", |claims| {
        serves(claims, |to, _| answer(to, "204 No Content", b""))
    }),
    Adversary::null(
        "serves-refusals",
        "answers every request with 400, in the right form",
        |claims| serves(claims, |to, _| answer(to, "400 Bad Request", REFUSAL)),
    ),
    Adversary::null(
        "serves-nobody",
        "answers every request with 403, in the right form",
        |claims| serves(claims, |to, _| answer(to, "403 Forbidden", REFUSAL)),
    ),
    Adversary::null(
        "serves-not-found",
        "answers every request with 404, in the right form",
        |claims| serves(claims, |to, _| answer(to, "404 Not Found", REFUSAL)),
    ),
    Adversary::null(
        "serves-faults",
        "answers every request with 500, in the right form",
        |claims| serves(claims, |to, _| answer(to, "500 Internal Server Error", REFUSAL)),
    ),
    Adversary::null("serves-echoes", "answers every request with 200 and its own body", |claims| {
        serves(claims, |to, body| answer(to, "200 OK", body))
    }),
    Adversary::null("serves-silence", "takes requests and says nothing", |claims| {
        serves(claims, |to, _| until_gone(to))
    })
    .slow(),
    Adversary::null("serves-and-hangs-up", "closes every connection", |claims| {
        serves(claims, |to, _| to.shutdown(Shutdown::Both))
    }),
    Adversary::null(
        "serves-garbage",
        "answers every request with something that is not HTTP",
        |claims| serves(claims, |to, _| to.write_all(b"220 smtp.example.org ready\r\n\r\n")),
    ),
    Adversary::null("serves-elsewhere", "names a server on another machine", |claims| {
        names(claims, "http://192.0.2.1:80")
    }),
    Adversary::null("serves-on-a-closed-port", "names a port where nobody listens", |claims| {
        // The port was free, and nobody takes it: the reference asks the system for other ports.
        let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port();
        names(claims, &format!("http://127.0.0.1:{port}"))
    }),
    Adversary::null("serves-half-an-answer", "announces a body, and sends half of it", |claims| {
        serves(claims, |to, _| {
            to.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{\"half\": ")?;
            until_gone(to)
        })
    })
    .slow(),
    Adversary::null("serves-without-end", "sends a body that does not end", |claims| {
        serves(claims, |to, _| {
            to.write_all(b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n")?;
            let chunk = vec![b' '; 1 << 16];
            loop {
                to.write_all(&chunk)?;
            }
        })
    }),
];

/// A refusal in the form of the contract's guide.
const REFUSAL: &[u8] = br#"{"error":{"code":"no","message":"no"}}"#;

/// The most bytes of a request to read.
const MOST_BYTES: u64 = 4 << 20;

/// Serves on loopback. `reply` gets every connection, with the body of its request.
fn serves(claims: &Claims, reply: fn(&mut TcpStream, &[u8]) -> io::Result<()>) -> io::Result<()> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let base = format!("http://{}", listener.local_addr()?);
    thread::spawn(move || {
        for mut connection in listener.incoming().flatten() {
            thread::spawn(move || {
                // The client may hang up at any time.
                let _gone = body(&connection).and_then(|body| reply(&mut connection, &body));
            });
        }
    });
    names(claims, &base)
}

/// Names this server in the answer to every `open`.
fn names(claims: &Claims, base: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    for line in io::stdin().lock().lines() {
        let Ok(Incoming::Request { id, method, .. }) = Incoming::parse(line?.as_bytes()) else {
            continue;
        };
        let reply = match method.as_str() {
            "hello" => Ok(greeting(claims, PROTOCOL)),
            "open" => Ok(json!({ "wire": { "http": { "base": base } } })),
            "call" => Err(RpcError::new(RpcError::NOT_IMPLEMENTED, "there is only a server")),
            _ => Ok(Value::Null),
        };
        let mut answer = Vec::new();
        match reply {
            Ok(reply) => push_result(&mut answer, &id, &reply),
            Err(error) => push_error(&mut answer, Some(&id), &error),
        }
        out.write_all(&answer)?;
        out.flush()?;
        if method == "shutdown" {
            return Ok(());
        }
    }
    Ok(())
}

/// Reads a request and returns its body.
fn body(connection: &TcpStream) -> io::Result<Vec<u8>> {
    let mut request = BufReader::new(connection).take(MOST_BYTES);
    let (mut line, mut length) = (String::new(), 0);
    while request.read_line(&mut line)? > 0 && !line.trim().is_empty() {
        let header = line.to_ascii_lowercase();
        if let Some(given) = header.strip_prefix("content-length:") {
            length = given.trim().parse().unwrap_or(0);
        }
        line.clear();
    }
    let mut body = Vec::new();
    request.take(length).read_to_end(&mut body)?;
    Ok(body)
}

fn answer(to: &mut TcpStream, status: &str, body: &[u8]) -> io::Result<()> {
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n"
    );
    to.write_all(head.as_bytes())?;
    to.write_all(body)
}

/// Sends nothing until the client gives up.
fn until_gone(connection: &mut TcpStream) -> io::Result<()> {
    io::copy(connection, &mut io::sink()).map(drop)
}
