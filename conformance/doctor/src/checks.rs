//! The checks of messages: their content and their number. Each check covers one aspect of the protocol.

use proofmark_protocol::RpcError;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::wire::{AT_A_TIME, Late, Trouble, Wire};
use super::{Finding, greeting, troubled};
use proofmark_suite::Probe;

/// An operation that no contract has.
const NO_OPERATION: &str = "proofmark.doctor";

pub(super) fn open(session: &str) -> Value {
    json!({
        "session": session,
        "clock": { "start": "2024-01-01T00:00:00.000Z", "stepMs": 0 },
        "random": { "ints": [], "floats": [] },
        "fakes": [],
    })
}

pub(super) fn call(session: &str, args: Value) -> Value {
    json!({ "session": session, "operation": NO_OPERATION, "args": args })
}

pub(super) fn code(answer: &Value) -> Option<i64> {
    answer["error"]["code"].as_i64()
}

/// Sends `hello` and opens a session `d`.
async fn ready(wire: &mut Wire) -> Result<(), Trouble> {
    wire.ask(0, "hello", &greeting()).await?;
    wire.ask(1, "open", &open("d")).await?;
    Ok(())
}

pub(super) fn refused_open(check: &'static str, answer: &Value) -> Option<Finding> {
    let error = answer.get("error")?;
    Some(Finding::unsound(
        check,
        format!("`open` was answered with the error {error}"),
        "answer `open` with anything, for example {}",
    ))
}

pub(super) async fn unknown_members(wire: &mut Wire) -> Result<Finding, Trouble> {
    const CHECK: &str = "unknown members";
    let with_more = |mut params: Value| {
        params["fromTheFuture"] = json!({ "a": [1] });
        params
    };
    let hello = wire.ask(0, "hello", &with_more(greeting())).await?;
    // An error that also comes without the extra member does not count.
    let close = json!({ "session": "d" });
    let plain = [
        None,
        code(&wire.ask(1, "open", &open("d")).await?),
        code(&wire.ask(2, "call", &call("d", json!({}))).await?),
        code(&wire.ask(3, "close", &close).await?),
    ];
    let opened = wire.ask(4, "open", &with_more(open("d"))).await?;
    let called = wire.ask(5, "call", &with_more(call("d", json!({})))).await?;
    let line = json!({ "jsonrpc": "2.0", "id": 6, "method": "close", "params": close, "fromTheFuture": true });
    wire.expects([6]);
    wire.write(format!("{line}\n").as_bytes()).await?;
    let closed = wire.answer(6, "close").await?;
    let refused = [("hello", &hello), ("open", &opened), ("call", &called), ("close", &closed)];
    let refused = refused
        .iter()
        .zip(plain)
        .find(|((_, answer), plain)| code(answer).is_some() && code(answer) != *plain)
        .map(|(refused, _)| refused);
    Ok(match refused {
        None => Finding::sound(CHECK, "unknown members are ignored"),
        Some((method, answer)) => Finding::unsound(
            CHECK,
            format!("`{method}` with an extra member was answered with {}", answer["error"]),
            "ignore unknown members: a newer harness may send them",
        ),
    })
}

/// Sends lines in pieces, two at once, and after blank lines.
pub(super) async fn framing(wire: &mut Wire) -> Result<Finding, Trouble> {
    ready(wire).await?;
    let line = format!(
        "{}\n",
        json!({ "jsonrpc": "2.0", "id": 2, "method": "call", "params": call("d", json!("a snowman ☃ and a face 🙂")) })
    );
    // Cut inside a multi-byte character.
    let cut = line.find('☃').map_or(0, |at| at + 1);
    let (head, tail) = line.as_bytes().split_at(cut);
    wire.expects([2, 3, 4]);
    wire.write(head).await?;
    tokio::task::yield_now().await;
    wire.write(tail).await?;
    wire.answer(2, "call").await?;
    let two = format!(
        "\n{}\n\n{}\n",
        json!({ "jsonrpc": "2.0", "id": 3, "method": "call", "params": call("d", json!({})) }),
        json!({ "jsonrpc": "2.0", "id": 4, "method": "call", "params": call("d", json!({})) })
    );
    wire.write(two.as_bytes()).await?;
    wire.answer(3, "the first of two messages in one piece").await?;
    wire.answer(4, "the second of two messages in one piece").await?;
    Ok(Finding::sound(
        "framing",
        "lines are read completely, however they arrive; blank lines are skipped",
    ))
}

pub(super) async fn ids(wire: &mut Wire) -> Result<Finding, Trouble> {
    const CHECK: &str = "ids";
    const BIGGEST: i64 = (1 << 53) - 1;
    ready(wire).await?;
    let numbers = [BIGGEST, 3, 1 << 33, 2, 77];
    for id in numbers {
        wire.send(id, "call", &call("d", json!({ "id": id }))).await?;
    }
    for id in numbers {
        match wire.answer(id, "call").await {
            Err(Trouble::Silent { .. }) => {
                return Ok(Finding::unsound(
                    CHECK,
                    format!(
                        "five calls were sent at once, with ids out of order; no answer has the id {id}"
                    ),
                    "answer each request with its own `id`; ids are integers up to 2^53 - 1 in any order",
                ));
            }
            other => other?,
        };
    }
    // A duplicate answer would arrive before the answers to these calls.
    wire.ask(100, "call", &call("d", json!({}))).await?;
    wire.ask(101, "call", &call("d", json!({}))).await?;
    Ok(Finding::sound(CHECK, "each answer has the id of its request, in whatever order"))
}

