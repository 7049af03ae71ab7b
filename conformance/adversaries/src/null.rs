//! Subjects that claim everything and do nothing right. They give the most plausible answers without doing any work:
//! no promise of any contract may hold for them.

use std::collections::HashMap;
use std::io::{self, BufRead as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use proofmark_protocol::message::{push_notification, push_result};
use proofmark_protocol::{Failure, Incoming, PROTOCOL};
use proofmark_room::wrong::{Then, greeting, serve};
use proofmark_room::{Adversary, Claims, Subject};
use serde_json::{Map, Value, json};
use tokio::sync::oneshot;

use crate::hostile::implements_nothing;

pub(crate) const ALL: &[Adversary] = &[
    Adversary::null("accepts-with-null", "answers every call with null", |claims| {
        accepts(claims, json!(null))
    }),
    Adversary::null("accepts-with-true", "answers every call with true", |claims| {
        accepts(claims, json!(true))
    }),
    Adversary::null("accepts-with-an-object", "answers every call with {}", |claims| {
        accepts(claims, json!({}))
    }),
    Adversary::null("accepts-with-a-list", "answers every call with []", |claims| {
        accepts(claims, json!([]))
    }),
    Adversary::null("accepts-with-a-list-of-one", "answers every call with [{}]", |claims| {
        accepts(claims, json!([{}]))
    }),
    Adversary::null("accepts-with-a-text", "answers every call with \"\"", |claims| {
        accepts(claims, json!(""))
    }),
    Adversary::null("accepts-with-zero", "answers every call with 0", |claims| {
        accepts(claims, json!(0))
    }),
    Adversary::null("rejects-with-evalidation", "fails every call with EVALIDATION", |claims| {
        rejects(claims, "EVALIDATION", &["details"])
    }),
    Adversary::null("rejects-with-epermission", "fails every call with EPERMISSION", |claims| {
        rejects(claims, "EPERMISSION", &["resource", "operation", "policy"])
    }),
    Adversary::null("rejects-with-etimeout", "fails every call with ETIMEOUT", |claims| {
        rejects(claims, "ETIMEOUT", &["timeoutMs", "elapsedMs", "operation"])
    }),
    Adversary::null("rejects-with-eio", "fails every call with EIO", |claims| {
        rejects(claims, "EIO", &["operation", "path"])
    }),
    Adversary::null(
        "rejects-with-elock-timeout",
        "fails every call with ELOCK_TIMEOUT",
        |claims| rejects(claims, "ELOCK_TIMEOUT", &["path", "timeoutMs", "holder"]),
    ),
    Adversary::null("rejects-with-ehalt", "fails every call with EHALT", |claims| {
        rejects(claims, "EHALT", &["invariant", "expected", "actual", "context"])
    }),
    Adversary::null(
        "rejects-with-everything",
        "fails every call with EVALIDATION, every property of every code and every plausible field",
        |claims| rejects(claims, "EVALIDATION", &[]),
    ),
    Adversary::null("echoes", "answers every call with its arguments", |claims| {
        answers(claims, |args| json!({ "value": args }))
    }),
    Adversary::null("echoes-the-value", "answers with the value of the only argument", |claims| {
        answers(claims, |args| {
            let only = args.as_object().filter(|args| args.len() == 1);
            json!({ "value": only.and_then(|args| args.values().next()).unwrap_or(args) })
        })
    }),
    Adversary::null("echoes-as-an-error", "fails every call with its arguments", |claims| {
        answers(claims, |args| {
            let mut error = Map::from_iter([
                ("code".to_owned(), json!("EVALIDATION")),
                ("message".to_owned(), json!("an echo")),
            ]);
            error.extend(args.as_object().cloned().unwrap_or_default());
            json!({ "error": error })
        })
    }),
    Adversary::null("is-true", "is the program `true`", |_| becomes("true")),
    Adversary::null("is-cat", "is the program `cat`", |_| becomes("cat")),
    Adversary::null(
        "crashes-on-the-seventh-call",
        "answers six calls with null and ends",
        |claims| {
            let mut calls = 0;
            serve(claims, move |id, _, answer| {
                calls += 1;
                if calls == 7 {
                    std::process::abort();
                }
                push_result(answer, id, &json!({ "value": null }));
                Ok(Then::GoOn)
            })
        },
    ),
    Adversary::null("never-opens", "greets, and then says nothing", only_greets).slow(),
    Adversary::null("floods-with-events", "sends ten thousand events with each answer", |claims| {
        serve(claims, |id, params, lines| {
            let event = json!({ "session": params["session"], "call": id, "item": { "n": 1 } });
            for _ in 0..10_000 {
                push_notification(lines, "event", &event);
            }
            push_result(lines, id, &json!({ "value": null }));
            Ok(Then::GoOn)
        })
    }),
    Adversary::null_reference("swaps-answers", "swaps the answers of two concurrent calls", swaps),
    Adversary::null_reference(
        "lags-behind",
        "answers every call with the session's answer before",
        lags,
    ),
    Adversary::null("skips-without-hooks", "implements nothing and has no hooks", |claims| {
        implements_nothing(&hookless(claims))
    }),
    Adversary::null("accepts-without-hooks", "answers null and has no hooks", |claims| {
        accepts(&hookless(claims), json!(null))
    }),
    Adversary::null(
        "accepts-as-a-tool",
        "answers every call as a tool that did nothing",
        |claims| accepts(claims, json!({ "ok": true, "data": {} })),
    ),
    Adversary::null("refuses-with-evalidation", "refuses every tool with EVALIDATION", |claims| {
        refuses(claims, "EVALIDATION")
    }),
    Adversary::null("refuses-with-epermission", "refuses every tool with EPERMISSION", |claims| {
        refuses(claims, "EPERMISSION")
    }),
    Adversary::null("refuses-with-eio", "refuses every tool with EIO", |claims| {
        refuses(claims, "EIO")
    }),
    Adversary::null("refuses-with-etimeout", "refuses every tool with ETIMEOUT", |claims| {
        refuses(claims, "ETIMEOUT")
    }),
    Adversary::null(
        "refuses-for-want-of-a-secret",
        "refuses every tool with ESECRET_NOT_FOUND",
        |claims| refuses(claims, "ESECRET_NOT_FOUND"),
    ),
    Adversary::null("streams-an-end", "ends every stream before it begins", |claims| {
        streams(claims, &[json!({ "type": "end" })])
    }),
    Adversary::null("streams-a-text", "says the same in every stream", |claims| {
        streams(claims, &[json!({ "type": "text", "value": "Hello" }), json!({ "type": "end" })])
    }),
    Adversary::null("rejects-without-hooks", "fails every call and has no hooks", |claims| {
        rejects(&hookless(claims), "EVALIDATION", &[])
    }),
];

/// Answers every call with `answer(arguments)`.
fn answers(claims: &Claims, answer: impl Fn(&Value) -> Value) -> io::Result<()> {
    serve(claims, |id, params, line| {
        push_result(line, id, &answer(&params["args"]));
        Ok(Then::GoOn)
    })
}

fn accepts(claims: &Claims, value: Value) -> io::Result<()> {
    let reply = json!({ "value": value });
    answers(claims, |_| reply.clone())
}

/// Streams these items and answers null, for every call.
fn streams(claims: &Claims, items: &[Value]) -> io::Result<()> {
    serve(claims, |id, params, lines| {
        for item in items {
            let event = json!({ "session": params["session"], "call": id, "item": item });
            push_notification(lines, "event", &event);
        }
        push_result(lines, id, &json!({ "value": null }));
        Ok(Then::GoOn)
    })
}

/// Answers every call like a tool that refuses, with every property of the taxonomy.
fn refuses(claims: &Claims, code: &str) -> io::Result<()> {
    accepts(claims, json!({ "ok": false, "error": error(code, &[]) }))
}

/// Fails every call with a code and these properties of the taxonomy; an empty list means all.
fn rejects(claims: &Claims, code: &str, properties: &[&str]) -> io::Result<()> {
    let reply = json!({ "error": error(code, properties) });
    answers(claims, |_| reply.clone())
}

fn error(code: &str, properties: &[&str]) -> Value {
    let mut error = json!({ "name": "Error", "code": code, "message": "no" });
    let all = taxonomy();
    let wanted = |name: &str| properties.is_empty() || properties.contains(&name);
    for (name, value) in all.into_iter().filter(|(name, _)| wanted(name)) {
        error[name] = value;
    }
    error
}

/// Every property of any code in the taxonomy, with the most plausible value.
fn taxonomy() -> Map<String, Value> {
    let fields = [
        "path",
        "event",
        "type",
        "timestamp",
        "actor",
        "agent",
        "actor.agent",
        "id",
        "actor.id",
        "eventId",
        "n",
        "lockTimeoutMs",
        "details",
        "details.0.field",
        "details.0.reason",
        "field",
        "reason",
        "resource",
        "operation",
        "timeoutMs",
        "elapsedMs",
        "invariant",
        "expected",
        "actual",
        "code",
        "message",
        "value",
        "json",
        "text",
        "hex",
        "key",
        "name",
        "schema",
        "input",
        "file",
        "content",
        "patch",
        "strategy",
        "command",
        "args",
        "query",
        "params",
        "provider",
        "providerName",
        "model",
        "messages",
        "callId",
    ];
    let details: Vec<Value> =
        fields.iter().map(|field| json!({ "field": field, "reason": "is wrong" })).collect();
    let properties = json!({
        "details": details,
        "resource": "a.sage", "operation": "write", "policy": "no-escape",
        "timeoutMs": 2000, "elapsedMs": 2000,
        "path": "a.sage", "holder": "pid 1",
        "invariant": "Function A exists", "expected": ["A"], "actual": [],
        "context": { "graphCommit": "commit-789", "chroniclePath": "src/A.ts.sage" },
    });
    properties.as_object().cloned().unwrap_or_default()
}

fn only_greets(claims: &Claims) -> io::Result<()> {
    let mut out = io::stdout().lock();
    for line in io::stdin().lock().lines() {
        if let Ok(Incoming::Request { id, method, .. }) = Incoming::parse(line?.as_bytes())
            && method == "hello"
        {
            let mut answer = Vec::new();
            push_result(&mut answer, &id, &greeting(claims, PROTOCOL));
            out.write_all(&answer)?;
            out.flush()?;
        }
    }
    Ok(())
}

fn hookless(claims: &Claims) -> Claims {
    Claims { hooks: Vec::new(), ..claims.clone() }
}

/// Replaces the process with a program that does not know the protocol.
fn becomes(program: &str) -> io::Result<()> {
    Err(Command::new(program).exec())
}

/// The reference with `wrong` around every operation. It also claims what the reference does not have, and names no
/// server, since the reference's own servers are right.
fn misdirected<F>(
    reference: Subject,
    claims: &Claims,
    wrong: impl Fn(String, Result<Value, Failure>) -> F + Copy + Send + Sync + 'static,
) -> Subject
where
    F: Future<Output = Result<Value, Failure>> + Send + 'static,
{
    let known = Claims::of(&reference).contracts;
    let mut subject = reference.on_open(async |_, _| Ok(json!({})));
    for contract in claims.contracts.iter().filter(|contract| !known.contains(contract)) {
        subject = subject.claims(contract);
    }
    for operation in subject.operations() {
        subject = subject.around(&operation, move |context, args, inner| async move {
            let session = context.session().to_owned();
            let right = inner.call(context, args).await;
            wrong(session, right).await
        });
    }
    subject
}

/// A held answer, and the channel for the answer to exchange it with.
type Waiting = (Result<Value, Failure>, oneshot::Sender<Result<Value, Failure>>);

/// Gives each of two concurrent calls the other's answer. A call without a partner gets nonsense, since its own
/// answer would be right.
fn swaps(reference: Subject, claims: &Claims) -> Subject {
    static WAITING: Mutex<Option<Waiting>> = Mutex::new(None);
    misdirected(reference, claims, async |_, right| {
        let lost = Ok(json!("somebody else's answer"));
        let receiver = {
            let mut waiting = WAITING.lock().unwrap_or_else(PoisonError::into_inner);
            match waiting.take() {
                Some((other, sender)) if other != right => {
                    // If it has timed out, it has its nonsense already.
                    let _gone = sender.send(right);
                    return other;
                }
                _ => {
                    let (sender, receiver) = oneshot::channel();
                    *waiting = Some((right, sender));
                    receiver
                }
            }
        };
        match tokio::time::timeout(Duration::from_millis(20), receiver).await {
            Ok(Ok(other)) => other,
            Ok(Err(_)) | Err(_) => lost,
        }
    })
}

/// Answers with the previous answer of the session; the first answer is nonsense.
fn lags(reference: Subject, claims: &Claims) -> Subject {
    static BEFORE: Mutex<Option<HashMap<String, Result<Value, Failure>>>> = Mutex::new(None);
    misdirected(reference, claims, async |session, right| {
        let mut before = BEFORE.lock().unwrap_or_else(PoisonError::into_inner);
        let before = before.get_or_insert_default().insert(session, right);
        before.unwrap_or_else(|| Ok(json!("nothing yet")))
    })
}
