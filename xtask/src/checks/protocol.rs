//! Checks of lines, messages and whole conversations, as a broken peer may write them.

use std::collections::BTreeMap;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context as TaskContext, Poll};

use proofmark_protocol::message::{push_error, push_notification, push_request, push_result};
use proofmark_protocol::{Adapter, Failure, FrameError, Incoming, LineReader};
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// A valid message round-trips; an invalid one gives a short error.
pub(super) fn message(bytes: &[u8]) {
    let read = match Incoming::parse(bytes) {
        Ok(read) => read,
        Err(fault) => {
            assert!(fault.to_string().len() < 4000, "{fault}");
            return;
        }
    };
    let mut line = Vec::new();
    match &read {
        Incoming::Request { id, method, params } => push_request(&mut line, id, method, params),
        Incoming::Notification { method, params } => push_notification(&mut line, method, params),
        Incoming::Answer { id, outcome: Ok(result) } => push_result(&mut line, id, result),
        Incoming::Answer { id, outcome: Err(error) } => push_error(&mut line, Some(id), error),
    }
    let ended = line.pop();
    assert_eq!(ended, Some(b'\n'));
    assert!(!line.contains(&b'\n'), "a message is one line");
    assert_eq!(Incoming::parse(&line), Ok(read));
}

/// The first byte is the line limit, the second the chunk size, the rest the stream.
pub(super) fn lines(bytes: &[u8]) {
    let [limit, step, stream @ ..] = bytes else { return };
    let (limit, step) = (usize::from(*limit), usize::from(*step).max(1));
    let expect = plainly(stream, limit);
    for step in [step, stream.len().max(1)] {
        let mut reader = LineReader::new(Source::new(stream, step, 0), limit);
        let mut lines = Vec::new();
        let end = run(async {
            loop {
                match reader.next_line().await {
                    Ok(Some(line)) => lines.push(line.to_vec()),
                    Ok(None) => return End::Clean,
                    Err(FrameError::TooLong { .. }) => return End::TooLong,
                    Err(FrameError::HalfALine { .. }) => return End::HalfALine,
                    Err(FrameError::Io(fault)) => panic!("{fault}"),
                }
            }
        });
        assert_eq!((lines, end), expect, "{step} bytes at a time");
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum End {
    Clean,
    TooLong,
    HalfALine,
}

/// A plain implementation of the same reader.
fn plainly(stream: &[u8], limit: usize) -> (Vec<Vec<u8>>, End) {
    let blank = |line: &[u8]| line.iter().all(u8::is_ascii_whitespace);
    let mut lines = Vec::new();
    let mut parts: Vec<&[u8]> = stream.split(|byte| *byte == b'\n').collect();
    let rest = parts.pop().unwrap_or_default();
    for part in parts {
        let line = part.strip_suffix(b"\r").unwrap_or(part);
        if line.len() > limit {
            return (lines, End::TooLong);
        }
        if !blank(line) {
            lines.push(line.to_vec());
        }
    }
    // A newline may still follow a carriage return.
    let end = match rest.len() > limit + 1 {
        true => End::TooLong,
        false if blank(rest) => End::Clean,
        false => End::HalfALine,
    };
    (lines, end)
}

/// Sends any lines to an adapter. It must not panic, and must answer every request once. Only a call that waits for
/// the harness may stay unanswered.
pub(super) fn adapter(bytes: &[u8]) {
    let said = Said::default();
    let adapter = Adapter::new("any", "1", "rust", |_| Ok(()))
        .claims("any")
        .on("echo", async |_, args| Ok(args))
        .on("refuse", async |_, _| match json!({ "code": "EIO" }) {
            Value::Object(error) => Err(Failure::Contract(error)),
            _ => Ok(Value::Null),
        })
        .on("break", async |_, _| Err(Failure::broken("on purpose")))
        .on("later", async |_, args| {
            tokio::task::yield_now().await;
            Ok(args)
        })
        .on("ask", async |context, args| context.ask("other", "get", args).await);
    // Each line gets time for its answer before the next one arrives, because calls in flight are dropped at the end
    // of input or at `shutdown`.
    let input = Source::new(bytes, 4096, 16);
    run(adapter.serve(input, said.clone())).expect("memory takes what is written");

    let mut owed: BTreeMap<String, i64> = BTreeMap::new();
    for line in plainly(bytes, proofmark_protocol::MAX_LINE).0 {
        let (id, last) = match Incoming::parse(&line) {
            Ok(Incoming::Request { id, method, .. }) => (json!(id), method == "shutdown"),
            Ok(_) => continue,
            Err(_) => (Value::Null, false),
        };
        *owed.entry(id.to_string()).or_default() += 1;
        if last {
            break;
        }
    }
    let mut asked = 0;
    for line in said.lines() {
        let line: Value = serde_json::from_slice(&line).expect("an adapter writes JSON");
        if line.get("method").is_some() {
            asked += 1;
        } else {
            *owed.entry(line["id"].to_string()).or_default() -= 1;
        }
    }
    let silent: i64 = owed.values().sum();
    assert!(owed.values().all(|count| *count >= 0), "answered twice: {owed:?}");
    assert!(silent <= asked, "not answered: {owed:?}");
}

fn run<F: Future>(future: F) -> F::Output {
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    runtime.expect("a runtime without threads or pipes").block_on(future)
}

/// Delivers bytes in chunks. After each line it yields this many times.
struct Source {
    bytes: Vec<u8>,
    at: usize,
    step: usize,
    turns: usize,
    left: usize,
}

impl Source {
    fn new(bytes: &[u8], step: usize, turns: usize) -> Self {
        Self { bytes: bytes.to_vec(), at: 0, step, turns, left: 0 }
    }
}

impl AsyncRead for Source {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut TaskContext<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.left > 0 {
            self.left -= 1;
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        let rest = &self.bytes[self.at..];
        let mut count = rest.len().min(self.step).min(buffer.remaining());
        if self.turns > 0
            && let Some(newline) = rest[..count].iter().position(|byte| *byte == b'\n')
        {
            count = newline + 1;
            buffer.put_slice(&rest[..count]);
            self.left = self.turns;
        } else {
            buffer.put_slice(&rest[..count]);
        }
        self.at += count;
        Poll::Ready(Ok(()))
    }
}

/// Collects the output.
#[derive(Clone, Default)]
struct Said(Arc<Mutex<Vec<u8>>>);

impl Said {
    fn lines(&self) -> Vec<Vec<u8>> {
        let said = self.0.lock().expect("nobody panics while writing");
        said.split(|byte| *byte == b'\n')
            .filter(|line| !line.is_empty())
            .map(<[u8]>::to_vec)
            .collect()
    }
}

impl AsyncWrite for Said {
    fn poll_write(
        self: Pin<&mut Self>,
        _: &mut TaskContext<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.0.lock().expect("nobody panics while writing").extend_from_slice(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut TaskContext<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut TaskContext<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
