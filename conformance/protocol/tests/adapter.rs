//! Tests an adapter as a harness does: over a pipe, line by line.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use proofmark_protocol::message::{push_request, push_result};
use proofmark_protocol::{Adapter, Context, Failure, Id, LineReader, MAX_LINE};
use serde_json::{Map, Value, json};
use tokio::io::{AsyncWriteExt as _, DuplexStream};
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;

/// A session's state: a counter, and a gate that starts closed.
struct Session {
    count: AtomicUsize,
    gate: Semaphore,
}

fn adapter() -> Adapter<Session> {
    let open = |open: &proofmark_protocol::Open| match open.workspace.as_deref() {
        Some("/nowhere") => Err("the workspace is not there".to_owned()),
        _ => Ok(Session { count: AtomicUsize::new(0), gate: Semaphore::new(0) }),
    };
    Adapter::new("made-up", "1.2.3", "rust", open)
        .claims("demo")
        .has_hook("demo.lock")
        .on("echo", async |_, args| Ok(args))
        .on("count", async |context: Context<Session>, _| {
            Ok(json!(context.state().count.fetch_add(1, Ordering::SeqCst)))
        })
        .on("wait", async |context: Context<Session>, args| {
            context.state().gate.acquire().await.expect("it is never closed").forget();
            Ok(args)
        })
        .on("release", async |context: Context<Session>, args| {
            let permits = args["permits"].as_u64().and_then(|many| usize::try_from(many).ok());
            context.state().gate.add_permits(permits.unwrap_or(1));
            Ok(Value::Null)
        })
        .on("refuse", async |_, _| {
            Err(Failure::Contract(Map::from_iter([("code".to_owned(), json!("EVALIDATION"))])))
        })
        .on("break", async |_, _| Err(Failure::broken("the disk is full")))
        .on("panic", async |_, _| panic!("a handler's own fault"))
        .on("secret", async |context: Context<Session>, args| {
            context.ask("secrets", "get", args).await
        })
        .on("stream", async |context: Context<Session>, _| {
            context.emit(json!(1));
            context.emit(json!(2));
            Ok(json!("done"))
        })
}

/// The other end of the pipe.
struct Harness {
    to: DuplexStream,
    from: LineReader<DuplexStream>,
    serving: JoinHandle<std::io::Result<()>>,
}

impl Harness {
    fn new() -> Self {
        let (to, input) = tokio::io::duplex(64 * 1024);
        let (output, from) = tokio::io::duplex(64 * 1024);
        let serving = tokio::spawn(adapter().serve(input, output));
        Self { to, from: LineReader::new(from, MAX_LINE), serving }
    }

    /// With the session `s` open.
    async fn opened() -> Self {
        let mut harness = Self::new();
        assert_eq!(harness.ask("open", json!({"session": "s"})).await["result"], json!({}));
        harness
    }

    async fn send(&mut self, id: i64, method: &str, params: Value) {
        let mut line = Vec::new();
        push_request(&mut line, &Id::Number(id), method, &params);
        self.to.write_all(&line).await.expect("the adapter reads");
    }

    async fn call(&mut self, id: i64, operation: &str, args: Value) {
        self.send(id, "call", json!({"session": "s", "operation": operation, "args": args})).await;
    }

    /// The next line. The timeout only turns a hanging test into a failing one.
    async fn line(&mut self) -> Value {
        let line = tokio::time::timeout(Duration::from_secs(60), self.from.next_line());
        let line = line.await.expect("a line comes").expect("it is a line").expect("not the end");
        serde_json::from_slice(line).expect("it is JSON")
    }

    /// Sends a request and returns the next line as its answer.
    async fn ask(&mut self, method: &str, params: Value) -> Value {
        self.send(0, method, params).await;
        self.line().await
    }

    async fn ask_operation(&mut self, operation: &str, args: Value) -> Value {
        self.call(0, operation, args).await;
        self.line().await
    }