pub(super) async fn sessions(wire: &mut Wire) -> Result<Finding, Trouble> {
    const CHECK: &str = "sessions";
    wire.ask(0, "hello", &greeting()).await?;
    let opened = wire.ask(1, "open", &open("one")).await?;
    if let Some(finding) = refused_open(CHECK, &opened) {
        return Ok(finding);
    }
    let opened = wire.ask(2, "open", &open("two")).await?;
    if let Some(error) = opened.get("error") {
        return Ok(Finding::unsound(
            CHECK,
            format!("with one session open, another `open` was answered with the error {error}"),
            "keep many sessions open at a time, each by its name",
        ));
    }
    wire.ask(3, "close", &json!({ "session": "one" })).await?;
    let wrong = |message: &str, answer: &Value| {
        Ok(Finding::unsound(
            CHECK,
            format!("{message}: {answer}"),
            "keep sessions by name from `open` to `close`, and answer a call in any other with the error -32602",
        ))
    };
    let other = wire.ask(4, "call", &call("two", json!({}))).await?;
    if code(&other) == Some(RpcError::INVALID_PARAMS) {
        return wrong("closing one session also closed another", &other);
    }
    let closed = wire.ask(5, "call", &call("one", json!({}))).await?;
    if code(&closed) != Some(RpcError::INVALID_PARAMS) {
        return wrong("a call in a session that was closed is not refused with -32602", &closed);
    }
    let never = wire.ask(6, "call", &call("three", json!({}))).await?;
    if code(&never) != Some(RpcError::INVALID_PARAMS) {
        return wrong(
            "a call in a session that was never opened is not refused with -32602",
            &never,
        );
    }
    Ok(Finding::sound(CHECK, "they open and close independently"))
}

pub(super) async fn not_implemented(wire: &mut Wire) -> Result<Finding, Trouble> {
    const CHECK: &str = "not implemented";
    ready(wire).await?;
    let answer = wire.ask(2, "call", &call("d", json!({}))).await?;
    Ok(match code(&answer) {
        Some(RpcError::NOT_IMPLEMENTED) => {
            Finding::sound(CHECK, "an unknown operation is answered with -32601")
        }
        _ => Finding::unsound(
            CHECK,
            format!("`{NO_OPERATION}`, which does not exist, was answered with {answer}"),
            "answer an unknown operation with the JSON-RPC error -32601",
        ),
    })
}

pub(super) async fn large(wire: &mut Wire) -> Result<Finding, Trouble> {
    const CHECK: &str = "large messages";
    ready(wire).await?;
    let started = Instant::now();
    let answered = wire.ask(2, "call", &call("d", json!({ "text": "é🙂x".repeat(1 << 20) }))).await;
    Ok(match answered {
        Ok(_) => Finding::sound(CHECK, format!("7 MiB in one line were answered in {} ms", started.elapsed().as_millis())),
        Err(trouble) => Finding { change: Some("read lines of up to 16 MiB: some runtimes have a limit that must be raised, or read a chunk at a time".to_owned()), ..troubled(CHECK, &trouble) },
    })
}

pub(super) async fn deep(wire: &mut Wire) -> Result<Finding, Trouble> {
    const CHECK: &str = "deep messages";
    ready(wire).await?;
    let nested =
        (0..90).fold(
            json!(1),
            |inner, level| if level % 2 == 0 { json!([inner]) } else { json!({ "a": inner }) },
        );
    match wire.ask(2, "call", &call("d", nested)).await {
        Ok(_) => Ok(Finding::sound(CHECK, "90 levels of nesting are read")),
        Err(trouble) => Ok(Finding {
            change: Some("read JSON that nests up to 100 deep".to_owned()),
            ..troubled(CHECK, &trouble)
        }),
    }
}

pub(super) async fn many(wire: &mut Wire) -> Result<Finding, Trouble> {
    const CHECK: &str = "many at a time";
    const MANY: i64 = 200;
    wire.ask(0, "hello", &greeting()).await?;
    let started = Instant::now();
    for (step, method) in (0..).zip(["open", "call", "close"]) {
        let id = |session: i64| 1 + step * MANY + session;
        let mut lines = String::new();
        for session in 0..MANY {
            let name = format!("s{session}");
            let params = match method {
                "open" => open(&name),
                "call" => call(&name, json!({})),
                _ => json!({ "session": name }),
            };
            let id = id(session);
            let line = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
            lines.push_str(&format!("{line}\n"));
        }
        let ids: Vec<i64> = (0..MANY).map(id).collect();
        wire.expects(ids.iter().copied());
        wire.write(lines.as_bytes()).await?;
        match wire.all_answers(&ids, method).await {
            Ok(()) => {}
            Err(Late::Trouble(trouble)) => return Err(trouble),
            Err(Late::After { answered, within }) => {
                let message = format!(
                    "of {MANY} `{method}` at once, {answered} were answered within {:.1} s",
                    within.as_secs_f64()
                );
                let change = format!(
                    "answer every request as it comes, and do not let calls queue behind each other: a run has {AT_A_TIME} in flight, each with its own timeout; or allow more time with `--timeout MS`"
                );
                return Ok(Finding::unsound(CHECK, message, change));
            }
        }
        for id in ids {
            let answer = wire.take(id);
            if code(&answer) == Some(RpcError::INVALID_PARAMS) {
                let message = format!(
                    "with {MANY} sessions open, `{method}` was answered with {}",
                    answer["error"]
                );
                return Ok(Finding::unsound(
                    CHECK,
                    message,
                    "keep every session by its own name until it is closed",
                ));
            }
        }
    }
    let elapsed = started.elapsed().as_millis();
    Ok(Finding::sound(
        CHECK,
        format!("{} requests, {MANY} at a time, were answered in {elapsed} ms", 3 * MANY),
    ))
}

/// A call that waits for a fake must not block the others.
pub(super) async fn waiting(wire: &mut Wire, probe: Probe, fake: &str) -> Result<Finding, Trouble> {
    const CHECK: &str = "waiting calls";
    let hello = wire.ask(0, "hello", &greeting()).await?;
    let mut params = open("d");
    params["fakes"] = json!([fake]);
    wire.ask(1, "open", &params).await?;
    let args = json!({ probe.argument: "K" });
    let asking = json!({ "session": "d", "operation": probe.operation, "args": args });
    wire.send(2, "call", &asking).await?;
    wire.until_asked(2, probe.operation).await?;
    if wire.asked.is_empty() {
        let answer = wire.answer(2, probe.operation).await?;
        return Ok(never_asked(CHECK, probe, fake, &hello, &answer));
    }
    wire.send(3, "call", &call("d", json!({}))).await?;
    let answered = wire.answer(3, "call").await;
    if let Err(Trouble::Silent { .. }) = answered {
        return Ok(Finding::unsound(
            CHECK,
            "while one call waits for a fake, another one gets no answer",
            "handle calls concurrently: run each in its own task, and keep reading",
        ));
    }
    answered?;
    let request = wire.asked.remove(0);
    let session = &request["params"]["session"];
    if session != "d" {
        return Ok(Finding::unsound(
            CHECK,
            format!("`fake` was called in the session {session}, but the pending call is in \"d\""),
            "give `fake` the `session` of the call that needs it: a session that is open",
        ));
    }
    wire.reply(&request, &json!({ "value": "s3cret" })).await?;
    let value = wire.answer(2, probe.operation).await?;
    Ok(match value["result"]["value"] == "s3cret" {
        true => Finding::sound(CHECK, "a call that waits for a fake does not block others"),
        false => Finding::unsound(
            CHECK,
            format!("the fake's answer was \"s3cret\", but the call returned {value}"),
            "give the value of the fake's answer to the implementation that asked for it",
        ),
    })
}

/// The finding for a call that should have called a fake but was answered without. An adapter that does not claim the
/// contract need not implement it.
fn never_asked(
    check: &'static str,
    probe: Probe,
    fake: &str,
    hello: &Value,
    answer: &Value,
) -> Finding {
    let Probe { contract, operation, .. } = probe;
    if code(answer) == Some(RpcError::NOT_IMPLEMENTED) {
        return Finding::not_yet(
            check,
            format!("`{operation}`, which calls a fake, is not implemented yet"),
        );
    }
    let said = answer.get("error").or(answer.get("result")).unwrap_or(&Value::Null);
    let message = format!("`{operation}` was answered without calling the fake `{fake}`: {said}");
    let claims = hello["result"]["contracts"].as_array();
    match claims.is_some_and(|claims| claims.iter().any(|claimed| claimed == contract)) {
        true => Finding::unsound(
            check,
            message,
            "during a call, send `fake` for each call of a fake that `open` names, and give the answer to the implementation",
        ),
        false => Finding::not_yet(check, format!("`{contract}` is not claimed; {message}")),
    }
}

/// A harness never sends garbage, but a person at a prompt does.
pub(super) async fn garbage(wire: &mut Wire) -> Result<Finding, Trouble> {
    const CHECK: &str = "garbage";
    ready(wire).await?;
    wire.expects([8]);
    wire.write(
        b"this is not JSON\n[]\n{\"jsonrpc\":\"2.0\",\"id\":8,\"method\":\"no-such-method\"}\n",
    )
    .await?;
    match wire.ask(9, "call", &call("d", json!({}))).await {
        Ok(_) => Ok(Finding::sound(CHECK, format!("lines that are not requests do no harm{}", if wire.unreadable > 0 { ", and are refused" } else { "" }))),
        Err(trouble) => Ok(Finding { change: Some("answer a line that is not a request with the error -32700 or -32600, id null, and an unknown method with -32601; then keep reading".to_owned()), ..troubled(CHECK, &trouble) }),
    }
}