    /// How serving ended. Asserts that no more output follows.
    async fn end(mut self) -> std::io::Result<()> {
        let ended = tokio::time::timeout(Duration::from_secs(60), self.serving);
        let ended = ended.await.expect("it ends").expect("it does not panic");
        assert!(matches!(self.from.next_line().await, Ok(None)), "nothing is left to be read");
        ended
    }
}

fn error(code: i64, message: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": 0, "error": {"code": code, "message": message}})
}

fn value(id: i64, value: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "result": {"value": value}})
}

#[tokio::test]
async fn hello_introduces_the_subject() {
    let mut harness = Harness::new();
    let params = json!({"protocol": 1, "harness": {"name": "h", "version": "1"}, "new": "field"});
    assert_eq!(
        harness.ask("hello", params).await,
        json!({"jsonrpc": "2.0", "id": 0, "result": {
            "protocol": 1, "name": "made-up", "version": "1.2.3", "language": "rust",
            "contracts": ["demo"], "hooks": ["demo.lock"],
        }})
    );
}

#[tokio::test]
async fn another_version_is_refused() {
    let mut harness = Harness::new();
    let params = json!({"protocol": 2, "harness": {"name": "h", "version": "1"}});
    assert_eq!(
        harness.ask("hello", params).await,
        error(-32602, "protocol 2 is not spoken here; this adapter speaks 1")
    );
}

#[tokio::test]
async fn wrong_params_are_refused() {
    let mut harness = Harness::new();
    assert_eq!(harness.ask("open", json!({})).await, error(-32602, "missing field `session`"));
    assert_eq!(
        harness.ask("open", json!({"session": "s", "workspace": "/nowhere"})).await,
        error(-32000, "the workspace is not there")
    );
    assert_eq!(harness.ask("dance", json!({})).await, error(-32601, "no method `dance`"));
}

#[tokio::test]
async fn a_session_is_opened_once_and_closed_once() {
    let mut harness = Harness::opened().await;
    assert_eq!(
        harness.ask("open", json!({"session": "s"})).await,
        error(-32602, "session `s` is open already")
    );
    assert_eq!(harness.ask("close", json!({"session": "s"})).await["result"], Value::Null);
    let closed = error(-32602, "session `s` is not open");
    assert_eq!(harness.ask("close", json!({"session": "s"})).await, closed);
    assert_eq!(harness.ask_operation("echo", json!({})).await, closed);
    assert_eq!(harness.ask("open", json!({"session": "s"})).await["result"], json!({}));
    assert_eq!(harness.ask_operation("count", json!({})).await, value(0, json!(0)));
}

#[tokio::test]
async fn outcomes_of_a_call() {
    let mut harness = Harness::opened().await;
    let args = json!({"a": [1, "é\n\u{2028}"]});
    assert_eq!(harness.ask_operation("echo", args.clone()).await, value(0, args));
    assert_eq!(
        harness.ask_operation("refuse", json!({})).await["result"],
        json!({"error": {"code": "EVALIDATION"}})
    );
    assert_eq!(harness.ask_operation("break", json!({})).await, error(-32000, "the disk is full"));
    assert_eq!(
        harness.ask_operation("fly", json!({})).await,
        error(-32601, "operation `fly` is not implemented")
    );
}

/// Without an answer, the harness would wait until its timeout.
#[tokio::test]
async fn a_panicking_handler_is_answered_with_an_error() {
    let mut harness = Harness::opened().await;
    assert_eq!(
        harness.ask_operation("panic", json!({})).await,
        error(-32000, "the adapter's handler ended without an answer; it may have panicked")
    );
    assert_eq!(harness.ask_operation("echo", json!(1)).await, value(0, json!(1)));
}

#[tokio::test]
async fn a_slow_call_does_not_block_others() {
    let mut harness = Harness::opened().await;
    harness.call(1, "wait", json!("slow")).await;
    harness.call(2, "echo", json!("fast")).await;
    assert_eq!(harness.line().await, value(2, json!("fast")));
    harness.call(3, "release", json!({})).await;
    let mut answers = [harness.line().await, harness.line().await];
    answers.sort_by_key(|answer| answer["id"].as_i64());
    assert_eq!(answers, [value(1, json!("slow")), value(3, Value::Null)]);
}

#[tokio::test]
async fn sessions_share_nothing() {
    let mut harness = Harness::opened().await;
    harness.ask("open", json!({"session": "t"})).await;
    let mut counts = Vec::new();
    for session in ["s", "s", "t", "s", "t"] {
        let params = json!({"session": session, "operation": "count"});
        counts.push(harness.ask("call", params).await["result"]["value"].clone());
    }
    assert_eq!(counts, [0, 1, 0, 2, 1]);
    harness.ask("close", json!({"session": "t"})).await;
    assert_eq!(harness.ask_operation("count", json!({})).await, value(0, json!(3)));
}

#[tokio::test]
async fn answers_of_fakes_reach_their_calls() {
    let mut harness = Harness::opened().await;
    harness.call(1, "secret", json!({"key": "A"})).await;
    let first = harness.line().await;
    harness.call(2, "secret", json!({"key": "B"})).await;
    let second = harness.line().await;
    assert_eq!(
        (&first["method"], &first["params"]),
        (
            &json!("fake"),
            &json!({"session": "s", "fake": "secrets", "method": "get", "args": {"key": "A"}})
        )
    );
    assert_ne!(first["id"], second["id"]);
    // The later one is answered first, and an answer with an unknown id is ignored.
    for (id, reply) in [
        (json!(999), json!({"value": "nobody"})),
        (second["id"].clone(), json!({"error": {"code": "ENOTFOUND"}})),
        (first["id"].clone(), json!({"value": "s3cret"})),
    ] {
        let mut line = Vec::new();
        push_result(&mut line, &Id::Number(id.as_i64().unwrap()), &reply);
        harness.to.write_all(&line).await.unwrap();
    }
    let answers: HashMap<Option<i64>, Value> = [harness.line().await, harness.line().await]
        .into_iter()
        .map(|line| (line["id"].as_i64(), line["result"].clone()))
        .collect();
    assert_eq!(answers[&Some(1)], json!({"value": "s3cret"}));
    assert_eq!(answers[&Some(2)], json!({"error": {"code": "ENOTFOUND"}}));
}

#[tokio::test]
async fn a_harness_that_does_not_play_a_fake_breaks_the_call() {
    let mut harness = Harness::opened().await;
    let lines = [
        (r#""error":{"code":-32602,"message":"no such fake"}"#, error(-32602, "no such fake")),
        (r#""result":7"#, Value::Null),
    ];
    for (outcome, expected) in lines {
        harness.call(0, "secret", json!({})).await;
        let id = harness.line().await["id"].clone();
        let line = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},{outcome}}}\n");
        harness.to.write_all(line.as_bytes()).await.unwrap();
        let answer = harness.line().await;
        if expected.is_null() {
            let message = answer["error"]["message"].as_str().unwrap_or_default().to_owned();
            assert_eq!(answer["error"]["code"], json!(-32000));
            assert!(
                message.starts_with("the answer of fake `secrets` is not a valid reply: "),
                "{message}"
            );
        } else {
            assert_eq!(answer, expected);
        }
    }
}

#[tokio::test]
async fn events_come_before_the_answer_of_their_call() {
    let mut harness = Harness::opened().await;
    harness.call(5, "stream", json!({})).await;
    for item in [1, 2] {
        assert_eq!(
            harness.line().await,
            json!({"jsonrpc": "2.0", "method": "event", "params": {"session": "s", "call": 5, "item": item}})
        );
    }
    assert_eq!(harness.line().await, value(5, json!("done")));
}

#[tokio::test]
async fn garbage_is_answered_and_survived() {
    let mut harness = Harness::opened().await;
    for garbage in ["hello?\n", "\u{1b}[31m\n", "{\"jsonrpc\":\"2.0\",\n"] {
        harness.to.write_all(garbage.as_bytes()).await.unwrap();
        let answer = harness.line().await;
        assert_eq!((&answer["id"], &answer["error"]["code"]), (&Value::Null, &json!(-32700)));
    }
    // JSON, but not a message.
    harness.to.write_all(b"[]\n{\"jsonrpc\":\"1.0\"}\n").await.unwrap();
    for _ in 0..2 {
        let answer = harness.line().await;
        assert_eq!((&answer["id"], &answer["error"]["code"]), (&Value::Null, &json!(-32600)));
    }
    // A notification and blank lines get no answer.
    harness.to.write_all(b"{\"jsonrpc\":\"2.0\",\"method\":\"x\"}\n\n \n").await.unwrap();
    assert_eq!(harness.ask_operation("echo", json!(1)).await, value(0, json!(1)));
}

#[tokio::test]
async fn shutdown_is_answered_and_ends_it() {
    let mut harness = Harness::opened().await;
    harness.call(1, "echo", json!(1)).await;
    assert_eq!(harness.line().await, value(1, json!(1)));
    let answer = harness.ask("shutdown", json!({})).await;
    assert_eq!(answer, json!({"jsonrpc": "2.0", "id": 0, "result": null}));
    assert!(harness.end().await.is_ok());
}

#[tokio::test]
async fn the_end_of_input_ends_it() {
    for last in ["", "{\"jsonrpc\":"] {
        let mut harness = Harness::opened().await;
        harness.to.write_all(last.as_bytes()).await.unwrap();
        harness.to.shutdown().await.unwrap();
        assert!(harness.end().await.is_ok());
    }
}

#[tokio::test]
async fn a_lost_output_ends_it() {
    let mut harness = Harness::opened().await;
    drop(harness.from);
    let mut line = Vec::new();
    push_request(&mut line, &Id::Number(1), "close", &json!({"session": "s"}));
    harness.to.write_all(&line).await.unwrap();
    let ended = tokio::time::timeout(Duration::from_secs(60), harness.serving).await;
    assert!(ended.expect("it ends").expect("it does not panic").is_err());
}

#[tokio::test]
async fn five_megabytes_go_in_and_out() {
    let mut harness = Harness::opened().await;
    let text = "0123456789abcdé\n".repeat(5 * 1024 * 1024 / 16);
    assert_eq!(harness.ask_operation("echo", json!(text)).await, value(0, json!(text)));
}

#[tokio::test]
async fn five_hundred_calls_in_flight() {
    let mut harness = Harness::opened().await;
    for id in 1..=500 {
        harness.call(id, "wait", json!(id)).await;
    }
    harness.call(501, "release", json!({"permits": 500})).await;
    let mut answers: HashMap<i64, Value> = HashMap::new();
    for _ in 0..501 {
        let line = harness.line().await;
        let id = line["id"].as_i64().expect("an answer has an id");
        assert!(answers.insert(id, line["result"]["value"].clone()).is_none(), "{id} twice");
    }
    assert!((1..=500).all(|id| answers[&id] == json!(id)));
}

/// A call that waits for a fake must not hang when the harness goes away.
#[tokio::test]
async fn a_call_that_waits_for_a_fake_fails_when_the_harness_goes_away() {
    let (tell, message) = tokio::sync::oneshot::channel();
    let tell = Arc::new(std::sync::Mutex::new(Some(tell)));
    let adapter = Adapter::new("made-up", "1", "rust", |_| Ok(())).on(
        "secret",
        move |context: Context<()>, args| {
            let tell = tell.lock().unwrap().take().expect("it is called once");
            async move {
                let outcomes = [
                    context.ask("secrets", "get", args.clone()).await,
                    context.ask("secrets", "get", args).await,
                ];
                let _gone = tell.send(outcomes);
                Ok(Value::Null)
            }
        },
    );
    let input = concat!(
        r#"{"jsonrpc":"2.0","id":1,"method":"open","params":{"session":"s"}}"#,
        "\n",
        r#"{"jsonrpc":"2.0","id":2,"method":"call","params":{"session":"s","operation":"secret"}}"#,
        "\n"
    );
    adapter.serve(input.as_bytes(), Vec::new()).await.unwrap();
    let outcomes = tokio::time::timeout(Duration::from_secs(60), message).await;
    let gone = Failure::broken("the harness went away");
    assert_eq!(outcomes.expect("it is sent").expect("it ran"), [Err(gone.clone()), Err(gone)]);
}
